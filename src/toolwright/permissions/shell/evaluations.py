"""Commands of the shell that evaluate what they are given: names with an index, numbers that are expressions.

`printf -v 'a[$(rm x)]' y` runs rm, and so do `read`, `unset`, `[ -v … ]`, `declare -i` and an assignment to RANDOM. Knows
words, not files or rules.
"""

from __future__ import annotations

import re
from itertools import pairwise, takewhile

from toolwright.permissions.shell.command_line import Part
from toolwright.permissions.shell.words import Word

NUMBERS = frozenset(
    """RANDOM SECONDS SRANDOM LINENO OPTIND HISTCMD BASHPID EPOCHSECONDS EPOCHREALTIME BASH_MONOSECONDS BASH_ARGV0 PPID UID EUID
    PS0 PS1 PS2 PS4 PROMPT_COMMAND BASH_CMDS BASH_ALIASES POSIXLY_CORRECT BASH_COMPAT""".split()  # noqa: SIM905 — a word list
)
"""Variables whose values bash evaluates when they are set or shown, or by which it reads everything else otherwise."""

_TAKE_NAMES = frozenset("read unset getopts wait mapfile readarray export readonly declare typeset local".split())  # noqa: SIM905
_DECLARE = frozenset(("declare", "typeset", "local", "export", "readonly"))
_LETTERS = re.compile(r"[-+][abefhmnptuvxCEHPT]*o?")
_OPTIONS = frozenset("errexit nounset pipefail xtrace verbose noglob noclobber allexport noexec".split())  # noqa: SIM905
_HARMLESS = re.compile(r"[^\[$`]*|\[")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def evaluated(part: Part) -> str | None:
    """What the command may run, in words: what stands in its words as text, or what variables hold."""
    if not _evaluates(part):
        return None
    hides_nothing = all(not word.known or _HARMLESS.fullmatch(word.text) for word in part.words[1:])
    values = hides_nothing and not all(word.known for word in part.words)
    return f"{part.name} evaluates what variables hold" if values else f"{part.name} may run what stands in its words"


def _evaluates(part: Part) -> bool:
    words = part.words[1:]
    match part.name:
        case "test" | "[":
            return _tests_a_name(words)
        case "jobs":
            return any(not word.known or "x" in word.text for word in words)
        case "printf":
            return bool(words) and _prints_into_a_name(words)
        case name if name in _TAKE_NAMES:
            return any(map(_is_evaluated, words)) or (name in _DECLARE and any(map(_makes_numbers, words)))
    return False


def _tests_a_name(words: tuple[Word, ...]) -> bool:
    return any(not word.one for word in words) or any(_asks_about_a_name(first, second) for first, second in pairwise(words))


def _asks_about_a_name(operator: Word, operand: Word) -> bool:
    """`-v name`, `-R name`; an operator that is not known may be one of them."""
    if operator.plain in ("-v", "-R"):
        return _NAME.fullmatch(operand.plain or "") is None
    return not operator.known and _is_evaluated(operand)


def _prints_into_a_name(words: tuple[Word, ...]) -> bool:
    first, name = words[0], words[1] if len(words) > 1 else Word("")
    if first.plain == "-v":
        return not _is_harmless(name)
    return first.may_be_option or first.text.startswith("-v")


def sets_unclear_options(part: Part) -> bool:
    """`set -k` takes assignments out of arguments, `set +B` leaves braces as they are: only known options are harmless."""
    named = False
    for word in takewhile(lambda word: word.plain != "--", part.words[1:] if part.name == "set" else ()):
        is_option = word.text.startswith(("-", "+"))
        if not word.known or not (word.text in _OPTIONS if named else not is_option or _LETTERS.fullmatch(word.text)):
            return True
        named = not named and is_option and word.text.endswith("o")
    return False


def _is_evaluated(word: Word) -> bool:
    return not word.known or "[" in word.text or word.text in NUMBERS


def _is_harmless(word: Word) -> bool:
    return _NAME.fullmatch(word.plain or "") is not None and word.text not in NUMBERS


def _makes_numbers(word: Word) -> bool:
    """`-i` evaluates whatever is assigned, `-n` whatever is named."""
    return re.match(r"[-+][A-Za-z]*[in]", word.text) is not None
