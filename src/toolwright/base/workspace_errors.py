"""What the workspace refuses, as typed errors whose text a model can act on.

WorkspaceError
├── PathNotAllowed     outside the boundary
│   └── PathNotGranted it leads elsewhere than what was allowed
├── BadPath            not a path at all: NUL, lone surrogate, over-long, empty
├── NotRegularFile     a folder, FIFO, device or socket where a file was expected
├── FileTooLarge       more bytes than the operation takes
├── FileChanged        somebody else wrote the file in the meantime
├── CheckpointError    what a file was cannot be kept, or cannot be put back
├── UnknownPoint       no checkpoint has this id
├── BadPattern         a filter that is no regular expression, or takes too long
├── UnknownShell       no background command has this id
├── CommandNotStarted  the operating system refused to start a process
└── ProgramMissing     a program that we bring or need is not there
"""

from __future__ import annotations

from collections.abc import Sequence


class WorkspaceError(Exception):
    """The operation was refused or could not be done; the text says why and what to do."""


class PathNotAllowed(WorkspaceError):
    """The path leads out of the folders this session may use."""

    def __init__(self, path: str, allowed: Sequence[str] = ()) -> None:
        hint = f". Allowed: {', '.join(allowed)}" if allowed else ""
        super().__init__(f"Access denied: Path {path} is outside allowed boundaries{hint}")
        self.path = path


class PathNotGranted(PathNotAllowed):
    """The path leads out of the folders, and not to what somebody allowed for this call."""

    def __init__(self, path: str, granted: Sequence[str]) -> None:
        super().__init__(path)
        self.args = (f"{self} and does not lead to what was allowed ({', '.join(granted)}). Look again, then repeat the call.",)


class BadPath(WorkspaceError):
    """The text cannot name a file; nothing was asked of the operating system."""


class NotRegularFile(WorkspaceError):
    """There is something at the path, but no regular file."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(f"{path} is a {kind}, not a regular file.")
        self.path = path
        self.kind = kind


class FileTooLarge(WorkspaceError):
    """The file has more bytes than the operation takes."""


class FileChanged(WorkspaceError):
    """The file on disk is not the one the caller based its change on."""


class CheckpointError(WorkspaceError):
    """What a file was before a change cannot be kept, or is not there to be put back."""


class UnknownPoint(WorkspaceError):
    """There is no checkpoint of this id."""

    def __init__(self, point: str) -> None:
        super().__init__(f"No file checkpoint found for message {point}.")
        self.point = point


class BadPattern(WorkspaceError):
    """The pattern cannot be used to filter lines."""


class UnknownShell(WorkspaceError):
    """There is no background command of this id."""

    def __init__(self, shell_id: str, known: Sequence[str]) -> None:
        there_are = f"There are: {', '.join(known)}." if known else "This session has started none."
        super().__init__(f"No background command has the ID {shell_id!r}. {there_are}")


class CommandNotStarted(WorkspaceError):
    """The process could not be started."""


class ProgramMissing(WorkspaceError):
    """A program that is needed is not installed where it has to be."""
