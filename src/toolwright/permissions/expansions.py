"""What the words of a command line expand: substitutions, parameters, arithmetic, assigned values, targets of redirections.

Each may hold commands of its own, or evaluate what cannot be seen. Knows the tree's words; whoever reads statements is handed
the commands inside.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from .grammar import Tree
from .lines import Assignment, Moves, Redirection, stays_harmless
from .words import Word, word_of, words_of

PLAIN_EXPANSIONS = frozenset((":-", "-", ":+", "+", "?", ":?", "%", "%%", "#", "##", "^", "^^", ",", ",,"))
OPENS_NOTHING = frozenset(("<&", "<<", "<<-", "<<<"))


class Expansions(ABC):
    """Reads words, and notes what about them cannot be judged beforehand. `moves` says where the shell may be just then."""

    def __init__(self) -> None:
        self.doubts: list[str] = []
        self.opaque: list[str] = []

    @abstractmethod
    def statements(self, statements: Iterable[Tree], moves: Moves) -> Moves:
        """Read the commands of a substitution."""

    def words(self, nodes: Iterable[Tree], moves: Moves) -> list[Word]:
        found: list[Word] = []
        for node in nodes:
            self._expansions(node, moves)
            found += words_of(node)
        return found

    def word(self, node: Tree, moves: Moves) -> Word:
        self._expansions(node, moves)
        return word_of(node)

    def _expansions(self, node: Tree, moves: Moves) -> None:
        for part in node.get("Parts") or ():
            match part["Type"]:
                case "Lit" | "SglQuoted":
                    continue
                case "DblQuoted":
                    self._expansions(part, moves)
                case "CmdSubst" | "ProcSubst":
                    self.statements(part.get("Stmts") or (), moves)
                case "ParamExp":
                    self._parameter(part, moves)
                case "ArithmExp":
                    self.arithmetic(part.get("X"), moves)
                case other:
                    self.opaque.append(f"{other} is not understood")

    def _parameter(self, node: Tree, moves: Moves) -> None:
        expansion = node.get("Exp") or {}
        if node.get("Excl"):
            self.opaque.append("${!name} evaluates what a variable holds")
        if expansion.get("Op") and expansion["Op"] not in PLAIN_EXPANSIONS:
            self.opaque.append(f"${{name{expansion['Op']}…}} changes or evaluates a variable")
        if expansion.get("Word"):
            self.word(expansion["Word"], moves)
        if node.get("Index"):
            self.arithmetic(node["Index"], moves, free=("@", "*"))
        for piece in (node.get("Slice") or {}).values():
            self.arithmetic(piece, moves)
        for piece in (node.get("Repl") or {}).values():
            if isinstance(piece, dict) and "Parts" in piece:
                self.word(piece, moves)

    def arithmetic(self, node: Any, moves: Moves, free: tuple[str, ...] = ()) -> None:
        """Arithmetic runs what variables hold (`a[$(…)]`), so only numbers are understood."""
        if not isinstance(node, dict):
            return
        if "Parts" in node:
            word = self.word(node, moves)
            if word.text not in free and not (word.known and word.text.isdecimal()):
                self.opaque.append("arithmetic evaluates what variables hold")
        for name in ("X", "Y"):
            self.arithmetic(node.get(name), moves)

    def assignments(self, nodes: Iterable[Tree], moves: Moves) -> tuple[Assignment, ...]:
        return tuple(self._assignment(node, moves) for node in nodes if node.get("Name"))

    def _assignment(self, node: Tree, moves: Moves) -> Assignment:
        if node.get("Index"):
            self.arithmetic(node["Index"], moves)
        for element in (node.get("Array") or {}).get("Elems") or ():
            if element.get("Index"):
                self.arithmetic(element["Index"], moves)
            if element.get("Value"):
                self.word(element["Value"], moves)
        value = self.word(node["Value"], moves) if node.get("Value") else None
        return Assignment(node["Name"]["Value"], value)

    def assigned(self, assignments: Iterable[Assignment]) -> None:
        """Variables that stay set for the commands after it."""
        for assignment in assignments:
            if not stays_harmless(assignment.name):
                self.doubts.append(f"setting {assignment.name} may change what later commands do")

    def redirections(self, nodes: Iterable[Tree], moves: Moves) -> tuple[Redirection, ...]:
        found = []
        for node in nodes:
            self._expansions(node.get("Hdoc") or {}, moves)
            target = self.word(node["Word"], moves)
            if node["Op"] in (">&", "<&") and _is_cut(node["Word"]):
                self.opaque.append(f"bash reads what follows {node['Op']}- as a word of its own")
            if node["Op"] not in OPENS_NOTHING and not _is_descriptor(node["Op"], target):
                found.append(Redirection(node["Op"], target))
        return tuple(found)


def _is_cut(target: Tree) -> bool:
    """Whether more follows the dash of `>&-`."""
    first, *rest = target["Parts"]
    return first["Type"] == "Lit" and first["Value"].startswith("-") and bool(rest or first["Value"] != "-")


def _is_descriptor(operator: str, target: Word) -> bool:
    """`>&1`, `>&1-`, `>&-`: no file."""
    return operator == ">&" and re.fullmatch("[0-9]+-?|-", target.text) is not None
