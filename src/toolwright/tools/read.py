"""Read: show a text file with line numbers, a window at a time."""

from __future__ import annotations

import difflib
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput
from toolwright.tools.pages import LONGEST_LINE, Binary, Page, read_page
from toolwright.workspace import NotRegularFile, OpenFile, WorkspaceError

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

DEFAULT_LINES = 2000
MOST_CHARACTERS = 256 * 1024
MOST_BASE64_BYTES = 256 * 1024
_numbered = "%d\t%s".__mod__
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (or a format built on it)"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "ELF program"),
    (b"SQLite format 3\0", "SQLite database"),
)


class ReadInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    offset: Annotated[int, Meta(ge=0, description="Number of the first line to show, from 1")] = 1
    limit: Annotated[int, Meta(ge=1, description="How many lines to show")] = DEFAULT_LINES
    encoding: Annotated[Literal["utf-8", "base64"], Meta(description="base64: the bytes of a binary file")] = "utf-8"


class Read(BuiltinTool):
    name = "Read"
    description = (
        "Reads a text file. Each line comes as its number, a tab and its text. Shows up to "
        f"{DEFAULT_LINES} lines from the start; page through longer files with offset and limit. Lines over {LONGEST_LINE} "
        "characters are cut and marked. Several files can be read at once by several calls in one turn. "
        "A file must be read before it is edited or overwritten. For folders use Glob or ls."
    )
    Input = ReadInput
    read_only = True
    field_aliases = MappingProxyType({"path": "file_path"})

    def effects(self, parsed: ReadInput, workspace: Workspace) -> Effects:
        return Effects(reads=workspace.touched_paths(parsed.file_path))

    async def perform(self, parsed: ReadInput, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        try:
            if parsed.encoding == "base64":
                return await _read_base64(parsed, workspace)
            page = await workspace.with_file(parsed.file_path, lambda file: _read(file, parsed, workspace))
        except FileNotFoundError:
            raise ToolFailure(await missing_file(parsed.file_path, workspace)) from None
        except NotRegularFile as error:
            raise ToolFailure(f"{error} {_advice(error.kind)}") from None
        shown = _show_binary(page) if isinstance(page, Binary) else _show(page)
        return shown if parsed.file_path.startswith("/") else _with_notice(shown, f"relative path: this is {page.path}")


def _read(file: OpenFile, parsed: ReadInput, workspace: Workspace) -> Page | Binary:
    page = read_page(file, max(1, parsed.offset), parsed.limit)
    workspace.reads.note(file.path, file.status, page.data)
    return page


def _show(page: Page) -> ToolOutput:
    lines = page.lines
    if not lines:
        return ToolOutput(f"[{_nothing_to_show(page)}]", _structured(page, ""))
    text = "\n".join(map(_numbered, enumerate(lines, page.first)))
    if len(text) > MOST_CHARACTERS:
        lines = lines[: max(1, text.count("\n", 0, MOST_CHARACTERS))]
        text = "\n".join(map(_numbered, enumerate(lines, page.first)))
    output = ToolOutput(text, _structured(page, "\n".join(lines), len(lines)))
    last = page.first + len(lines) - 1
    if page.total == last and page.first == 1:
        return output
    return _with_notice(output, _where(page, last))


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
    }
    return {"type": "text", "file": file}


def _with_notice(output: ToolOutput, notice: str) -> ToolOutput:
    return ToolOutput(f"{output.content}\n\n[{notice}]", output.structured, output.is_error)


def _show_binary(page: Binary) -> ToolOutput:
    kind = next((kind for signature, kind in _SIGNATURES if page.sample.startswith(signature)), "binary data")
    first = page.sample[:32].hex(" ")
    text = (
        f"[{page.path} is no text but {kind}: {page.size:,} bytes, beginning {first}. "
        'Its bytes can be had with encoding="base64", or look at it with a program through Bash]'
    )
    return ToolOutput(text, {"type": "binary", "file": {"filePath": page.path, "size": page.size, "kind": kind}})


async def _read_base64(parsed: ReadInput, workspace: Workspace) -> ToolOutput:
    import base64

    def read(file: OpenFile) -> tuple[str, bytes]:
        data = file.read_all(MOST_BASE64_BYTES)
        workspace.reads.note(file.path, file.status, data)
        return file.path, data

    path, data = await workspace.with_file(parsed.file_path, read)
    text = base64.b64encode(data).decode()
    return ToolOutput(text, {"type": "base64", "file": {"filePath": path, "base64": text, "originalSize": len(data)}})


def _advice(kind: str) -> str:
    return (
        "List it with Glob or with ls through Bash."
        if kind == "directory"
        else "Reading it could wait for ever, so it is refused."
    )


async def missing_file(path: str, workspace: Workspace) -> str:
    """What to tell a model that asked for a file that is not there."""
    folder, name = os.path.split(workspace.absolute(path).rstrip("/"))
    text = f"File does not exist: {path}. Note: your current working directory is {workspace.cwd}."
    try:
        names = await workspace.list_names(folder)
    except (OSError, WorkspaceError):
        return f"{text} Its folder {folder} does not exist either."
    near = difflib.get_close_matches(name, names[:5000], n=3, cutoff=0.6) or [n for n in names if n.lower() == name.lower()]
    return f"{text} Did you mean {' or '.join(os.path.join(folder, n) for n in near)}?" if near else text
