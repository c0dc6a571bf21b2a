"""A command line taken apart: every simple command that it may run, with its assignments, redirections and folder.

Values only, made by `reading` from a syntax tree. They hang on the text alone, not on where it is run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from msgspec import Struct

from toolwright.permissions.shell.variables import changes_what_runs
from toolwright.permissions.shell.words import UNKNOWN, Word

Moves = frozenset[tuple[Word, ...]]
"""The ways the folder may have been changed before a command: each is a row of `cd` targets, one after the other."""

HERE: Moves = frozenset({()})


class Assignment(Struct, frozen=True):
    name: str
    value: Word | None
    """None for one without a value, and for arrays."""


class Redirection(Struct, frozen=True):
    operator: str
    target: Word


class Part(Struct, frozen=True):
    """One simple command. Its first word is the program."""

    words: tuple[Word, ...] = ()
    source: str = ""
    """As it is written, where that is known."""
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    moves: Moves = HERE
    wrapped: tuple[Word, ...] = ()
    """The words of harmless wrappers (`timeout 5`) that stood before it."""
    certain: bool = True
    """False for what a program with arguments of its own is asked to run, as far as that can be seen: only forbidding
    rules look at it.
    """

    @property
    def name(self) -> str:
        """The program's name without its folder, or nothing if it is not known."""
        first = self.words[0].plain if self.words else None
        return first.rpartition("/")[2] if first else ""

    @property
    def shown(self) -> str:
        return self.source or joined(self.words)

    def forms(self) -> Iterator[str]:
        """The texts that a rule may mean: as written, and each word quoted only where it must be."""
        yield joined(self.words)
        if self.source:
            yield " ".join(self.source.split())


class CommandLine(Struct, frozen=True):
    """All that is known of a command line before it runs."""

    text: str
    parts: tuple[Part, ...] = ()
    unparsed: str | None = None
    """Why there is nothing known but the text."""
    doubts: tuple[str, ...] = ()
    """Constructs that change what the parts mean; no rule with content covers a line with one."""
    opaque: tuple[str, ...] = ()
    """Places where commands may hide that cannot be seen."""
    functions: tuple[str, ...] = ()
    """Names it defines as functions; what they run is among the parts."""

    @property
    def certain_parts(self) -> Iterator[Part]:
        return (part for part in self.parts if part.certain)


def joined(words: tuple[Word, ...]) -> str:
    """The words as one text. What the shell would still expand stays as it is written."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: Word) -> str:
    return shlex.quote(word.text) if word.known else word.text


def unquoted(words: tuple[Word, ...]) -> str:
    return " ".join(word.text for word in words)


def first_unknown(words: tuple[Word, ...]) -> int | None:
    """The place of the first word whose text is not what the program gets."""
    return next((place for place, word in enumerate(words) if not word.known), None)


def stays_harmless(name: str) -> bool:
    """Whether the commands after it run the same programs with `name` set as without."""
    return not changes_what_runs(name)


def visible(text: str) -> str:
    """`text` for people: unknown pieces as `…`."""
    return text.replace(UNKNOWN, "…")
