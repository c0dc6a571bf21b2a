"""What the words of a command line expand: substitutions, parameters, arithmetic, assigned values, targets of redirections.

Each may hold commands of its own, or evaluate what cannot be seen. Knows the tree's words; whoever reads statements is handed
the commands inside.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from toolwright.permissions.shell.command_line import Assignment, Moves, Redirection, stays_harmless
from toolwright.permissions.shell.evaluations import NUMBERS
from toolwright.permissions.shell.grammar import Tree
from toolwright.permissions.shell.words import Word, word_of, words_of

PLAIN_EXPANSIONS = frozenset((":-", "-", ":+", "+", "?", ":?", "%", "%%", "#", "##", "^", "^^", ",", ",,"))
OPENS_NOTHING = frozenset(("<&", "<<", "<<-", "<<<"))
HERE_DOCUMENTS = frozenset(("<<", "<<-"))

_PLAIN = re.compile(r"[A-Za-z0-9_./,:+@%-]+")
_COMMANDS = (re.compile(r"`|\$[({\[]|[<>]\("), re.compile(r"`|\$[({\[]"))
_UNCLEAR_IN_BACKQUOTES = (re.compile(r"[\\`#]|<<"), re.compile(r"[\\`#'\"]|<<"))
"""Outside of double quotes, and inside."""


class Expansions(ABC):
    """Reads words, and notes what about them cannot be judged beforehand. `moves` says where the shell may be just then."""

    def __init__(self) -> None:
        self.doubts: list[str] = []
        self.opaque: list[str] = []
        self._is_in_quotes = False

    @abstractmethod
    def statements(self, statements: Iterable[Tree], moves: Moves) -> Moves:
        """Read the commands of a substitution."""

    @abstractmethod
    def source(self, node: Tree) -> str:
        """A node as it is written; nothing if that is not known."""

    def words(self, nodes: Iterable[Tree], moves: Moves) -> list[Word]:
        found: list[Word] = []
        for node in nodes:
            self._expansions(node, moves)
            found += words_of(node)
        return found

    def word(self, node: Tree, moves: Moves) -> Word:
        self._expansions(node, moves)
        return word_of(node)

    def _expansions(self, node: Tree, moves: Moves, *, quoted: bool = False) -> None:
        for part in node.get("Parts") or ():
            match part["Type"]:
                case "SglQuoted":
                    continue
                case "Lit":
                    if _is_unread(text := part.get("Value", ""), quoted=quoted):
                        self.opaque.append(f"{text!r} is read in more than one way")
                case "DblQuoted":
                    self._expansions(part, moves, quoted=True)
                case "CmdSubst" | "ProcSubst":
                    self._substitution(part, moves, quoted=quoted)
                case "ParamExp":
                    if _holds_quotes(part, of_any_kind=quoted or self._is_in_quotes):
                        self.opaque.append("quotes inside ${…} inside quotes are read in more than one way")
                    self._parameter(part, moves)
                case "ArithmExp":
                    self.arithmetic(part.get("X"), moves)
                case other:
                    self.opaque.append(f"{other} is not understood")

    def _substitution(self, node: Tree, moves: Moves, *, quoted: bool) -> None:
        if node.get("Backquotes") and _UNCLEAR_IN_BACKQUOTES[quoted].search(self.source(node)[1:-1]):
            self.opaque.append("where the backquotes end is read in more than one way")
        before, self._is_in_quotes = self._is_in_quotes, self._is_in_quotes or quoted
        self.statements(node.get("Stmts") or (), moves)
        self._is_in_quotes = before

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
        self._evaluated(node["Name"]["Value"])
        return Assignment(node["Name"]["Value"], value)

    def _evaluated(self, name: str) -> None:
        if name in NUMBERS:
            self.opaque.append(f"bash may run what {name} is set to")

    def assigned(self, assignments: Iterable[Assignment]) -> None:
        """Variables that stay set for the commands after it."""
        for assignment in assignments:
            self._evaluated(assignment.name)
            if not stays_harmless(assignment.name):
                self.doubts.append(f"setting {assignment.name} may change what later commands do")

    def redirections(self, nodes: Iterable[Tree], moves: Moves) -> tuple[Redirection, ...]:
        found = []
        for node in nodes:
            if node["Op"] in HERE_DOCUMENTS:
                self._document(node, moves)
            target = self.word(node["Word"], moves)
            if node["Op"] in (">&", "<&"):
                self._duplicated(node)
            if node["Op"] not in OPENS_NOTHING and not _is_descriptor(node["Op"], target):
                found.append(Redirection(node["Op"], target))
        return tuple(found)

    def _document(self, node: Tree, moves: Moves) -> None:
        document, delimiter = node.get("Hdoc") or {}, node["Word"]
        if _is_plain(delimiter):  # a document behind quotes is text
            self._expansions(document, moves, quoted=True)
        if not _is_plain_delimiter(delimiter) or _may_end_early(
            self.source({"Pos": delimiter["End"], "End": document["End"]}) if document else "", word_of(delimiter).text
        ):
            self.opaque.append("where the here-document ends is read in more than one way")

    def _duplicated(self, node: Tree) -> None:
        if _is_cut(node["Word"]):
            self.opaque.append(f"bash reads what follows {node['Op']}- as a word of its own")
        elif not _is_plain(node["Word"]):
            self.opaque.append(f"bash expands what follows {node['Op']} twice")


def _is_unread(text: str, *, quoted: bool) -> bool:
    """Whether a piece that was taken for letters holds what another reader takes for a command: `${x:-<(rm a)}`."""
    return _COMMANDS[quoted].search(re.sub(r"\\.", "", text, flags=re.DOTALL)) is not None


def _holds_quotes(node: Any, *, of_any_kind: bool) -> bool:
    """Whether quotes stand in `${…}`, outside of the commands in it: of any kind, or only `$'…'` and `$"…"`.

    bash reads such quotes by rules of its own: in `"${x:-'$(rm a)'}"` they are letters, and the command runs.
    """
    match node:
        case {"Type": "SglQuoted" | "DblQuoted"} if of_any_kind or node.get("Dollar"):
            return True
        case {"Type": "CmdSubst", "Backquotes": True} if of_any_kind:
            return True
        case {"Type": "CmdSubst" | "ProcSubst"}:
            return False
        case {"Type": "Lit", "Value": str(text)}:
            return of_any_kind and re.search(r"[\\'\"`]", text) is not None
        case dict() | list():
            inner = node.values() if isinstance(node, dict) else node
            return any(_holds_quotes(child, of_any_kind=of_any_kind) for child in inner)
    return False


def _is_plain_delimiter(word: Tree) -> bool:
    """`EOF`, `'EOF'`, `"EOF"`: nothing that has to be unquoted first."""
    match word["Parts"]:
        case [{"Type": "DblQuoted" | "SglQuoted", "Dollar": True}]:
            return False
        case [{"Type": "DblQuoted"} as inner]:
            return _is_plain(inner) and _length(word) == _length(inner["Parts"][0]) + 2
        case [{"Type": "SglQuoted", "Value": str(text)}]:
            return _PLAIN.fullmatch(text) is not None
    return _is_plain(word)


def _may_end_early(text: str, delimiter: str) -> bool:
    """To bash a line that ends in a backslash goes on in the next, and both together may be the delimiter."""
    return any(line.endswith("\\") and delimiter.startswith(line.lstrip("\t").rstrip("\\")) for line in text.split("\n"))


def _is_plain(word: Tree) -> bool:
    """One piece of letters that mean nothing to a shell, as it is written: no line ends inside it."""
    match word.get("Parts"):
        case [{"Type": "Lit", "Value": str(text)} as literal]:
            return _PLAIN.fullmatch(text) is not None and _length(literal) == len(text)
    return False


def _length(node: Tree) -> int:
    return int(node["End"]["Offset"] - node["Pos"]["Offset"])


def _is_cut(target: Tree) -> bool:
    """Whether more follows the dash of `>&-`."""
    first, *rest = target["Parts"]
    text = first.get("Value", "") if first["Type"] == "Lit" else ""
    return text.startswith("-") and bool(rest or text != "-")


def _is_descriptor(operator: str, target: Word) -> bool:
    """`>&1`, `>&1-`, `>&-`: no file."""
    return operator == ">&" and re.fullmatch("[0-9]+-?|-", target.text) is not None
