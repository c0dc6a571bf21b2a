"""What a memory file's Markdown holds besides prose: `@path` imports, comments, and the `paths` of a rule. Opens nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_IMPORT = re.compile(r"(?<!\S)@((?:\\ |[^\s`\\])+)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_AT_THE_END = ".,;:!?)]\"'"


def imports_of(text: str) -> list[str]:
    """The paths that the text imports, in order, each once; not those in code or in comments."""
    found: dict[str, None] = {}
    for line in _lines_of_prose(prose_of(text)):
        for match in _IMPORT.finditer(_CODE_SPAN.sub(" ", line)):
            named = match[1].replace("\\ ", " ").rstrip(_AT_THE_END)
            if named:
                found[named] = None
    return list(found)


def prose_of(text: str) -> str:
    """The text without comments; what stands in code stays as it is."""
    parts: list[str] = []
    for is_code, block in _blocks(text):
        parts.append(block if is_code else _COMMENT.sub("", block))
    return "".join(parts)


def rule_paths(text: str) -> tuple[list[str], str]:
    """The `paths` of the front matter, and the text after it. Without `paths` a rule is about every file."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return [], text
    return _listed(match[1].split("\n")), text[match.end() :]


def _listed(lines: list[str]) -> list[str]:
    """`paths: a, b`, `paths: [a, b]` or a list of lines below it."""
    for position, line in enumerate(lines):
        key, colon, value = line.partition(":")
        if key.strip() != "paths" or not colon:
            continue
        if value.strip():
            return [clean for each in value.strip().strip("[]").split(",") if (clean := _unquoted(each))]
        return list(_entries(lines[position + 1 :]))
    return []


def _entries(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip().startswith("- "):
            return
        yield _unquoted(line.strip()[2:])


def _unquoted(text: str) -> str:
    return text.strip().strip("\"'")


def _lines_of_prose(text: str) -> Iterator[str]:
    for is_code, block in _blocks(text):
        if not is_code:
            yield from block.splitlines()


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces: fenced code, and the rest. A fence that is never closed reaches to the end."""
    fence, gathered = "", ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        opens, closes = match is not None and not fence, match is not None and bool(fence) and match[1].startswith(fence)
        if opens:
            yield False, gathered
            gathered, fence = line, match[1] if match else ""
        elif closes:
            yield True, gathered + line
            gathered, fence = "", ""
        else:
            gathered += line
    yield bool(fence), gathered
