"""JSON with comments, and where in the text each value stands: for errors with line and column, and for small edits.

Stricter than `json.loads` where leniency would hide something: duplicate keys, NaN, deep nesting and broken Unicode are errors.
Knows nothing about settings.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

MAX_DEPTH = 40
Kind = Literal["object", "array", "text", "number", "boolean", "null"]

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?(?![\w.])")
_STRINGS = json.JSONDecoder()
_WORD = re.compile(r"[A-Za-z]+")
_WORDS: dict[str, tuple[Kind, Any]] = {"true": ("boolean", True), "false": ("boolean", False), "null": ("null", None)}


class NotJson(Exception):
    """The text cannot be read: what is wrong, and at which offset."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem)
        self.problem, self.offset = problem, offset


class Member(Struct, frozen=True):
    """One entry of an object; `start` is where its key begins."""

    key: str
    start: int
    node: Node


class Node(Struct, frozen=True):
    """A value and its place. `value` is set for scalars, `members` for objects, `items` for arrays."""

    kind: Kind
    start: int
    end: int
    value: Any = None
    members: tuple[Member, ...] = ()
    items: tuple[Node, ...] = ()
    commas: tuple[int, ...] = ()
    """Where the commas between members or items are."""

    def get(self, key: str) -> Node | None:
        return next((member.node for member in self.members if member.key == key), None)

    def plain(self) -> Any:
        """The value as `json.loads` would give it."""
        if self.kind == "object":
            return {member.key: member.node.plain() for member in self.members}
        return [item.plain() for item in self.items] if self.kind == "array" else self.value


@dataclass(frozen=True)
class Document:
    """A text and what it says."""

    text: str
    root: Node

    @cached_property
    def _line_starts(self) -> list[int]:
        return line_starts(self.text)

    def line(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset)

    def column(self, offset: int) -> int:
        return offset - self._line_starts[self.line(offset) - 1] + 1


def line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def parse_document(text: str) -> Document:
    """What `text` says. Raises `NotJson`."""
    node, end = _Parser(text).value(_skip(text, 0), 0)
    end = _skip(text, end)
    if end != len(text):
        raise NotJson("there is more after the end of the value", end)
    return Document(text, node)


def _skip(text: str, offset: int) -> int:
    found = _GAP.match(text, offset)
    end = found.end() if found else offset
    if text.startswith("/*", end):
        raise NotJson("a comment has no end", end)
    return end


class _Parser:
    """One reading of one text: each method takes an offset and gives the node and the offset behind it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, start: int, depth: int) -> tuple[Node, int]:
        if depth > MAX_DEPTH:
            raise NotJson(f"values are nested more than {MAX_DEPTH} deep", start)
        match self._text[start : start + 1]:
            case "":
                raise NotJson("a value is missing", start)
            case "{":
                return self._object(start, depth)
            case "[":
                return self._array(start, depth)
            case '"':
                text, end = self._string(start)
                return Node("text", start, end, text), end
            case _:
                return self._scalar(start)

    def _string(self, start: int) -> tuple[str, int]:
        try:
            text, end = _STRINGS.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            raise NotJson(error.msg.removesuffix(" at").lower(), error.pos) from None
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise NotJson("a text holds half of a surrogate pair", start)
        return text, end

    def _scalar(self, start: int) -> tuple[Node, int]:
        number = _NUMBER.match(self._text, start)
        if number is not None:
            value = json.loads(number[0])
            if value in (float("inf"), float("-inf")):
                raise NotJson(f"the number {number[0]} is too large", start)
            return Node("number", start, number.end(), value), number.end()
        word = _WORD.match(self._text, start)
        if word is not None and word[0] in _WORDS:
            kind, value = _WORDS[word[0]]
            return Node(kind, start, word.end(), value), word.end()
        shown = word[0] if word else self._text[start]
        raise NotJson(f"a value was expected, found {shown[:20]!r}", start)

    def _array(self, start: int, depth: int) -> tuple[Node, int]:
        items: list[Node] = []
        commas: list[int] = []
        for offset in self._entries(start, "]", commas):
            item, self._behind = self.value(offset, depth + 1)
            items.append(item)
        return Node("array", start, self._behind, items=tuple(items), commas=tuple(commas)), self._behind

    def _object(self, start: int, depth: int) -> tuple[Node, int]:
        members: dict[str, Member] = {}
        commas: list[int] = []
        for offset in self._entries(start, "}", commas):
            member, self._behind = self._member(offset, depth)
            if member.key in members:
                raise NotJson(f"the key {member.key!r} is there twice", offset)
            members[member.key] = member
        return Node("object", start, self._behind, members=tuple(members.values()), commas=tuple(commas)), self._behind

    def _entries(self, start: int, close: str, commas: list[int]) -> Iterator[int]:
        """The offset of each entry; whoever reads an entry leaves in `_behind` where it ended."""
        offset = _skip(self._text, start + 1)
        if self._text.startswith(close, offset):
            self._behind = offset + 1
            return
        while True:
            yield offset
            offset = _skip(self._text, self._behind)
            if self._text.startswith(close, offset):
                self._behind = offset + 1
                return
            if not self._text.startswith(",", offset):
                raise NotJson(f"a comma or {close} is missing", offset)
            commas.append(offset)
            offset = _skip(self._text, offset + 1)
            if self._text.startswith(close, offset):
                raise NotJson("a comma with nothing after it", commas[-1])

    def _member(self, start: int, depth: int) -> tuple[Member, int]:
        if not self._text.startswith('"', start):
            raise NotJson("a key in quotes was expected", start)
        key, end = self._string(start)
        colon = _skip(self._text, end)
        if not self._text.startswith(":", colon):
            raise NotJson(f"a colon is missing after the key {key!r}", colon)
        node, behind = self.value(_skip(self._text, colon + 1), depth + 1)
        return Member(key, start, node), behind
