"""Small changes to the text of a JSON document: everything that is not changed stays as it was written, comments too.

Each function takes a text and gives the new one. Entries are found by what they say, not by where they stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from toolwright.base.jsonc import Document, Node, parse_document

_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*|(?:/\*[^\n]*?\*/[ \t]*)*)")


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text with `value` at `path`, whose objects are made where they are missing."""
    document = parse_document(text)
    node, missing = _deepest(document.root, path)
    if not missing:
        return text[: node.start] + json.dumps(value, ensure_ascii=False) + text[node.end :]
    for key in reversed(missing[1:]):
        value = {key: value}
    return _append(document, node, value, key=missing[0])


def add_texts(text: str, path: Sequence[str], texts: Sequence[str]) -> str:
    """The text with those of `texts` in the list at `path` that were not in it."""
    node = find(text, path)
    if node is None:
        return set_value(text, path, list(dict.fromkeys(texts))) if texts else text
    there = {item.value for item in node.items}
    for each in dict.fromkeys(texts):
        if each not in there:
            document = parse_document(text)
            list_node, _ = _deepest(document.root, path)
            text = _append(document, list_node, each)
    return text


def remove_texts(text: str, path: Sequence[str], texts: Collection[str]) -> str:
    """The text without these in the list at `path`."""
    while True:
        node = find(text, path)
        position = next((at for at, item in enumerate(node.items) if item.value in texts), None) if node else None
        if node is None or position is None:
            return text
        text = _without_item(text, node, position)


def find(text: str, path: Sequence[str]) -> Node | None:
    node, missing = _deepest(parse_document(text).root, path)
    return None if missing else node


def _deepest(node: Node, path: Sequence[str]) -> tuple[Node, Sequence[str]]:
    """The last node of `path` that is there, and the keys that are not."""
    for position, key in enumerate(path):
        inner = node.get(key)
        if inner is None:
            return node, path[position:]
        node = inner
    return node, ()


def _append(document: Document, container: Node, value: Any, *, key: str | None = None) -> str:
    text = document.text
    entries = [member.start for member in container.members] or [item.start for item in container.items]
    ends = [member.node.end for member in container.members] or [item.end for item in container.items]
    spread = "\n" in text[container.start : entries[-1] if entries else container.end] or (not entries and "\n" in text)
    indent = _indent_at(text, entries[-1]) if entries and spread else _indent_at(text, container.start) + _unit(text)
    written = _written(value, key, indent if spread else None, _unit(text))
    if not entries:
        return _into_empty(text, container, written, indent if spread else None)
    end = ends[-1]
    if not spread:
        return f"{text[:end]}, {written}{text[end:]}"
    rest = _REST_OF_LINE.match(text, end)
    stop = rest.end() if rest and text[rest.end() : rest.end() + 1] in ("\n", "\r") else end
    return f"{text[:end]},{text[end:stop]}\n{indent}{written}{text[stop:]}"


def _into_empty(text: str, container: Node, written: str, indent: str | None) -> str:
    inside = text[container.start + 1 : container.end - 1]
    if indent is None:
        return f"{text[: container.start + 1]}{written}{inside}{text[container.end - 1 :]}"
    kept = inside.rstrip()
    outer = _indent_at(text, container.start)
    return f"{text[: container.start + 1]}{kept}\n{indent}{written}\n{outer}{text[container.end - 1 :]}"


def _written(value: Any, key: str | None, indent: str | None, unit: str) -> str:
    shown = json.dumps(value, ensure_ascii=False, indent=None if indent is None else unit)
    shown = shown if indent is None else shown.replace("\n", f"\n{indent}")
    return shown if key is None else f"{json.dumps(key, ensure_ascii=False)}: {shown}"


def _without_item(text: str, node: Node, position: int) -> str:
    start, end = node.items[position].start, node.items[position].end
    if position < len(node.commas):
        comma = node.commas[position]
        text = text[:start] + text[end:comma] + text[comma + 1 :]
    else:
        text = text[:start] + text[end:]
        if position:
            comma = node.commas[position - 1]
            text = text[:comma] + text[comma + 1 :]
            start -= 1
    return _without_blank(text, start)


def _without_blank(text: str, at: int) -> str:
    """Take away the line at `at` if nothing is left on it, or the spaces before what follows."""
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    if end >= 0 and begin and not text[begin:end].strip():
        return text[:begin] + text[end + 1 :]
    stripped = text[at:].lstrip(" \t") if text[at - 1 : at] in ("[", " ") else text[at:]
    head = text[:at].rstrip(" \t") if stripped.startswith("]") and not text[begin:at].isspace() else text[:at]
    return head + stripped


def _indent_at(text: str, offset: int) -> str:
    begin = text.rfind("\n", 0, offset) + 1
    found = re.match(r"[ \t]*", text[begin:offset])
    return found[0] if found else ""


def _unit(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
