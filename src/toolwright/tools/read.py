"""Read: show a file. Text comes as numbered lines, a window at a time; pictures and documents as what a model can look at.

How that is done is in `looking`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput, reading
from toolwright.tools.not_found import missing_file
from toolwright.tools.portions import DEFAULT_LINES, MAX_LINE_LENGTH, MAX_PAGES_UNASKED
from toolwright.workspace import NotRegularFile

if TYPE_CHECKING:
    from toolwright.workspace import Workspace


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
        f"{DEFAULT_LINES} lines from the start; page through longer files with offset and limit. Lines over {MAX_LINE_LENGTH} "
        "characters are cut and marked. Images, notebooks and PDFs are shown (a PDF of more than "
        f"{MAX_PAGES_UNASKED} pages needs pages). Several files can be read at once by several calls in one turn. "
        "A file must be read before it is edited or overwritten. For folders use LS."
    )
    Input = ReadInput
    read_only = True
    field_aliases = MappingProxyType({"path": "file_path"})

    def effects(self, parsed: ReadInput, workspace: Workspace) -> Effects:
        return reading(workspace, parsed.file_path)

    async def perform(self, parsed: ReadInput, context: ToolContext) -> ToolOutput:
        from toolwright.tools.line_numbers import with_notice
        from toolwright.tools.read_file import look, notices, show  # all kinds of files: not before one is read
        from toolwright.tools.repeated_reads import note_view, still_in_view, unchanged

        workspace = context.workspace
        try:
            sight, before = await workspace.with_file(
                parsed.file_path, lambda file: look(file, parsed, workspace), granted=context.granted
            )
        except FileNotFoundError:
            raise ToolFailure(await missing_file(parsed.file_path, workspace)) from None
        except NotRegularFile as error:
            raise ToolFailure(f"{error} {_advice(error.kind)}") from None
        part = (parsed.offset, parsed.limit, parsed.pages, parsed.encoding)
        if still_in_view(sight.path, part, before, context):
            return unchanged(sight.path)
        output = await show(sight)
        for notice in notices(sight, parsed):
            output = with_notice(output, notice)
        note_view(sight.path, part, output, context)
        return output


def _advice(kind: str) -> str:
    return "List it with Glob or LS." if kind == "directory" else "Reading it could wait for ever, so it is refused."
