"""Change a JSON text where it must change and keep every other byte: items of arrays and objects with their positions.

A new value is written in the style the text already has: its indentation, line ends, separators, escapes. Knows no notebooks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

_SPACE = re.compile(r"[ \t\r\n]*")
_decode: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(strict=False).raw_decode


class BadJson(Exception):
    """The text is no JSON; says where."""


class Item(Struct, frozen=True):
    """One item of an array, or one member of an object with its key. `start` is where the key begins, if there is one."""

    key: str
    start: int
    value_start: int
    end: int
    value: Any


class Container(Struct, frozen=True):
    """An array or object in a text, brackets included."""

    text: str
    start: int
    end: int
    items: list[Item]

    @property
    def lead(self) -> str:
        """The space before the first item."""
        return self.text[self.start + 1 : self.items[0].start] if self.items else ""

    @property
    def tail(self) -> str:
        """The space after the last item."""
        return self.text[self.items[-1].end : self.end - 1] if self.items else ""

    @property
    def separator(self) -> str:
        """What stands between two items."""
        if len(self.items) > 1:
            return self.text[self.items[0].end : self.items[1].start]
        return f",{self.lead}"

    def get(self, key: str) -> Item | None:
        """The member with this key; of several, the last, as every JSON reader takes it."""
        return next((item for item in reversed(self.items) if item.key == key), None)


def read_value(text: str, position: int = 0) -> tuple[Any, int]:
    """The value that begins at `position`, and where it ends."""
    try:
        return _decode(text, position)
    except RecursionError:
        raise BadJson("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise BadJson(str(error)) from None
    except ValueError as error:  # a number that Python does not take
        raise BadJson(str(error)) from None


def read_container(text: str, position: int = 0, *, nested: tuple[str, ...] = ()) -> Container:
    """The array or object that begins at `position`. A member named in `nested` is a `Container` itself, if it can be one."""
    closing = "}" if text[position] == "{" else "]"
    items: list[Item] = []
    here = after_space(text, position + 1)
    while text[here : here + 1] != closing:
        if items:
            here = after_space(text, _expect(text, here, ","))
        item = _read_item(text, here, in_object=closing == "}", nested=nested)
        items.append(item)
        here = after_space(text, item.end)
    return Container(text, position, here + 1, items)


def after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _read_item(text: str, start: int, *, in_object: bool, nested: tuple[str, ...]) -> Item:
    key, value_start = "", start
    if in_object:
        if text[start : start + 1] != '"':
            raise BadJson(str(json.JSONDecodeError("Expecting property name enclosed in double quotes", text, start)))
        key, end = read_value(text, start)
        value_start = after_space(text, _expect(text, after_space(text, end), ":"))
    if key in nested and text[value_start : value_start + 1] in ("[", "{"):
        inside = read_container(text, value_start)
        return Item(key, start, value_start, inside.end, inside)
    value, end = read_value(text, value_start)
    return Item(key, start, value_start, end, value)


def _expect(text: str, position: int, character: str) -> int:
    if text[position : position + 1] != character:
        raise BadJson(str(json.JSONDecodeError(f"Expecting '{character}' delimiter", text, position)))
    return position + 1


# changing


class Style(Struct, frozen=True):
    """How a text is laid out. Without `unit` (the indentation of one level) it is all on one line."""

    unit: str | None
    newline: str
    colon: str
    comma: str
    ascii: bool

    def write(self, value: Any, *, indentation: str = "") -> str:
        """`value` as JSON, for a place that stands `indentation` deep."""
        text = json.dumps(value, indent=self.unit, separators=(self.comma, self.colon), ensure_ascii=self.ascii)
        return text.replace("\n", self.newline + indentation)


def style_of(whole: Container) -> Style:
    """The style of a text, told from its outermost object."""
    text, lead = whole.text, whole.lead
    first = whole.items[0] if whole.items else None
    colon = ":" + text[first.start : first.value_start].partition(":")[2] if first is not None else ": "
    unit = lead.rpartition("\n")[2] if "\n" in lead else None
    return Style(
        unit=unit,
        newline="\r\n" if "\r\n" in lead else "\n",
        colon=colon if colon.strip() == ":" else ": ",
        comma="," if unit is not None or whole.separator == "," else ", ",
        ascii=text.isascii() and "\\u" in text,
    )


def indentation_of(space: str) -> str:
    """How deep what follows this space stands."""
    return space.rpartition("\n")[2] if "\n" in space else ""


def replaced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def without_item(array: Container, position: int) -> str:
    """The text without one item of `array` and the comma that belonged to it."""
    items = array.items
    if len(items) == 1:
        return replaced(array.text, array.start + 1, array.end - 1, "")
    if position + 1 < len(items):
        return replaced(array.text, items[position].start, items[position + 1].start, "")
    return replaced(array.text, items[position - 1].end, items[position].end, "")


def with_item(array: Container, position: int, item: str, *, style: Style, indentation: str) -> str:
    """The text with `item` put at `position` of `array`, whose brackets stand `indentation` deep."""
    if not array.items:
        lead, tail = ("", "") if style.unit is None else (style.newline + indentation + style.unit, style.newline + indentation)
        return replaced(array.text, array.start + 1, array.end - 1, f"{lead}{item}{tail}")
    if position == 0:
        first = array.items[0].start
        return replaced(array.text, first, first, item + array.separator)
    before = array.items[position - 1].end
    return replaced(array.text, before, before, array.separator + item)


def with_members(whole: Container, changes: dict[str, Any], *, style: Style) -> str:
    """An object's own text with members set to new values, added, or removed (where the value is ...).

    The texts of all other members stay as they are.
    """
    depth = indentation_of(whole.lead)
    texts = {item.key: whole.text[item.start : item.end] for item in whole.items}
    for key, value in changes.items():
        if value is ...:
            texts.pop(key, None)
        else:
            texts[key] = f"{style.write(key)}{style.colon}{style.write(value, indentation=depth)}"
    separator = whole.separator if whole.items else style.comma
    return "{" + whole.lead + separator.join(texts.values()) + whole.tail + "}"
