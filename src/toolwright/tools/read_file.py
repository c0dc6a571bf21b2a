"""What Read does with a file: how much of it is read, who shows it, and what is said about it.

What a file is, its content decides (`media.kinds`), not its name. `READERS` says who shows what is not shown as lines.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from toolwright.tools import notebooks
from toolwright.tools.base import ToolFailure, ToolOutput
from toolwright.tools.file_content import FileViewer, Whole
from toolwright.tools.line_numbers import show_binary, show_lines
from toolwright.tools.line_window import Binary, Page, read_page
from toolwright.tools.media import documents, images
from toolwright.tools.media.kinds import HEAD_BYTES, Kind, misleading_name, shown_kind
from toolwright.tools.notebook_view import show_notebook
from toolwright.tools.portions import DEFAULT_LINES
from toolwright.workspace import FileTooLarge, OpenFile

if TYPE_CHECKING:
    from toolwright.files.read_tracker import SeenFile
    from toolwright.tools.read import ReadInput
    from toolwright.workspace import Workspace

MAX_BASE64_BYTES = 256 * 1024


async def _show_base64(whole: Whole) -> ToolOutput:
    text = base64.b64encode(whole.data).decode()
    return ToolOutput(
        text,
        {
            "type": "base64",
            "file": {
                "filePath": whole.path,
                "base64": text,
                "originalSize": whole.size,
                "size": whole.size,
                "encoding": "base64",
            },
        },
    )


READERS: Mapping[str, FileViewer] = MappingProxyType(
    {
        "base64": FileViewer(_show_base64, MAX_BASE64_BYTES, "Cut a piece out of it with head -c or dd through Bash."),
        "image": FileViewer(images.show_image, images.MAX_FILE_SIZE, "Scale it down with a program through Bash."),
        "pdf": FileViewer(documents.show_pdf, documents.MAX_FILE_SIZE, "Cut pages out of it with a program through Bash."),
        "notebook": FileViewer(show_notebook, notebooks.MAX_FILE_SIZE, notebooks.TOO_LARGE),
    }
)
"""Who shows a file that is not shown as lines."""
READERS_BY_SUFFIX: Mapping[str, str] = MappingProxyType({".ipynb": "notebook"})
"""Texts that are shown by a reader for their name's sake: suffix → key of `READERS`."""


def look(file: OpenFile, parsed: ReadInput, workspace: Workspace) -> tuple[Page | Binary | Whole, SeenFile | None]:
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


def _all_of(file: OpenFile, reader: FileViewer) -> bytes:
    try:
        return file.read_all(reader.limit)
    except FileTooLarge as error:
        raise ToolFailure(f"{error} {reader.advice}") from None


async def show(sight: Page | Binary | Whole) -> ToolOutput:
    match sight:
        case Page():
            return show_lines(sight)
        case Binary():
            return show_binary(sight)
        case Whole():
            return await READERS[sight.reader].show(sight)


def notices(sight: Page | Binary | Whole, parsed: ReadInput) -> list[str]:
    found = []
    kind = sight.kind if isinstance(sight, Whole) else None
    if parsed.encoding != "base64" and not isinstance(sight, Binary) and (misleading := misleading_name(sight.path, kind)):
        found.append(misleading)
    if parsed.pages is not None and (kind is None or kind.reader != "pdf"):
        found.append("pages is for PDFs: it was not used")
    if not parsed.file_path.startswith("/"):
        found.append(f"relative path: this is {sight.path}")
    return found
