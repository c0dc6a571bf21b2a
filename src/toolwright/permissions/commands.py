"""Shell commands, as far as they can be judged without a shell's grammar: plain words.

A command made of nothing but plain words and single spaces means to every shell what it says. Everything else (quotes,
expansions, redirections, assignments) is not understood here: an allow rule never covers it, a deny or ask rule cannot be
ruled out for it. This room's later, full grammar takes this module's place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from .patterns import glob_matches

Verdict = Literal["matches", "differs", "unclear"]

LONGEST_JUDGED = 10_000

RUN_THEIR_ARGUMENTS = frozenset(
    """. source eval exec command builtin noglob coproc time env nohup nice ionice chrt taskset stdbuf timeout xargs parallel
    sudo doas su runuser setpriv chroot unshare nsenter setsid flock watch strace ltrace gdb script busybox toybox
    sh bash dash zsh ksh fish if then else elif while until do ! { function""".split()  # noqa: SIM905 — a word list reads better
)
"""Words that make a command of what stands behind them."""

FIND_ACTIONS = frozenset("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls".split())  # noqa: SIM905

_PLAIN = re.compile(r"[A-Za-z0-9_./:=@%+,-]+(?: [A-Za-z0-9_./:=@%+,-]+)*")
_PLAIN_LIST = re.compile(r"[A-Za-z0-9_./:=@%+,\-;&|\n \t]*")
_SEPARATORS = re.compile(r"[;&|\n]+")
_ANY_BREAK = re.compile(r"[;&|\n\r(){}<>`$\"'\\!]+")


def allowed_by(content: str, command: str) -> bool:
    """Whether an allow rule's content covers `command`: word for word, or by its prefix if the command is plain."""
    if "*" not in content:
        return command == content
    return is_plain(command) and _covers(content, command) and not (_wraps(content, command) or _acts_through_find(command))


def is_plain(command: str) -> bool:
    """One command of plain words, without an assignment before it."""
    return len(command) <= LONGEST_JUDGED and bool(_PLAIN.fullmatch(command)) and "=" not in command.partition(" ")[0]


def fixed_words(content: str) -> list[str]:
    """The words of a rule before its first `*`."""
    return content.removesuffix(":*").partition("*")[0].split()


def _wraps(content: str, command: str) -> bool:
    """Whether what the command really runs is chosen by the part that only a `*` covers."""
    return runs_its_arguments(command.partition(" ")[0]) and len(fixed_words(content)) < 2


def runs_its_arguments(word: str) -> bool:
    return word.rpartition("/")[2] in RUN_THEIR_ARGUMENTS


def _acts_through_find(command: str) -> bool:
    words = command.split(" ")
    return words[0].rpartition("/")[2] == "find" and not FIND_ACTIONS.isdisjoint(words)


def forbidden_by(content: str, command: str) -> Verdict:
    """Whether a deny or ask rule's content is about `command`, or whether that cannot be told."""
    short = len(command) <= LONGEST_JUDGED
    judged, parts = _parts_of(command) if short else (False, _simple_parts(_ANY_BREAK, command))
    wanted = " ".join(content.split())
    if command == content or any(_is_in_part(wanted, part, look_behind_wrappers=short) for part in parts):
        return "matches"
    return "differs" if judged else "unclear"


@lru_cache(maxsize=32)
def _parts_of(command: str) -> tuple[bool, tuple[str, ...]]:
    """Whether the command can be judged, and its single commands, or what looks like them."""
    judged = _PLAIN_LIST.fullmatch(command) is not None
    return judged, tuple(_simple_parts(_SEPARATORS if judged else _ANY_BREAK, command))


def _simple_parts(breaks: re.Pattern[str], command: str) -> Iterator[str]:
    return (" ".join(part.split()) for part in breaks.split(command) if part and not part.isspace())


def _is_in_part(wanted: str, part: str, *, look_behind_wrappers: bool) -> bool:
    if _covers_command(wanted, part):
        return True
    first = part.partition(" ")[0]
    if not (look_behind_wrappers and ("=" in first or runs_its_arguments(first))):
        return False
    # Where the wrapped command starts depends on the wrapper's options, so each word may be its first.
    return any(_covers_command(wanted, part[space.end() :]) for space in re.finditer(" ", part))


def _covers_command(wanted: str, text: str) -> bool:
    """Also by the program's name alone: `/bin/rm x` is an `rm x`."""
    if _covers(wanted, text):
        return True
    first, space, rest = text.partition(" ")
    return "/" in first and _covers(wanted, first.rpartition("/")[2] + space + rest)


def _covers(content: str, text: str) -> bool:
    """`prefix:*` and `prefix *` end at a word; a `*` elsewhere is any text."""
    prefix = content.removesuffix(":*") if content.endswith(":*") else content.removesuffix(" *")
    if prefix == content:
        return glob_matches(content, text)
    return glob_matches(prefix, text) or glob_matches(prefix + " *", text)
