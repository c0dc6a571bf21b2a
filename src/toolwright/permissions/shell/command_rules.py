"""Rules about shell commands: whether one covers a simple command, or is about it.

An allow rule never reaches further than it reads; a forbidding one never less far: it sees through quotes, paths, wrappers,
assignments and texts for other shells, and says "unclear" where it cannot see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from toolwright.permissions.patterns import glob_matches
from toolwright.permissions.shell import git_commands
from toolwright.permissions.shell.command_line import CommandLine, Part, first_unknown, joined, unquoted
from toolwright.permissions.shell.dangerous_arguments import reaching
from toolwright.permissions.shell.programs import Effect
from toolwright.permissions.shell.programs import effect as effect_of
from toolwright.permissions.shell.words import UNKNOWN, Word
from toolwright.permissions.shell.wrappers import runs_its_arguments

if TYPE_CHECKING:
    from toolwright.permissions.rules import Rule

MAX_JUDGED_LENGTH = 10_000
"""A longer line is never covered by a rule with content."""

_ANY_BREAK = re.compile(r"[;&|\n\r(){}<>`$\"'\\!]+")


def fixed_words(content: str) -> list[str]:
    """The words of a rule before its first `*`."""
    return content.removesuffix(":*").partition("*")[0].split()


def content_covers(content: str, text: str) -> bool:
    """`prefix:*` and `prefix *` end at a word; a `*` elsewhere is any text."""
    prefix = content.removesuffix(":*") if content.endswith(":*") else content.removesuffix(" *")
    if prefix == content:
        return glob_matches(content, text)
    return glob_matches(prefix, text) or glob_matches(prefix + " *", text)


# allowing


def allows(content: str, part: Part, effect: Effect) -> bool:
    """Whether an allow rule's content covers the simple command `part`, whose effect is known."""
    if not part.words[0].known:
        return False
    return _allows_words(content, part, effect) or (bool(part.wrapped) and _allows_wrapped(content, part, effect))


def _allows_words(content: str, part: Part, effect: Effect) -> bool:
    texts = (joined(part.words),) if part.wrapped or part.assignments else tuple(part.forms())
    if "*" not in content:
        return any(text == content for text in texts)
    return any(content_covers(content, text) for text in texts) and not _is_beyond(content, part, effect)


def _allows_wrapped(content: str, part: Part, effect: Effect) -> bool:
    """A rule that names the wrapper too must also name what is wrapped."""
    whole = joined((*part.wrapped, *part.words))
    if "*" not in content:
        return whole == content
    names_it = len(fixed_words(content)) > len(part.wrapped)
    return names_it and content_covers(content, whole) and not _is_beyond(content, part, effect)


def _is_beyond(content: str, part: Part, effect: Effect) -> bool:
    """Whether the part that only a `*` covers does more than the command's name says."""
    named = fixed_words(content)
    if runs_its_arguments(part.name) and (len(named) < 2 or named[1].startswith("-")):
        return True
    while effect.kind == "runs" or effect.beyond is not None:
        word = effect.beyond or reaching(part)
        if word is None:
            return False
        if word.text not in named or word is part.words[0] or part.name == "find":
            return True
        part = replace(part, words=tuple(other for other in part.words if other is not word))
        effect = effect_of(part)
    return False


# forbidding


class CommandRules:
    """The rules of one behavior about commands, found by the first word they name. Their contents are single-spaced here."""

    __slots__ = ("_anywhere", "_by_word", "exact")

    def __init__(self, contents: Mapping[str, Rule]) -> None:
        self.exact = dict(contents)
        """By the content as it is written."""
        self._by_word: dict[str, list[tuple[str, Rule]]] = {}
        self._anywhere: list[tuple[str, Rule]] = []
        for content, rule in contents.items():
            wanted = " ".join(content.split())
            first = _first_word(wanted)
            (self._anywhere if first is None else self._by_word.setdefault(first, [])).append((wanted, rule))

    def __bool__(self) -> bool:
        return bool(self.exact)

    def starting_with(self, words: Iterable[str]) -> Iterator[tuple[str, Rule]]:
        """The rules that may be about a text whose first word is one of `words`."""
        yield from self._anywhere
        for word in words:
            yield from self._by_word.get(word, ())

    def all(self) -> Iterator[tuple[str, Rule]]:
        yield from self._anywhere
        for rules in self._by_word.values():
            yield from rules


def _first_word(wanted: str) -> str | None:
    """The word that every command must begin with that `wanted` is about, or None if that is not said."""
    first, space, _ = wanted.partition(" ")
    if not space and wanted.endswith(":*"):
        first = first.removesuffix(":*")
    return None if "*" in first or not first else first


def forbidding(rules: CommandRules, line: CommandLine) -> tuple[Rule | None, Rule | None]:
    """The deny or ask rule that is about some command of `line`, and one of which that cannot be told."""
    if not rules:
        return None, None
    if line.text in rules.exact:
        return rules.exact[line.text], None
    if line.unparsed is not None:
        return _forbidding_text(rules, line.text)
    doubt = next(rule for _, rule in rules.all()) if line.opaque else None
    for part in line.parts:
        matched, unclear = _forbidding_part(rules, part)
        if matched:
            return matched, None
        doubt = doubt or unclear
    return None, doubt


def _forbidding_text(rules: CommandRules, text: str) -> tuple[Rule | None, Rule | None]:
    pieces = _pieces(text)
    some: Rule | None = None
    for wanted, rule in rules.all():
        if any(content_covers(wanted, piece) for piece in pieces):
            return rule, None
        some = some or rule
    return None, some


def _forbidding_part(rules: CommandRules, part: Part) -> tuple[Rule | None, Rule | None]:
    texts = _all_forms(part)
    known = not part.words or part.words[0].known
    found = rules.starting_with({text.partition(" ")[0] for text in texts}) if known else rules.all()
    unsure = first_unknown(part.words) is not None
    doubt: Rule | None = None
    for wanted, rule in found:
        if any(content_covers(wanted, text) for text in texts):
            return rule, None
        if unsure and doubt is None and any(_may_become(wanted, text) for text in texts):
            doubt = rule
    return None, doubt


@lru_cache(maxsize=8)
def _pieces(text: str) -> tuple[str, ...]:
    """What looks like commands in a text that has no tree, each also from its second word on and by its program's own name."""
    pieces = [" ".join(piece.split()) for piece in _ANY_BREAK.split(text)]
    named = [re.sub(r"^\S*/", "", piece) for piece in pieces]
    behind = [
        piece.partition(" ")[2]
        for piece in pieces
        if "=" in piece.partition(" ")[0] or runs_its_arguments(piece.partition(" ")[0])
    ]
    return tuple(dict.fromkeys(piece for piece in (*pieces, *named, *behind) if piece))


def _all_forms(part: Part) -> tuple[str, ...]:
    """Every text under which a forbidding rule should find the command."""
    rows = [part.words, (*part.wrapped, *part.words)] if part.wrapped else [part.words]
    if part.name == "git":
        rows.append(git_commands.without_globals(part.words))
    rows += [(Word(words[0].text.rpartition("/")[2]), *words[1:]) for words in rows if words and words[0].known]
    texts = dict.fromkeys(text for words in rows for text in (joined(words), unquoted(words)))
    return tuple(texts | {" ".join(part.source.split()): None} if part.source else texts)


def _may_become(wanted: str, text: str) -> bool:
    """Whether a command with unknown words might still turn out to be the one that is wanted."""
    known = re.split(rf"[{UNKNOWN}*?\[]", text)[0]
    fixed = wanted.removesuffix(":*").partition("*")[0]
    reaches_past_it = known.startswith(fixed.rstrip()) and wanted != fixed
    return reaches_past_it or fixed.startswith(known) or fixed == known.rstrip()
