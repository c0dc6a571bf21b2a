"""Read: show a file. Text comes as numbered lines, a window at a time; pictures and documents as what a model can look at.

What a file is, its content decides (`media.kinds`), not its name. `READERS` says who shows what is not shown as lines.
"""

from __future__ import annotations

import base64
import difflib
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from toolwright.tools import notebooks
from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput
from toolwright.tools.media import documents, images
from toolwright.tools.media.kinds import HEAD_BYTES, Kind, misleading_name, shown_kind
from toolwright.tools.notebook_view import show_notebook
from toolwright.tools.numbered import show_binary, show_lines, with_notice
from toolwright.tools.pages import LONGEST_LINE, Binary, Page, read_page
from toolwright.tools.rereading import note_view, still_in_view, unchanged
from toolwright.tools.sights import Reader, Whole
from toolwright.workspace import FileTooLarge, NotRegularFile, OpenFile, WorkspaceError

if TYPE_CHECKING:
    from toolwright.workspace import Workspace
    from toolwright.workspace.ledger import SeenFile

DEFAULT_LINES = 2000
MOST_BASE64_BYTES = 256 * 1024


class ReadInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    offset: Annotated[int, Meta(ge=0, description="Number of the first line to show, from 1")] = 1
    limit: Annotated[int, Meta(ge=1, description="How many lines to show")] = DEFAULT_LINES
    pages: Annotated[str | None, Meta(description='Pages of a PDF, such as "1-5"')] = None
    encoding: Annotated[Literal["utf-8", "base64"], Meta(description="base64: the bytes of a binary file")] = "utf-8"


class Read(BuiltinTool):
    name = "Read"
    description = (
        "Reads a file. Each line of a text comes as its number, a tab and its text. Shows up to "
        f"{DEFAULT_LINES} lines from the start; page through longer files with offset and limit. Lines over {LONGEST_LINE} "
        "characters are cut and marked. Images, notebooks and PDFs are shown (a PDF of more than "
        f"{documents.MOST_PAGES_UNASKED} pages needs pages). Several files can be read at once by several calls in one turn. "
        "A file must be read before it is edited or overwritten. For folders use LS."
    )
    Input = ReadInput
    read_only = True
    field_aliases = MappingProxyType({"path": "file_path"})

    def effects(self, parsed: ReadInput, workspace: Workspace) -> Effects:
        return Effects(reads=workspace.touched_paths(parsed.file_path))

    async def perform(self, parsed: ReadInput, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        try:
            sight, before = await workspace.with_file(parsed.file_path, lambda file: _look(file, parsed, workspace))
        except FileNotFoundError:
            raise ToolFailure(await missing_file(parsed.file_path, workspace)) from None
        except NotRegularFile as error:
            raise ToolFailure(f"{error} {_advice(error.kind)}") from None
        part = (parsed.offset, parsed.limit, parsed.pages, parsed.encoding)
        if still_in_view(sight.path, part, before, context):
            return unchanged(sight.path)
        output = await _show(sight)
        for notice in _notices(sight, parsed):
            output = with_notice(output, notice)
        note_view(sight.path, part, output, context)
        return output


async def _show_base64(whole: Whole) -> ToolOutput:
    text = base64.b64encode(whole.data).decode()
    return ToolOutput(text, {"type": "base64", "file": {"filePath": whole.path, "base64": text, "originalSize": whole.size}})


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "base64": Reader(_show_base64, MOST_BASE64_BYTES, "Cut a piece out of it with head -c or dd through Bash."),
        "image": Reader(images.show_image, images.LARGEST_FILE, "Scale it down with a program through Bash."),
        "pdf": Reader(documents.show_pdf, documents.LARGEST_FILE, "Cut pages out of it with a program through Bash."),
        "notebook": Reader(show_notebook, notebooks.LARGEST_FILE, notebooks.TOO_LARGE),
    }
)
"""Who shows a file that is not shown as lines."""
READERS_BY_SUFFIX: Mapping[str, str] = MappingProxyType({".ipynb": "notebook"})
"""Texts that are shown by a reader for their name's sake: suffix → key of `READERS`."""


def _look(file: OpenFile, parsed: ReadInput, workspace: Workspace) -> tuple[Page | Binary | Whole, SeenFile | None]:
    """Read as much as is shown, and remember which version was seen; with it, the version seen before."""
    head = os.pread(file.descriptor, HEAD_BYTES, 0)
    kind = shown_kind(head)
    reader = _reader(file.path, kind, parsed)
    sight: Page | Binary | Whole
    if reader is None:
        sight = read_page(file, max(1, parsed.offset), parsed.limit)
    else:
        sight = Whole(file.path, _all_of(file, READERS[reader]), reader, kind, parsed.pages)
    before = workspace.reads.version(file.path)
    workspace.reads.note(file.path, file.status, sight.data)
    return sight, before


def _reader(path: str, kind: Kind | None, parsed: ReadInput) -> str | None:
    if parsed.encoding == "base64":
        return "base64"
    if kind is not None or parsed.offset > 1 or parsed.limit != DEFAULT_LINES:  # who asks for lines gets lines
        return kind.reader if kind is not None else None
    return READERS_BY_SUFFIX.get(os.path.splitext(path)[1].lower())


def _all_of(file: OpenFile, reader: Reader) -> bytes:
    try:
        return file.read_all(reader.limit)
    except FileTooLarge as error:
        raise ToolFailure(f"{error} {reader.advice}") from None


async def _show(sight: Page | Binary | Whole) -> ToolOutput:
    match sight:
        case Page():
            return show_lines(sight)
        case Binary():
            return show_binary(sight)
        case Whole():
            return await READERS[sight.reader].show(sight)


def _notices(sight: Page | Binary | Whole, parsed: ReadInput) -> list[str]:
    notices = []
    kind = sight.kind if isinstance(sight, Whole) else None
    if parsed.encoding != "base64" and not isinstance(sight, Binary) and (misleading := misleading_name(sight.path, kind)):
        notices.append(misleading)
    if parsed.pages is not None and (kind is None or kind.reader != "pdf"):
        notices.append("pages is for PDFs: it was not used")
    if not parsed.file_path.startswith("/"):
        notices.append(f"relative path: this is {sight.path}")
    return notices


def _advice(kind: str) -> str:
    return "List it with Glob or LS." if kind == "directory" else "Reading it could wait for ever, so it is refused."


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
