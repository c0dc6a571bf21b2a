"""Programs that take along whatever lies below a folder: archivers, copiers, and git where it looks beyond its index.

A rule may allow such a program; a file that another rule hides must not leave in its archive. Only the words that choose files
are read, and in doubt it is said that more may be taken. Knows no rule and no file.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from toolwright.permissions.shell import git_commands
from toolwright.permissions.shell.command_line import Part
from toolwright.permissions.shell.words import Word

_HERE = Word(".")


class Taken(Struct, frozen=True):
    """What a command may read besides the paths that it names."""

    below: tuple[Word, ...] = ()
    """Everything below these."""
    tracked: bool = False
    """Everything that git tracks."""
    unseen: bool = False
    """Files of which nothing is known: a list that lies elsewhere, or what git has put aside."""


class _Collector(Struct, frozen=True):
    """Which words make a program collect, which name a list of files, and which are followed by the folder to start from."""

    collects: re.Pattern[str] | None = None
    lists: re.Pattern[str] | None = None
    starts: re.Pattern[str] | None = None
    has_target: bool = False
    """The last operand is where things go."""
    before: int = 0
    """So many operands stand before the files: its command, its archive."""
    dashless: bool = False
    """The first word may be options without their dash."""


_TAR = _Collector(
    re.compile(r"-[A-Za-z]*[crAu][A-Za-z]*|--(?:c|app|u).*"),
    re.compile(r"-[A-Za-z]*[Tg].*|--files-from.*|--listed.*"),
    re.compile(r"-[A-Za-z]*C|--directory"),
    dashless=True,
)
_SEVEN = _Collector(re.compile(r"[au]"), re.compile(r"@.*|-i.*"), before=2)
_COPIER = _Collector(lists=re.compile(r"--files-from.*|--include-from.*"), has_target=True)
COLLECTORS = {
    "tar": _TAR,
    "gtar": _TAR,
    "bsdtar": _TAR,
    "zip": _Collector(lists=re.compile(r"-[A-Za-z]*@|-@|-i@.*")),
    "7z": _SEVEN,
    "7za": _SEVEN,
    "7zr": _SEVEN,
    "7zz": _SEVEN,
    "rar": _SEVEN,
    "pax": _Collector(re.compile(r"-[A-Za-z]*w.*")),
    "cpio": _Collector(lists=re.compile(r"-[A-Za-z]*[op].*|--create|--pass-through")),
    "rsync": _COPIER,
    "scp": _COPIER,
}
_SHOW_TRACKED = frozenset(
    """grep archive log show diff diff-tree diff-files diff-index blame annotate cat-file whatchanged range-diff format-patch
    fast-export bundle stash checkout-index difftool""".split()  # noqa: SIM905 — word lists read better
)
_PUT_ASIDE = re.compile(r".*\bstash\b.*")
_WITH_UNTRACKED = re.compile(r"-[a-zA-Z]*u[a-zA-Z]*|--inc.*|--only.*")
_BEYOND_INDEX = re.compile(r"--no-index|--untracked|--no-i.*|--untr.*")


def taken_along(part: Part) -> Taken | None:
    """What `part` may take along; None if it is no program that does."""
    if part.name == "git":
        return _by_git(part)
    known = COLLECTORS.get(part.name)
    return None if known is None else _by_collector(part.words[1:], known)


def _by_collector(words: tuple[Word, ...], known: _Collector) -> Taken | None:
    if known.dashless and words and words[0].known and words[0].text[:1] not in ("", "-"):
        words = (replace(words[0], text=f"-{words[0].text}"), *words[1:])
    if known.collects is not None and not any(_may_be(word, known.collects) for word in words):
        return None
    below = [word for word in words if not word.text.startswith("-")]
    if known.has_target and len(below) > 1:
        below.pop()
    starts = any(known.starts is not None and _may_be(word, known.starts) for word in words)
    inline = [Word(word.text.partition("=")[2]) for word in words if word.text.startswith("--directory=")]
    unseen = any(known.lists is not None and _may_be(word, known.lists) for word in words)
    return Taken((*below, *inline, *((_HERE,) if starts or len(below) <= known.before else ())), unseen=unseen)


def _by_git(part: Part) -> Taken | None:
    command, *rest = git_commands.without_globals(part.words)[1:] or (Word(""),)
    if not command.known:
        return Taken(unseen=True)
    if command.text not in _SHOW_TRACKED:
        return None
    below: tuple[Word, ...] = ()
    if any(_may_be(word, _BEYOND_INDEX) for word in rest):
        below = (_HERE, *(word for word in rest if not word.text.startswith("-")))
    return Taken(below, tracked=True, unseen=shows_put_aside(part))


def shows_put_aside(part: Part) -> bool:
    """Whether a git command may show the untracked files of a stash, which no folder and no index names any more."""
    if part.name != "git":
        return False
    command, *rest = git_commands.without_globals(part.words)[1:] or (Word(""),)
    if command.text == "stash":
        return any(_may_be(word, _WITH_UNTRACKED) for word in rest)
    return command.text in _SHOW_TRACKED and any(_PUT_ASIDE.fullmatch(word.text) for word in rest)


def _may_be(word: Word, pattern: re.Pattern[str]) -> bool:
    return word.may_be_option or pattern.fullmatch(word.text) is not None
