"""What a sandboxed command may touch, as data: the rules of a session, and the policy of one command that follows from them.

Pure: paths are text here. `survey` looks at the disk and makes a policy out of rules; a mechanism then holds commands to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct, field

from toolwright.types import protected_names

Network = Literal["none", "proxied", "open"]
"""`none`: no way out. `proxied`: only through our proxy. `open`: the network of the host."""
Matcher = Callable[[str], bool]


def no_path(path: str) -> bool:
    """A matcher for rules that are not there."""
    return False


_STOOD_FOR = tuple(
    """.git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude .toolwright .cursor .gemini .codex
    .gitmodules .envrc .npmrc .pnpmfile.cjs bunfig.toml .pre-commit-config.yaml .devcontainer.json pyrightconfig.json
    .mcp.json .claude.json .yarnrc .yarnrc.yml .pnp.cjs .bazelrc .bazelversion lefthook.yml
    CLAUDE.md CLAUDE.local.md AGENTS.md GEMINI.md .cursorrules .windsurfrules .clinerules""".split()  # noqa: SIM905
)


class ProtectedNames(Struct, frozen=True):
    """Names that commands must neither change nor make, and some that they must not change."""

    folders: frozenset[str] = protected_names.FOLDERS
    nested_folders: tuple[str, ...] = protected_names.NESTED_FOLDERS
    open_folders: tuple[str, ...] = protected_names.OPEN_FOLDERS
    files: frozenset[str] = protected_names.FILES
    beginnings: tuple[str, ...] = protected_names.FILES_BEGINNING
    once_there: frozenset[str] = protected_names.ONCE_THERE
    """Names that commands may make, but not change."""
    memory_files: frozenset[str] = protected_names.MEMORY_FILES
    stood_for: tuple[str, ...] = _STOOD_FOR
    """What is kept from being made in the top folder of a project: each costs a mount, so this is the innermost circle."""
    of_home: frozenset[str] = protected_names.HOME_FILES
    """Files that no program looks for in the top folder of a project: only a home is kept free of them."""

    def covers(self, name: str) -> bool:
        """Whether a file or folder of this name is protected, in whatever case it is written."""
        plain = name.casefold()
        known = (self.folders, self.files, self.once_there, self.memory_files)
        return any(plain in names for names in known) or plain.startswith(self.beginnings)

    def of_top(self, *, is_home: bool) -> tuple[str, ...]:
        """The names that must not come to be in a top folder."""
        return (*self.stood_for, *sorted(self.of_home), *self.nested_folders) if is_home else self.stood_for


class HomePlace(Struct, frozen=True):
    """A readable file or folder of a home: where commands look for it, and where it really is."""

    at: str
    real: str
    link: str = ""
    """What it says if it is a link that has to be there as one; else nothing."""


class EmptyHome(Struct, frozen=True):
    """A home as commands find it: nothing is there but what they need to work."""

    path: str
    places: tuple[HomePlace, ...] = ()
    git_config: bytes = b""
    """What they find as its `.gitconfig`."""


class SandboxRules(Struct, frozen=True):
    """What holds for every command of a session. All paths are absolute."""

    roots: tuple[str, ...]
    """Folders that commands may write to."""
    home: str
    """The person's home: commands see nothing of it but what `home_places` lists, unless a writable folder holds all of it."""
    commands_home: str = ""
    """The home of the user that commands run as, if that is another one: then it is theirs that they see something of."""
    opened: tuple[str, ...] = ()
    """Further files and folders that commands may write to, protected or not: somebody said so."""
    frozen: tuple[str, ...] = ()
    """Paths that stay as they are although they lie in a writable folder."""
    secrets: tuple[str, ...] = ()
    """Paths that are hidden unless a writable folder lies there."""
    hidden: tuple[str, ...] = ()
    """Paths that are hidden whatever else is said."""
    shown: tuple[str, ...] = ()
    """Paths that can be read although they lie in a hidden folder."""
    is_hidden: Matcher = no_path
    """Deny rules for reading; asked for every path in the writable folders."""
    is_frozen: Matcher = no_path
    """Deny rules for writing; asked likewise."""
    names: ProtectedNames = field(default_factory=ProtectedNames)
    network: Network = "none"
    unix_sockets: tuple[str, ...] = ()
    all_unix_sockets: bool = False
    weaker: bool = False
    """Whether less may be held where a container allows no more (`enableWeakerNestedSandbox`)."""
    everything_writable: bool = False
    """Whether only the network is closed (`filesystem.disabled`)."""

    @property
    def needs_walk(self) -> bool:
        """Whether every path in the writable folders has to be looked at."""
        return self.is_hidden is not no_path or self.is_frozen is not no_path


class SandboxPolicy(Struct, frozen=True):
    """What one command may touch, now: every path is absolute and real, and was there a moment ago unless it says otherwise."""

    writable: tuple[str, ...]
    protected: tuple[str, ...]
    """Protected names that are there; they stay as they are."""
    frozen: tuple[str, ...]
    """What deny rules keep as it is."""
    absent: tuple[str, ...]
    """Names that are not there and must not come to be."""
    hidden: tuple[str, ...]
    """Files and folders that cannot be read."""
    emptied: tuple[str, ...]
    """Files of secrets that programs look for as a matter of course: they read as empty."""
    shown: tuple[str, ...]
    """Files and folders that can be read although they lie in a hidden folder or in a home."""
    pinned: tuple[str, ...]
    """Folders on the way to something hidden or frozen: moving one would move what is in it out of its rule."""
    network: Network
    unix_sockets: tuple[str, ...]
    all_unix_sockets: bool
    weaker: bool
    everything_writable: bool
    homes: tuple[EmptyHome, ...] = ()

    @property
    def read_only(self) -> tuple[str, ...]:
        return (*self.protected, *self.frozen)

    @property
    def unreadable(self) -> tuple[str, ...]:
        return (*self.hidden, *self.emptied)

    @property
    def allows_unix(self) -> bool:
        return self.all_unix_sockets or bool(self.unix_sockets)

    @property
    def readable_of_homes(self) -> tuple[str, ...]:
        """The real paths of what can be read in the homes."""
        return tuple(place.real for home in self.homes for place in home.places if not place.link)

    def git_config_for(self, home: str) -> bytes | None:
        """What git is to find as the `.gitconfig` of a home; None if it finds the real one."""
        path = os.path.realpath(home) if home else ""
        found = next((each for each in self.homes if each.path == path), None)
        if found is None or is_within_any(f"{path}/.gitconfig", (*self.shown, *self.writable)):
            return None
        return found.git_config


class FilesystemWishes(Struct, frozen=True):
    """The `filesystem` settings of the sandbox, as written."""

    allow_write: Sequence[str] = ()
    deny_write: Sequence[str] = ()
    deny_read: Sequence[str] = ()
    allow_read: Sequence[str] = ()
    disabled: bool = False


class NetworkWishes(Struct, frozen=True):
    """The `network` settings of the sandbox, as far as the sandbox itself holds them."""

    allowed_domains: Sequence[str] = ()
    unix_sockets: Sequence[str] = ()
    all_unix_sockets: bool = False
    has_proxy: bool = False
    """Whether unknown hosts are asked about: then commands get to the proxy even if no domain is allowed from the start."""


class PermissionPaths(Struct, frozen=True):
    """What the permission rules say about paths, so that commands are held to the same."""

    is_hidden: Matcher = no_path
    is_frozen: Matcher = no_path
    hidden: Sequence[str] = ()
    """Paths that deny rules name without a wildcard before their end: they hold outside the writable folders too."""
    opened: Sequence[str] = ()
    """Folders and files that allow rules open to edits."""


def sandbox_rules(
    cwd: str,
    add_dirs: Sequence[str],
    *,
    home: str,
    secrets: Sequence[str],
    filesystem: FilesystemWishes,
    network: NetworkWishes,
    permissions: PermissionPaths = PermissionPaths(),  # noqa: B008 — frozen
    weaker: bool = False,
    commands_home: str = "",
) -> SandboxRules:
    """The rules that follow from settings and permissions. Paths are read as in settings: `/abs`, `~/of-home`, `./of-cwd`."""

    def paths(written: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(absolute(path, cwd=cwd, home=home) for path in written))

    return SandboxRules(
        roots=paths((cwd, *add_dirs)),
        home=home,
        commands_home=commands_home,
        opened=paths((*filesystem.allow_write, *permissions.opened)),
        frozen=paths(filesystem.deny_write),
        secrets=tuple(secrets),
        hidden=paths((*filesystem.deny_read, *permissions.hidden)),
        shown=paths(filesystem.allow_read),
        is_hidden=permissions.is_hidden,
        is_frozen=permissions.is_frozen,
        network="proxied" if network.allowed_domains or network.has_proxy else "none",
        unix_sockets=paths(network.unix_sockets),
        all_unix_sockets=network.all_unix_sockets,
        weaker=weaker,
        everything_writable=filesystem.disabled,
    )


def absolute(path: str, *, cwd: str, home: str) -> str:
    """A path as settings write it, as an absolute one; `/**` at its end says no more than the folder itself."""
    path = path.removesuffix("/**") or "/"
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    elif path.startswith("//"):
        path = path[1:]
    return os.path.normpath(os.path.join(cwd, path))


def is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else folder + "/")


def is_within_any(path: str, folders: Sequence[str]) -> bool:
    return any(is_within(path, folder) for folder in folders)
