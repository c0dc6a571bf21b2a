"""Edit: replace one exact piece of a file (or every occurrence of it) and leave every other byte alone."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolOutput, writing
from toolwright.tools.write import with_notices, write_notices

if TYPE_CHECKING:
    from toolwright.tools.editing import Edited
    from toolwright.workspace import Workspace


class EditInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    old_string: Annotated[str, Meta(description="The exact text to replace; empty to create a new file")]
    new_string: Annotated[str, Meta(description="The text to put in its place")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence")] = False


class Edit(BuiltinTool):
    name = "Edit"
    description = (
        "Replaces text in a file that was read in this session. old_string must match the file exactly, indentation included "
        "(without Read's line numbers), and occur once: add surrounding lines to make it unique, or set replace_all."
    )
    Input = EditInput
    field_aliases = MappingProxyType({"path": "file_path"})
    timeout = None  # a write that has begun is not given up

    def effects(self, parsed: EditInput, workspace: Workspace) -> Effects:
        return writing(workspace, parsed.file_path)

    async def perform(self, parsed: EditInput, context: ToolContext) -> ToolOutput:
        from toolwright.tools.editing import edit_file  # not before something is edited

        return _result(parsed, await edit_file(parsed.file_path, [parsed], context.workspace, granted=context.granted))


def _result(parsed: EditInput, edited: Edited) -> ToolOutput:
    path = edited.replaced.after.path
    if not parsed.old_string:
        text = f"File created successfully at: {path}"
    else:
        text = f"The file {path} has been updated successfully ({edited.made[0]})."
    return ToolOutput(with_notices(text, [*edited.notices, *write_notices(edited.replaced)]), _structured(parsed, edited))


def _structured(parsed: EditInput, edited: Edited) -> dict[str, Any]:
    return {
        "filePath": edited.replaced.after.path,
        "oldString": parsed.old_string,
        "newString": parsed.new_string,
        **edited.shown,
        "replaceAll": parsed.replace_all,
        "success": True,
        "replacements": edited.count,
    }
