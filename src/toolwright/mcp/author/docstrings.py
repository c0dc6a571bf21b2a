"""Reads a docstring: the prose before its sections, and what it says of each parameter.

Knows Google (`Args:`), NumPy (`Parameters` underlined) and Sphinx (`:param x:`) conventions, as far as a small parser goes;
what it does not recognise is left out of the descriptions, never an error.
"""

from __future__ import annotations

import re
from inspect import cleandoc

from msgspec import Struct, field

_PARAMETER_TITLES = {
    "args",
    "arguments",
    "parameters",
    "params",
    "attributes",
    "keyword args",
    "keyword arguments",
    "other parameters",
}
_OTHER_TITLES = {
    "returns",
    "return",
    "raises",
    "yields",
    "examples",
    "example",
    "notes",
    "note",
    "see also",
    "warns",
    "warnings",
}
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ITEM = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_SPHINX_ITEM = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_SPHINX_FIELD = re.compile(r":\w+(?:\s[^:]*)?:")


class Docstring(Struct):
    """`summary`: the text before the first section. `parameters`: name → description."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def parse_docstring(text: str | None) -> Docstring:
    lines = cleandoc(text).splitlines() if text else []
    start = next((index for index in range(len(lines)) if _section_at(lines, index)), len(lines))
    parsed = Docstring("\n".join(lines[:start]).strip())
    while start < len(lines):
        end = next((index for index in range(start + 1, len(lines)) if _section_at(lines, index)), len(lines))
        parsed.parameters.update(_parameters_in(lines[start:end]))
        start = end
    return parsed


def _section_at(lines: list[str], index: int) -> str:
    """The style of the section that starts at this line; empty if none does."""
    line = lines[index]
    if _SPHINX_FIELD.match(line):
        return "sphinx"
    title = line.rstrip().lower()
    if title.endswith(":") and title[:-1] in _PARAMETER_TITLES | _OTHER_TITLES:
        return "google"
    underline = lines[index + 1].strip() if index + 1 < len(lines) else ""
    is_title = title in _PARAMETER_TITLES | _OTHER_TITLES
    return "numpy" if is_title and len(underline) >= 3 and set(underline) == {"-"} else ""


def _parameters_in(section: list[str]) -> dict[str, str]:
    style = _section_at(section, 0)
    title = section[0].strip().lower().rstrip(":")
    if style == "sphinx":
        return _items(section, _SPHINX_ITEM, indent=0)
    if title not in _PARAMETER_TITLES:
        return {}
    body = section[1:] if style == "google" else section[2:]
    indent = _indent(next((line for line in body if line.strip()), ""))
    return _items(body, _GOOGLE_ITEM if style == "google" else _NUMPY_ITEM, indent=indent)


def _items(lines: list[str], pattern: re.Pattern[str], *, indent: int) -> dict[str, str]:
    """Items stand at `indent`; deeper lines continue the one above."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in lines:
        item = pattern.match(line.strip()) if _indent(line) == indent and line.strip() else None
        if item:
            names = [name.strip() for name in item[1].split(",")]
            words = item[2].strip() if pattern.groups > 1 else ""
            found.update(dict.fromkeys(names, words))
        elif _indent(line) > indent:
            found.update({name: f"{found[name]} {line.strip()}".strip() for name in names})
        elif line.strip():
            names = []
    return {name: words for name, words in found.items() if words}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
