"""A page of a text file as the numbered lines a model reads, and a file that is no text in words."""

from __future__ import annotations

from typing import Any

from toolwright.tools.base import ToolOutput
from toolwright.tools.line_window import Binary, Page
from toolwright.tools.media.kinds import describe_binary

MAX_CHARACTERS = 256 * 1024
_numbered = "%d\t%s".__mod__


def show_lines(page: Page) -> ToolOutput:
    lines = page.lines
    if not lines:
        return ToolOutput(f"[{_nothing_to_show(page)}]", _structured(page, ""))
    text = "\n".join(map(_numbered, enumerate(lines, page.first)))
    if len(text) > MAX_CHARACTERS:
        lines = lines[: max(1, text.count("\n", 0, MAX_CHARACTERS))]
        text = "\n".join(map(_numbered, enumerate(lines, page.first)))
    output = ToolOutput(text, _structured(page, "\n".join(lines), len(lines)))
    last = page.first + len(lines) - 1
    if page.total == last and page.first == 1:
        return output
    return with_notice(output, _where(page, last))


def show_binary(page: Binary) -> ToolOutput:
    kind = describe_binary(page.sample)
    first = page.sample[:32].hex(" ")
    text = (
        f"[{page.path} is no text but {kind}: {page.size:,} bytes, beginning {first}. "
        'Its bytes can be had with encoding="base64", or look at it with a program through Bash]'
    )
    return ToolOutput(text, {"type": "binary", "file": {"filePath": page.path, "size": page.size, "kind": kind}})


def with_notice(output: ToolOutput, notice: str) -> ToolOutput:
    """`output` with a remark of ours behind it, apart from what the file holds."""
    if isinstance(output.content, str):
        return ToolOutput(f"{output.content}\n\n[{notice}]", output.structured, output.is_error)
    content = [*output.content, {"type": "text", "text": f"[{notice}]"}]
    return ToolOutput(content, output.structured, output.is_error)


def _where(page: Page, last: int) -> str:
    if page.total is None:
        return f"lines {page.first}-{last} of a file of {page.size:,} bytes; it goes on: continue with offset={last + 1}"
    more = f"; continue with offset={last + 1}" if last < page.total else ""
    return f"lines {page.first}-{last} of {page.total}{more}"


def _nothing_to_show(page: Page) -> str:
    if page.size == 0:
        return f"{page.path} exists and is empty"
    return f"{page.path} has {page.total} lines: offset {page.first} is past its end. Use an offset from 1 to {page.total}"


def _structured(page: Page, content: str, lines: int = 0) -> dict[str, Any]:
    file = {
        "filePath": page.path,
        "content": content,
        "numLines": lines,
        "startLine": page.first,
        "totalLines": page.total,
        "size": page.size,
        "encoding": page.format.encoding,
    }
    return {"type": "text", "file": file}
