"""One object of a settings document, read key by key: a wrong type is an error that says where, and no key goes unnoticed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from msgspec import Struct, field

from toolwright.base.jsonc import Document, Node
from toolwright.types import OptionsError

_ARTICLES = {
    "object": "an object",
    "array": "a list",
    "text": "a text",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


class ObjectReader(Struct):
    """Reads `node`, which stands under `path` in the document that `name` names. `notes` collects what was not known."""

    name: str
    document: Document
    node: Node
    path: str = ""
    notes: list[str] = field(default_factory=list)
    guards: tuple[str, ...] = ()
    """Keys that forbid something: a misspelled one must not be skipped."""
    _seen: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, document: Document, name: str, *, guards: tuple[str, ...] = ()) -> ObjectReader:
        reader = cls(name, document, document.root, guards=guards)
        if document.root.kind != "object":
            reader.refuse(document.root, "", f"settings must be an object, not {_ARTICLES[document.root.kind]}")
        return reader

    # what is there

    @property
    def names(self) -> list[str]:
        """The keys, in the order written."""
        return [member.key for member in self.node.members]

    def line(self, key: str) -> int:
        node = self.node.get(key)
        return self.document.line(self.node.start if node is None else node.start)

    def boolean(self, key: str) -> bool | None:
        node = self._take(key, "boolean")
        return None if node is None else bool(node.value)

    def text(self, key: str) -> str | None:
        node = self._take(key, "text")
        return None if node is None else self._clean(node, self._at(key))

    def required_text(self, key: str) -> str:
        found = self.text(key)
        if not found:
            self.refuse(self.node.get(key) or self.node, self._at(key), "a text is needed here")
        return found

    def choice(self, key: str, values: Iterable[str]) -> str | None:
        found = self.text(key)
        if found is not None and found not in values:
            self.refuse(self.node.get(key), self._at(key), f"must be one of {', '.join(values)}; got {found!r}"[:300])
        return found

    def number(self, key: str) -> float | None:
        node = self._take(key, "number")
        if node is not None and node.value < 0:
            self.refuse(node, self._at(key), "must not be negative")
        return None if node is None else float(node.value)

    def whole(self, key: str, *, most: int = 2**53) -> int | None:
        node = self._take(key, "number")
        if node is None:
            return None
        if not isinstance(node.value, int) or not 0 <= node.value <= most:
            self.refuse(node, self._at(key), f"must be a whole number from 0 to {most}")
        return int(node.value)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(text for text, _ in self.lined_texts(key))

    def lined_texts(self, key: str) -> list[tuple[str, int]]:
        """The texts of a list, each with its line."""
        node = self._take(key, "array")
        found = []
        for position, item in enumerate(node.items if node else ()):
            place = f"{self._at(key)}[{position}]"
            self._expect(item, "text", place)
            found.append((self._clean(item, place), self.document.line(item.start)))
        return found

    def text_map(self, key: str) -> dict[str, str]:
        node = self._take(key, "object")
        found: dict[str, str] = {}
        for member in node.members if node else ():
            place = f"{self._at(key)}.{member.key}"
            self._expect(member.node, "text", place)
            found[member.key] = self._clean(member.node, place)
        return found

    def inner(self, key: str, *, guards: tuple[str, ...] = ()) -> ObjectReader | None:
        node = self._take(key, "object")
        return None if node is None else self._below(node, self._at(key), guards)

    def entries(self, key: str) -> list[ObjectReader]:
        """The objects of a list."""
        node = self._take(key, "array")
        found = []
        for position, item in enumerate(node.items if node else ()):
            place = f"{self._at(key)}[{position}]"
            self._expect(item, "object", place)
            found.append(self._below(item, place, ()))
        return found

    def plain(self, key: str) -> Any:
        """The value as it is, whatever it is."""
        node = self.node.get(key)
        self._seen.add(key)
        return None if node is None else node.plain()

    # the end

    def accept(self, *keys: str) -> None:
        """These keys are known and mean nothing here."""
        self._seen.update(keys)

    def finish(self) -> None:
        """Note every key that nobody read; refuse one that looks like a misspelled guard."""
        for member in self.node.members:
            if member.key in self._seen:
                continue
            meant = _near(member.key, self.guards)
            if meant is not None:
                self.refuse(member.node, self._at(member.key), f"unknown key; if {meant!r} is meant, it must not be ignored")
            line = self.document.line(member.start)
            self.notes.append(f"{self.name}:{line}: the key {self._at(member.key)} is not known and has no effect")

    def refuse(self, node: Node | None, place: str, problem: str) -> NoReturn:
        offset = (node or self.node).start
        where = f"{self.name}:{self.document.line(offset)}:{self.document.column(offset)}"
        raise OptionsError(f"{where}: {place}: {problem}" if place else f"{where}: {problem}")

    # inside

    def _take(self, key: str, kind: str) -> Node | None:
        self._seen.add(key)
        node = self.node.get(key)
        if node is None:
            return None
        self._expect(node, kind, self._at(key))
        return node

    def _expect(self, node: Node, kind: str, place: str) -> None:
        if node.kind != kind:
            self.refuse(node, place, f"expected {_ARTICLES[kind]}, got {_ARTICLES[node.kind]}")

    def _clean(self, node: Node, place: str) -> str:
        if "\0" in node.value:
            self.refuse(node, place, "the text holds a NUL character")
        return str(node.value)

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def _below(self, node: Node, path: str, guards: tuple[str, ...]) -> ObjectReader:
        return ObjectReader(self.name, self.document, node, path, self.notes, guards)


def _near(key: str, guards: tuple[str, ...]) -> str | None:
    if not guards:
        return None
    from difflib import get_close_matches  # only for keys that are not known

    found = get_close_matches(key.lower(), [guard.lower() for guard in guards], n=1, cutoff=0.75)
    return next((guard for guard in guards if found and guard.lower() == found[0]), None)
