"""The workspace room: the only door to the machine. Paths, files, commands; see docs/workspace.md."""

from toolwright.workspace.captured import Captured
from toolwright.workspace.changing import NewContent, Replaced
from toolwright.workspace.dumpable import refuse_inspection
from toolwright.workspace.errors import (
    BadPath,
    CommandNotStarted,
    FileChanged,
    FileTooLarge,
    NotRegularFile,
    PathNotAllowed,
    ProgramMissing,
    UnknownShell,
    WorkspaceError,
)
from toolwright.workspace.files import Content, OpenFile
from toolwright.workspace.folders import Entry, OpenFolder
from toolwright.workspace.ledger import Knowledge, ReadLedger
from toolwright.workspace.workspace import Workspace

__all__ = [
    "BadPath",
    "Captured",
    "CommandNotStarted",
    "Content",
    "Entry",
    "FileChanged",
    "FileTooLarge",
    "Knowledge",
    "NewContent",
    "NotRegularFile",
    "OpenFile",
    "OpenFolder",
    "PathNotAllowed",
    "ProgramMissing",
    "ReadLedger",
    "Replaced",
    "UnknownShell",
    "Workspace",
    "WorkspaceError",
    "refuse_inspection",
]
