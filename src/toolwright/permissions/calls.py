"""The facts a decision is made of: what the call is, and where it happens. Values only; nothing here decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import normpath
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from toolwright.permissions.shell.command_line import CommandLine


class Files(Protocol):
    """What a decision about a command has to know of the machine. Each answer may be made fresh."""

    def spellings(self, path: str) -> tuple[str, ...]:
        """The absolute path as written and as it leads through links."""
        ...

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        """The absolute paths that a shell would make of an absolute pattern with `*`, `?` and `[`; None if that is not
        known.
        """
        ...

    def holds(self, folder: str, covers: Callable[[str], bool]) -> bool | None:
        """Whether something below `folder` (or the file itself) is covered; None if there is too much to look through."""
        ...

    def git_is_plain(self, folder: str, *, caged: bool = False) -> bool:
        """Whether the repository around `folder`, if there is one, names no program in its own configuration. What a `caged`
        git is told by its environment not to run does not count.
        """
        ...

    def git_tracks(self, folder: str, covers: Callable[[str], bool]) -> bool:
        """Whether the repository around `folder` tracks such a file, or that cannot be told."""
        ...


class UnknownFiles:
    """Nothing is known: no links, no patterns, no repositories."""

    def spellings(self, path: str) -> tuple[str, ...]:
        return (path,)

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        return None

    def holds(self, folder: str, covers: Callable[[str], bool]) -> bool | None:
        return None

    def git_is_plain(self, folder: str, *, caged: bool = False) -> bool:
        return False

    def git_tracks(self, folder: str, covers: Callable[[str], bool]) -> bool:
        return True


UNKNOWN_FILES = UnknownFiles()


class PermissionCall(Struct, frozen=True):
    """One tool call as the gate sees it.

    `reads` and `writes` are absolute paths. A path that passes through a link is given twice, as written and as it resolves:
    an allow rule must cover every path given, a deny rule only one.
    """

    name: str
    """The canonical tool name; aliases are resolved before."""
    input: dict[str, Any] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    opens: Mapping[str, str] = field(default_factory=dict)
    """The files and folders that a file tool would open: as written → where that leads, links resolved."""
    searches: bool = False
    """The call is about what lies below its folder: to list, search or find."""
    command: str | None = None
    """The shell command, for tools that run one."""
    hosts: tuple[str, ...] = ()
    """The hosts the call would dial, as the dialer itself reads them."""
    read_only: bool = False
    is_mcp: bool = False
    server: str | None = None
    """For a tool of a server: the name of a rule about the whole server (`mcp__<server>`). Where it is not known, every part of
    the tool's name that could be a server's counts as one."""
    must_ask: bool = False
    """A person has to see this call, whatever mode and allow rules say."""
    no_longer_approved: str = ""
    """Why allow rules do not count for this call, if they do not: the tool is not what it was when it was allowed."""
    preapproved: bool = False
    """The developer handed this tool over in person (a plain function), or it only touches the session itself."""
    line: CommandLine | None = None
    """`command`, read. Without it only a command of plain words is understood."""
    cwd: str | None = None
    """The folder that relative paths of `command` start from; the session's, if None."""
    sandboxed: bool = False
    """The command runs in a sandbox that the settings trust (`autoAllowBashIfSandboxed`)."""
    stopped_in_cage: bool = False
    """The cage stopped an identical command earlier in this session, so a person is asked now."""


class SessionFolders(Struct, frozen=True):
    """Where the session works. `roots` are further folders besides `cwd`; `home` is what `~` in a rule means."""

    cwd: str
    roots: tuple[str, ...] = ()
    home: str | None = None
    files: Files = UNKNOWN_FILES
    own: tuple[str, ...] = ()
    """Folders that hold the session's own settings and whom they trust, whatever they are called."""
    programs: tuple[str, ...] = ()
    """Folders of PATH among the working folders: `cat` may be anybody's `cat` if one lies there."""
    cage: bool = False
    """A command can run here in a cage: the kernel lets it write nothing, dial nothing and read only what it may see."""
    readable: tuple[str, ...] = ()
    """Files and folders outside the working folders that may be read without a question: the system's and toolchains'."""
    strict: bool = False
    """What lies outside the working folders stays closed, whoever says yes."""

    def root_of(self, path: str) -> str | None:
        """The folder of the session that holds the normal `path`, or None when it lies outside all of them."""
        for root in (self.cwd, *self.roots):
            if path == root or path.startswith(root if root.endswith("/") else root + "/"):
                return root
        return None

    def may_read(self, path: str) -> bool:
        """Whether the normal `path` lies in a working folder or in one of the places that may be read without a question."""
        return self.root_of(path) is not None or any(path == top or path.startswith(f"{top}/") for top in self.readable)


def normal_path(path: str) -> str | None:
    """`path` without `//`, `.` and `..`, or None when it is not an absolute path that can be judged."""
    if not path.startswith("/") or "\0" in path:
        return None
    normal = normpath(path)
    return normal[1:] if normal.startswith("//") else normal
