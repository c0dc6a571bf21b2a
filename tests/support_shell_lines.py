"""Lines of shell made at random: from a grammar of bash, with mistakes put into them, and from loose pieces.

Every word that could be taken for a command is a canary: a program of the sandbox in `support_shell_runs`, which does nothing
but be seen. So whatever a reader overlooks, bash runs and it shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

CANARIES = tuple(f"c{number}" for number in range(10))
"""Those with an odd number fail, so that loops end; the others succeed."""
WORDS = ("a", "b", "v", "w", "x", "y", "E", "EN", "EOF", "F")
"""Arguments, names of variables, ends of documents: canaries too, if bash takes them for commands."""
VARIABLES = {
    "v": "w",
    "U": "a b",
    "T": "c8 w",
    "S": "$(c6)",
    "N": "a[$(c7)]",
    "M": "v",
    "L": "`c9`",
}
"""The environment of each line: what a reader cannot see, and would run if it were evaluated. `x` and `z` are not set."""

MAX_DEPTH = (2, 3, 4, 5, 6, 7)
"""How deep a line may be nested: most are short, and so understood."""
_SYMBOL = re.compile("«(.+?)»")
_DATA = json.loads((Path(__file__).parent / "permissions" / "data" / "shell_grammar.json").read_text())


def _weighted(entries: list[Any]) -> tuple[Any, ...]:
    """`[4, x]` is x four times."""
    return tuple(item for entry in entries for item in ([entry] if isinstance(entry, str) else [entry[1]] * entry[0]))


GRAMMAR: dict[str, tuple[str, ...]] = {symbol: _weighted(entries) for symbol, entries in _DATA["grammar"].items()}
DOCUMENTS: tuple[str, ...] = _weighted(_DATA["documents"])
DELIMITERS: tuple[tuple[str, str], ...] = _weighted(_DATA["delimiters"])
"""As they are written, and as the line that ends the document."""
BODIES: tuple[str, ...] = _weighted(_DATA["bodies"])
MISTAKES: tuple[str, ...] = tuple(_DATA["mistakes"])
PIECES = (*MISTAKES, *(f"{name} " for name in CANARIES), *(f" {word}" for word in WORDS), *tuple(" \n;\"'\"'})`"))


class ShellLines:
    """Makes lines; the same ones for the same seed."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self._deepest = max(MAX_DEPTH)
        self._made: dict[str, Callable[[int], str]] = {"document": self._document}

    def line(self) -> str:
        kind = self.random.random()
        if kind < 0.07:
            return self._pieces()
        self._deepest = self.random.choice(MAX_DEPTH)
        text = self._expanded("«corner»" if self.random.random() < 0.3 else "«line»", 0)
        return text if kind < 0.65 else self._with_mistakes(text)

    def _expanded(self, template: str, depth: int) -> str:
        return _SYMBOL.sub(lambda match: self._made_of(match[1], depth + 1), template)

    def _made_of(self, symbol: str, depth: int) -> str:
        if symbol in self._made:
            return self._made[symbol](depth)
        choices = GRAMMAR[symbol]
        if depth > self._deepest:  # the first ones lead to an end
            choices = choices[:3] if symbol != "parameter" else choices[:6]
        return self._expanded(self.random.choice(choices), depth)

    def _document(self, depth: int) -> str:
        written, end = self.random.choice(DELIMITERS)
        pieces = {
            "c": self._made_of("canary", depth),
            "l": self._made_of("list", depth + 2),
            "w": self._made_of("word", depth + 2),
            "b": self._expanded(self.random.choice(BODIES), depth + 1),
            "d": written,
            "e": end,
        }
        return self.random.choice(DOCUMENTS).format(**pieces)

    def _with_mistakes(self, text: str) -> str:
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            place = self.random.randrange(len(text) + 1)
            length = self.random.choice((0, 0, 0, 1, 1, 2, 5))
            text = text[:place] + self.random.choice((*MISTAKES, "")) + text[place + length :]
        return text

    def _pieces(self) -> str:
        return "".join(self.random.choices(PIECES, k=self.random.randint(2, 12)))
