"""Small languages in arguments: of sed, awk, find and test, only what can be seen to look and not to act."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolwright.permissions.shell.words import Word

# sed

_SED_IN_BRACKET = r"\^?\]?(?:\[:[a-z]+:\]|[^\[\]\\/\n])*"
_SED_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/(?:[^/\[\\\n]|\\.|\[{_SED_IN_BRACKET}\])*/[IM]*|\+\d+)"
_SED_PREFIX = re.compile(rf"(?:{_SED_ADDRESS}(?:\s*,\s*{_SED_ADDRESS})?)?\s*!?\s*", re.DOTALL)
_SED_SIMPLE = re.compile(r"[pdnNDPhHgGxl=}]|[qQ]\d*|\{")
_SED_BRACKET = re.compile(r"\[\^?\]?(?:\[:[a-z]+:\]|[^\[\]\\\n])*\]")
_SED_FLAGS = re.compile(r"[gpiIM0-9]*")


def sed_only_looks(script: str) -> bool:
    """Whether a sed script holds none but known commands: no `w`, `r`, `e`, no `s///e`, no labels, no texts."""
    place = 0
    while place < len(script):
        skipped = re.compile(r"[\s;]*").match(script, place)
        place = skipped.end() if skipped else place
        if place >= len(script):
            return True
        end = _sed_command(script, place)
        if end is None:
            return False
        place = end
    return True


def _sed_command(script: str, place: int) -> int | None:
    prefix = _SED_PREFIX.match(script, place)
    place = prefix.end() if prefix else place
    simple = _SED_SIMPLE.match(script, place)
    if simple:
        return _sed_end(script, simple.end(), opened=simple[0] == "{")
    if script[place : place + 1] not in ("s", "y"):
        return None
    end = _sed_parts(script, place + 1)
    if end is None:
        return None
    flags = _SED_FLAGS.match(script, end) if script[place] == "s" else None
    return _sed_end(script, flags.end() if flags else end)


def _sed_parts(script: str, place: int) -> int | None:
    """The end of `/…/…/` with any delimiter. A `[` that holds the delimiter can be read in two ways, so it is not known."""
    delimiter = script[place : place + 1]
    if not delimiter or delimiter in "\\[" or delimiter.isalnum() or delimiter.isspace():
        return None
    found, at = 0, place + 1
    while at < len(script) and found < 2:
        bracket = _SED_BRACKET.match(script, at)
        if script[at] == "[" and (bracket is None or delimiter in bracket[0]):
            return None
        found += script[at] == delimiter
        at = bracket.end() if bracket else at + (2 if script[at] == "\\" else 1)
    return at if found == 2 else None


def _sed_end(script: str, place: int, *, opened: bool = False) -> int | None:
    rest = re.compile(r"[ \t]*").match(script, place)
    place = rest.end() if rest else place
    if place >= len(script) or opened or script[place] in ";\n}":
        return place
    return None


# awk

_AWK_ACTS = re.compile(
    r"system|getline|print.*>|\||@|close|fflush|ENVIRON|PROCINFO|ARGV|SYMTAB|FUNCTAB|include|load", re.DOTALL
)


def awk_only_looks(program: str) -> bool:
    """Whether an awk program neither writes, runs, nor reads anything but its operands. A `>` compares, unless a `print`
    stands somewhere before it.
    """
    return _AWK_ACTS.search(program) is None


# find

_FIND_ALONE = frozenset(
    """-empty -readable -writable -executable -prune -print -print0 -ls -quit -depth -d -xdev -mount -not ! -o -or -a -and ( )
    , -true -false -daystart -noleaf -nouser -nogroup -warn -nowarn""".split()  # noqa: SIM905 — a word list
)
_FIND_VALUED = frozenset(
    """-maxdepth -mindepth -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime
    -mmin -ctime -cmin -atime -amin -newer -anewer -cnewer -newermt -perm -user -group -uid -gid -printf -links -inum
    -lname""".split()  # noqa: SIM905
)


def find_paths(words: Sequence[Word]) -> tuple[list[Word], Word | None]:
    """Where a `find` starts, and the first word of it that is not known only to look."""
    paths: list[Word] = []
    waiting = list(reversed(words))
    while waiting and waiting[-1].text in ("-H", "-P"):
        waiting.pop()
    while waiting and not waiting[-1].text.startswith(("-", "(", "!", ",")):
        word = waiting.pop()
        if not word.one or (word.glob and word.text[:1] in "*?[") or word.text.startswith("\0"):
            return paths, word
        paths.append(word)
    while waiting:
        word = waiting.pop()
        if word.plain in _FIND_ALONE:
            continue
        if word.plain not in _FIND_VALUED or not waiting or not _is_value(waiting.pop()):
            return paths, word
    return paths, None


def _is_value(word: Word) -> bool:
    """`-name *.py` without quotes becomes several words if there are such files, but none that find takes for a test."""
    return word.one and (not word.glob or re.search(r"\.\w+$", word.text) is not None)


# test


_TEST_UNARY = frozenset("-a -b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -L -N -O -S -G".split())  # noqa: SIM905 — word lists
_TEST_BINARY = frozenset("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef".split())  # noqa: SIM905


def test_only_looks(words: Sequence[Word]) -> Word | None:
    """The first word of a `test` or `[` by which it may evaluate more than it says.

    `-v` and `-R` run what an array's index holds, so a word that is not known must not stand where one of them could.
    """
    refused = next((word for word in words if word.text in ("-v", "-R") or not word.one or word.glob), None)
    if refused is not None or all(word.known for word in words):
        return refused
    inner = [word for word in words if word.text != "]"]
    if inner and inner[0].plain == "!":
        inner = inner[1:]
    one = len(inner) == 2 and inner[0].plain in _TEST_UNARY
    two = len(inner) == 3 and inner[1].plain in _TEST_BINARY
    return None if one or two else next(word for word in words if not word.known)
