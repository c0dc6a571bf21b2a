"""Finding a tool by words: names, descriptions and parameters in a full-text index. Knows texts only.

The index is SQLite's own (FTS5), in memory, made when the first search asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

_WEIGHTS = "12.0, 4.0, 6.0, 1.0"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_MAX_QUERY_LENGTH = 1000
_MAX_WORDS = 40
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by can could do does for from get give has have how i if in into is it its let like me my "
        "need of on one or our please should so some that the their them then there these this those to tool tools use using "
        "want was what when where which who will with would you your",
    )
)
"""Words that say nothing about what a tool does; `get` is in so many names that it says nothing either."""


class IndexedTool(Struct, frozen=True):
    """What is known of one tool."""

    name: str
    """As it is called."""
    own_name: str
    """As its server names it."""
    server: str
    description: str
    parameters: str = ""


class ToolIndex:
    """An index over the entries it is made from."""

    def __init__(self, entries: Iterable[IndexedTool]) -> None:
        import sqlite3  # only for sessions with so many tools that they are searched

        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        tokens = "porter unicode61 separators '_'"
        self._database.execute(
            f'CREATE VIRTUAL TABLE tools USING fts5(name, server, description, parameters, full UNINDEXED, tokenize="{tokens}")'
        )
        self._database.executemany("INSERT INTO tools VALUES (?, ?, ?, ?, ?)", map(_row, entries))

    def search(self, query: str, most: int) -> list[str]:
        """The names of the tools that fit best, the best first."""
        words = query_words(query)
        if not words:
            return []
        wanted = " OR ".join(f'"{word}"*' if len(word) > 3 else f'"{word}"' for word in words)
        select = f"SELECT full FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, {_WEIGHTS}), length(full), full LIMIT ?"
        return [row[0] for row in self._database.execute(select, (wanted, most))]

    def close(self) -> None:
        self._database.close()


def query_words(query: str) -> list[str]:
    """The words to look for. If all of them say little, they are all there is."""
    words = [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", query[:_MAX_QUERY_LENGTH]))]
    telling = [word for word in words if word not in _EMPTY_WORDS]
    return list(dict.fromkeys(telling or words))[:_MAX_WORDS]


def parameter_words(schema: dict[str, Any]) -> str:
    """The names and descriptions of a schema's parameters."""
    properties = schema.get("properties")
    inner = properties.items() if isinstance(properties, dict) else ()
    words = [f"{_split(name)} {_said(value)}" for name, value in inner]
    return " ".join(words)[:4000]


def _said(value: Any) -> str:
    said = value.get("description") if isinstance(value, dict) else None
    return said[:300] if isinstance(said, str) else ""


def _row(entry: IndexedTool) -> tuple[str, str, str, str, str]:
    return _split(entry.own_name), _split(entry.server), entry.description, entry.parameters, entry.name


def _split(name: str) -> str:
    """`createIssue` holds two words, as `create_issue` does."""
    return _CAMEL.sub(" ", name)
