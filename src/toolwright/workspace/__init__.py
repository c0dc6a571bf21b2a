"""The workspace room: the only door to the machine. Paths, files, commands; see docs/workspace.md."""

from toolwright.base.workspace_errors import (
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
from toolwright.files.folders import FolderEntry, OpenFolder
from toolwright.files.read import FileContent, OpenFile
from toolwright.files.read_tracker import ReadState, ReadTracker
from toolwright.files.write import Replaced
from toolwright.processes.hardening import refuse_inspection
from toolwright.processes.output_buffer import Captured
from toolwright.workspace.workspace import Workspace

__all__ = [
    "BadPath",
    "Captured",
    "CommandNotStarted",
    "FileContent",
    "FolderEntry",
    "FileChanged",
    "FileTooLarge",
    "ReadState",
    "NotRegularFile",
    "OpenFile",
    "OpenFolder",
    "PathNotAllowed",
    "ProgramMissing",
    "ReadTracker",
    "Replaced",
    "UnknownShell",
    "Workspace",
    "WorkspaceError",
    "refuse_inspection",
]
