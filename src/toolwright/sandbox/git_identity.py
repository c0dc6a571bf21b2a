"""A person's git preferences without their secrets: who commits, and how git behaves; no credentials, programs or addresses.

git itself reads the person's files, from a fixed place, outside of any repository and without following includes. Only keys
from a list are taken over: a token can hide in an address, a header, an alias or a helper, so none of these is on it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import lru_cache

PROGRAMS = ("/usr/bin/git", "/usr/local/bin/git", "/bin/git", "/opt/homebrew/bin/git", "/run/current-system/sw/bin/git")
_FILES = (".config/git/config", ".gitconfig")
"""As git reads them: what the later one says counts."""
_KEYS = frozenset(
    """user.name user.email user.useconfigonly author.name author.email committer.name committer.email
    safe.directory safe.barerepository init.defaultbranch init.defaultobjectformat
    core.autocrlf core.eol core.safecrlf core.quotepath core.precomposeunicode core.whitespace core.abbrev core.ignorecase
    core.filemode core.symlinks core.longpaths core.untrackedcache core.preloadindex core.commentchar
    pull.rebase pull.ff fetch.prune push.default push.autosetupremote merge.conflictstyle merge.ff rebase.autosquash
    rebase.autostash rebase.updaterefs rerere.enabled branch.autosetuprebase branch.autosetupmerge branch.sort tag.sort
    commit.verbose commit.cleanup commit.status status.short status.branch status.showuntrackedfiles
    status.submodulesummary diff.algorithm diff.renames diff.renamelimit diff.noprefix diff.mnemonicprefix diff.colormoved
    diff.submodule diff.context diff.indentheuristic log.date log.abbrevcommit log.follow log.decorate blame.date
    format.pretty color.ui column.ui grep.linenumber grep.patterntype i18n.commitencoding i18n.logoutputencoding
    feature.manyfiles index.version index.threads submodule.recurse versionsort.suffix""".split()  # noqa: SIM905
)
_FILE_KEYS = {"core.excludesfile": (".gitignore_global", ".gitignore"), "core.attributesfile": (".gitattributes",)}
"""Keys that name a file: kept if it is one of those that commands can read in a home (see `home_places`)."""
_TIMEOUT = 5.0
_MAX_BYTES = 100_000


def git_identity(home: str) -> bytes:
    """What a command finds as its `~/.gitconfig`; empty if there is nothing to say, or no git to read it."""
    files = tuple((path, *_stamp(path)) for path in (f"{home}/{name}" for name in _FILES) if os.path.isfile(path))
    return _generated(os.path.realpath(home), files) if files else b""


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=16)
def _generated(home: str, files: tuple[tuple[str, int, int, int], ...]) -> bytes:
    lines: list[str] = []
    for path, *_ in files:
        for key, value in _entries(path):
            if key in _KEYS or _names_a_readable_file(key, value, home):
                lines += _written(key, value)
    return os.fsencode("".join(f"{line}\n" for line in lines))


def _entries(path: str) -> Iterator[tuple[str, str | None]]:
    """The keys of one file, in small letters, with their values; None is a key without a value."""
    program = next((each for each in PROGRAMS if os.access(each, os.X_OK)), None)
    if program is None:
        return
    try:
        done = subprocess.run(
            (program, "config", "--file", path, "--no-includes", "--list", "-z"),
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.SubprocessError):
        return
    if done.returncode != 0 or len(done.stdout) > _MAX_BYTES:
        return
    for entry in os.fsdecode(done.stdout).split("\0")[:-1]:
        key, has_value, value = entry.partition("\n")
        yield key.lower(), value if has_value else None


def _names_a_readable_file(key: str, value: str | None, home: str) -> bool:
    names = _FILE_KEYS.get(key, ())
    return value is not None and any(value in (f"~/{name}", f"{home}/{name}") for name in names)


def _written(key: str, value: str | None) -> tuple[str, str]:
    section, _, name = key.partition(".")
    return (f"[{section}]", f"\t{name}" if value is None else f'\t{name} = "{_escaped(value)}"')


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b")
