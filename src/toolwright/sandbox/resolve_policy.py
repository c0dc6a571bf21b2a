"""Look at the disk and say what the rules of a session mean for a command that starts now.

Rules are patterns and names; a sandbox holds paths. So the writable folders are walked before a command starts: to the end if
there are deny rules (up to a limit: beyond it the command is refused), else a few levels deep for protected names. Links are
never followed; what a hidden or protected link leads to is treated like the link.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from toolwright.base.open_beneath import PATH_ONLY
from toolwright.base.placeholder_files import stands_in
from toolwright.sandbox.errors import SandboxRefused
from toolwright.sandbox.git_identity import git_identity
from toolwright.sandbox.home_places import is_home, places_of_home
from toolwright.sandbox.policy import EmptyHome, SandboxPolicy, SandboxRules, is_within, is_within_any

MAX_ENTRIES = 250_000
"""Names in the writable folders that are held against deny rules before each command."""
NESTED_LEVELS = 3
"""How deep below a writable folder protected names are looked for when there is no deny rule that needs a walk anyway."""
MAX_PATHS = 2_000
"""Single paths that a sandbox hides or protects; each one costs a mount."""
_LINUX = sys.platform == "linux"
_OUR_OWN_WANT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_DEPENDENCIES = frozenset({"node_modules", "site-packages", "__pycache__", ".venv", "venv", ".tox", ".nox", "vendor", "target"})
"""Folders of other people's code, full of names that mean nothing here."""


class _Findings(Struct):
    protected: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    most: int = MAX_ENTRIES
    entries: int = 0

    def count(self, number: int) -> None:
        self.entries += number
        if self.entries > self.most:
            raise SandboxRefused(
                f"The command was not started: the folders it may write to hold more than {self.most:,} names, too many to "
                "hold against the deny rules before every command. Work in a smaller folder, or name the denied paths in full "
                "(sandbox.filesystem.denyRead, denyWrite) instead of by patterns."
            )


def survey(rules: SandboxRules, *, most_entries: int = MAX_ENTRIES) -> SandboxPolicy:
    """The policy for a command that starts now. Raises `SandboxRefused` where the rules cannot be held."""
    roots = _real_folders(rules.roots)
    opened = _real(path for path in rules.opened if os.path.lexists(path))
    writable = tuple(dict.fromkeys((*roots, *opened)))
    if "/" in writable:
        raise SandboxRefused(
            "The command was not started: a sandbox whose writable folder is / would hold nothing. Work in a folder."
        )
    found = _Findings(most=most_entries)
    for root in _outermost(writable):
        if os.path.isdir(root):
            _walk(root, rules, opened=opened, found=found)
    hidden = _deny_paths(rules, found)
    homes = tuple(_empty_homes(rules, writable))
    shown = _real(path for path in rules.shown if os.path.lexists(path) and not is_within_any(os.path.realpath(path), hidden))
    secrets = _secrets(rules, writable, homes=homes, shown=shown)
    frozen = _real(path for path in rules.frozen if os.path.lexists(path))
    absent = [] if rules.everything_writable else [path for root in roots for path in _absent(root, rules, opened)]
    policy = SandboxPolicy(
        writable=_unique((*writable, *found.open)),
        protected=() if rules.everything_writable else _unique(found.protected),
        frozen=_unique((*found.frozen, *frozen)),
        absent=_unique((*absent, *_absent_frozen(rules, writable))),
        hidden=_unique((*hidden, *(path for path in secrets if os.path.isdir(path)))),
        emptied=tuple(path for path in secrets if not os.path.isdir(path) and path not in hidden),
        shown=shown,
        pinned=_pinned((*hidden, *found.frozen, *frozen), writable),
        network=rules.network,
        unix_sockets=rules.unix_sockets,
        all_unix_sockets=rules.all_unix_sockets,
        weaker=rules.weaker,
        everything_writable=rules.everything_writable,
        homes=homes,
    )
    _refuse_too_many(policy)
    return policy


def _walk(root: str, rules: SandboxRules, *, opened: tuple[str, ...], found: _Findings) -> None:
    """Note what is protected or denied below `root`. A folder that is hidden is not looked into."""
    waiting = [(root, 0, False)]
    while waiting:
        folder, level, is_settled = waiting.pop()
        for entry in _entries(folder, found):
            path = entry.path
            if rules.is_hidden(path):
                found.hidden += _leads_to(path)
                continue
            settled = is_settled or _is_kept(entry, rules, opened=opened, found=found)
            if _is_folder(entry) and (rules.needs_walk or _is_worth_it(entry.name, level, settled)):
                waiting.append((path, level + 1, settled))


def _is_worth_it(name: str, level: int, settled: bool) -> bool:
    return not settled and level < NESTED_LEVELS and name not in _DEPENDENCIES


def _entries(folder: str, found: _Findings) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except OSError as error:
        if error.errno in _OUR_OWN_WANT:
            raise SandboxRefused(
                f"The command was not started: {folder} could not be looked through ({error.strerror})."
            ) from error
        return []  # what we cannot list, the command cannot either
    found.count(len(listed))
    return listed


def _is_kept(entry: os.DirEntry[str], rules: SandboxRules, *, opened: tuple[str, ...], found: _Findings) -> bool:
    """Whether a path stays as it is, with all that is below; then it is noted."""
    path = entry.path
    if rules.is_frozen(path):
        found.frozen += _kept_paths(entry)
        return True
    is_protected = rules.names.covers(entry.name) or path.endswith(tuple(f"/{name}" for name in rules.names.nested_folders))
    if not is_protected or is_within_any(path, opened) or stands_in(path):
        return False
    found.protected += _kept_paths(entry)
    inner = (
        os.path.join(os.path.dirname(path), name) for name in rules.names.open_folders if name.startswith(f"{entry.name}/")
    )
    found.open += [folder for folder in inner if os.path.isdir(folder) and os.path.realpath(folder) == folder]
    return True


def _kept_paths(entry: os.DirEntry[str]) -> Iterator[str]:
    """The paths to keep as they are for one name: itself, or where a link or a `.git` file leads."""
    if entry.is_symlink():
        yield from _leads_to(entry.path)
        return
    yield entry.path
    if entry.name == ".git" and entry.is_file(follow_symlinks=False):
        yield from git_folders(entry.path)


def git_folders(file: str) -> Iterator[str]:
    """The folders that a `.git` file stands for: git reads its hooks and its configuration there."""
    target = _pointed(file, b"gitdir:")
    if target is None:
        return
    yield target
    common = _pointed(os.path.join(target, "commondir"), b"")
    if common is not None:
        yield common


def _pointed(file: str, prefix: bytes) -> str | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.read(descriptor, 4096) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
    if not content.startswith(prefix) or b"\0" in content:
        return None
    path = os.fsdecode(content[len(prefix) :].strip())
    real = os.path.realpath(os.path.join(os.path.dirname(file), path)) if path else ""
    return real if real and os.path.isdir(real) else None


def _leads_to(path: str) -> list[str]:
    real = os.path.realpath(path)
    return [real] if os.path.lexists(real) and not os.path.islink(real) else []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _absent(root: str, rules: SandboxRules, opened: tuple[str, ...]) -> Iterator[str]:
    """The protected names that are not in the top folder `root`. A link there cannot be held: it could be replaced."""
    is_home = root == os.path.realpath(rules.home)
    for name in rules.names.of_top(is_home=is_home):
        path = f"{root}/{name}"
        if opened and is_within_any(path, opened):
            continue
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            mode = 0
        if stat.S_ISLNK(mode):
            _refuse_link(path)
        if not mode or stands_in(path):
            yield _first_missing(path) if "/" in name else path


def _first_missing(path: str) -> str:
    """The part of a missing path that is missing first: while that cannot be made, neither can the rest."""
    parent = os.path.dirname(path)
    return path if os.path.lexists(parent) else _first_missing(parent)


def _refuse_link(path: str) -> None:
    target = os.readlink(path)
    kind = "link" if os.path.exists(path) else "dangling link"
    raise SandboxRefused(
        f"The command was not started: {path} is a protected name, but a {kind} (to {target}), and a sandbox "
        "cannot keep a link from being replaced. Put what it leads to in its place, or allow "
        "commands to change it (sandbox.filesystem.allowWrite)."
    )


def _absent_frozen(rules: SandboxRules, writable: tuple[str, ...]) -> Iterator[str]:
    """Paths that must not be written and are not there: kept from being made if they would be in a writable folder."""
    for path in rules.frozen:
        if not os.path.lexists(path) and is_within_any(os.path.realpath(path), writable):
            yield _first_missing(os.path.realpath(path))


def _deny_paths(rules: SandboxRules, found: _Findings) -> tuple[str, ...]:
    return _unique((*_real(path for path in rules.hidden if os.path.exists(path)), *found.hidden))


def _empty_homes(rules: SandboxRules, writable: tuple[str, ...]) -> Iterator[EmptyHome]:
    """The homes that commands see nothing of but what they need. One that the person works in as a whole is not among them."""
    if rules.everything_writable:
        return
    seen = os.path.realpath(rules.commands_home or rules.home)
    for home in _unique((seen, os.path.realpath(rules.home))):
        if is_home(home) and not is_within_any(home, writable):
            yield EmptyHome(home, places_of_home(home, caches=False), git_identity(home)) if home == seen else EmptyHome(home)


def _secrets(
    rules: SandboxRules, writable: tuple[str, ...], *, homes: tuple[EmptyHome, ...], shown: tuple[str, ...]
) -> tuple[str, ...]:
    """The default secrets that are there and could be seen, without those that the person works in."""
    folders = tuple(home.path for home in homes)
    visible = (*writable, *shown, *(place.real for home in homes for place in home.places))

    def is_absent(path: str) -> bool:
        return is_within_any(path, folders) and not is_within_any(path, visible)

    candidates = (each for each in rules.secrets if not is_absent(each))
    real = _unique(path for each in candidates if (path := _where(each)) is not None and not is_absent(path))
    return tuple(
        path for path in real if path not in writable and path not in rules.shown and path != "/" and _can_be_opened(path)
    )


def _can_be_opened(path: str) -> bool:
    """Whether a command could look into a secret place at all: else it needs no cover. Root's commands may run as others."""
    return os.geteuid() == 0 or os.access(path, os.R_OK) or (os.path.isdir(path) and os.access(path, os.X_OK))


def _where(path: str) -> str | None:
    """The real path of what is there, None if nothing is: as `realpath` says it, in a third of the time."""
    if not _LINUX:
        return os.path.realpath(path) if os.path.exists(path) else None
    if not os.access(path, os.F_OK, effective_ids=True):  # most are not there, and an exception takes longer
        return None
    try:
        descriptor = os.open(path, PATH_ONLY)
    except OSError:
        return None
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _pinned(paths: Iterable[str], writable: tuple[str, ...]) -> tuple[str, ...]:
    pinned: dict[str, None] = {}
    for path in paths:
        parent = os.path.dirname(path)
        while is_within_any(parent, writable) and parent not in writable:
            pinned[parent] = None
            parent = os.path.dirname(parent)
    return tuple(sorted(pinned))


def _refuse_too_many(policy: SandboxPolicy) -> None:
    for paths, what in ((policy.hidden, "deny rules hide"), (policy.read_only, "deny rules and protected names keep")):
        if len(paths) > MAX_PATHS:
            raise SandboxRefused(
                f"The command was not started: {what} {len(paths):,} single paths in the writable folders, more "
                f"than the {MAX_PATHS:,} that a sandbox can hold. Deny whole folders instead, for instance "
                f"the one of {paths[0]}."
            )


def _real_folders(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in _real(paths) if os.path.isdir(path))


def _real(paths: Iterable[str]) -> tuple[str, ...]:
    return _unique(os.path.realpath(path) for path in paths)


def _unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def _outermost(paths: tuple[str, ...]) -> list[str]:
    return [path for path in paths if not any(path != other and is_within(path, other) for other in paths)]
