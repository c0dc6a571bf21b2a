"""Reading a program's arguments by a list of the options it is known to have: exact names, no abbreviations.

What is not on the list is named, so that the reader can be told which word was too much.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from toolwright.permissions.shell.words import UNKNOWN, Word


class Spec(Struct, frozen=True):
    """The options a program may be given without a second look."""

    flags: str = ""
    """Letters of short options without a value."""
    values: str = ""
    """Letters of short options with one."""
    long: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    """Options (`f`, `file`) whose value is a path to read."""
    numbers: bool = False
    """`-20` is a number of lines."""
    careless: bool = False
    """No option of this program does harm, so a word of which nothing is known may be one."""
    single_dash: frozenset[str] = frozenset()
    """Whole words with one dash, like `-version`."""


def spec(
    flags: str = "",
    values: str = "",
    long: str = "",
    *,
    long_values: str = "",
    paths: str = "",
    extra: Mapping[str, object] | None = None,
) -> Spec:
    """A `Spec` from lists of words. `extra`: numbers, careless, single_dash."""
    more = dict(extra or {})
    return Spec(
        flags,
        values,
        frozenset(long.split()),
        frozenset(long_values.split()),
        frozenset(paths.split()),
        numbers=bool(more.get("numbers")),
        careless=bool(more.get("careless")),
        single_dash=frozenset(str(more.get("single_dash", "")).split()),
    )


class Arguments(Struct):
    """What a list of words says: its operands, its options with their values, and the first word that is not known."""

    operands: list[Word] = field(default_factory=list)
    options: list[tuple[str, Word | None]] = field(default_factory=list)
    paths: list[Word] = field(default_factory=list)
    refused: Word | None = None
    unread: list[Word] = field(default_factory=list)
    """That word and all behind it."""

    @property
    def rest(self) -> list[Word]:
        """All words that may be operands."""
        return [*self.operands, *(word for word in self.unread if not word.text.startswith("-"))]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def value(self, *names: str) -> Word | None:
        return next((value for name, value in self.options if name in names), None)


def arguments(words: Sequence[Word], known: Spec) -> Arguments:
    """The arguments `words`, read by `known`. Stops at the first word that is not known to be harmless."""
    found = Arguments()
    waiting = list(reversed(words))
    only_operands = False
    while waiting:
        word = waiting.pop()
        if only_operands or not _may_be_option(word, known):
            found.operands.append(word)
        elif word.known and word.text == "--":
            only_operands = True
        elif word.known and _is_number(word.text, known):
            found.options.append((word.text, None))
        elif not (UNKNOWN not in word.text and not word.glob and _option(word, known, waiting, found)):
            found.refused, found.unread = word, [word, *reversed(waiting)]
            return found
    return found


def _may_be_option(word: Word, known: Spec) -> bool:
    if word.text.startswith("-"):
        return word.text != "-"
    return word.may_be_option and not known.careless


def _is_number(text: str, known: Spec) -> bool:
    return known.numbers and re.fullmatch(r"[-+]\d+", text) is not None


def _option(word: Word, known: Spec, waiting: list[Word], found: Arguments) -> bool:
    text = word.text
    if text in known.single_dash:
        found.options.append((text, None))
        return True
    return _long(text, known, waiting, found) if text.startswith("--") else _short(text, known, waiting, found)


def _long(text: str, known: Spec, waiting: list[Word], found: Arguments) -> bool:
    name, equals, value = text[2:].partition("=")
    if not equals and name in known.long:  # one that is on both lists takes a value only after `=`
        found.options.append((name, None))
        return True
    if name in known.long_values or name in known.paths:
        given = Word(value) if equals else (waiting.pop() if waiting else None)
        return _take(name, given, known, found)
    return False


def _short(text: str, known: Spec, waiting: list[Word], found: Arguments) -> bool:
    for place, letter in enumerate(text[1:], 1):
        if letter in known.values or letter in known.paths:
            rest = text[place + 1 :]
            return _take(letter, Word(rest) if rest else (waiting.pop() if waiting else None), known, found)
        if letter not in known.flags:
            return False
        found.options.append((letter, None))
    return True


def _take(name: str, value: Word | None, known: Spec, found: Arguments) -> bool:
    if value is None or not value.one or (value.glob and not known.careless):  # a pattern may become several words
        return False
    found.options.append((name, value))
    if name in known.paths:
        found.paths.append(value)
    return True
