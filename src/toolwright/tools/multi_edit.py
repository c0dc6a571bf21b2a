"""MultiEdit: several replacements in one file, in order, all or none."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolOutput
from toolwright.tools.write import with_notices, write_notices

if TYPE_CHECKING:
    from toolwright.tools.editing import Edited
    from toolwright.workspace import Workspace

_MOST_TOLD = 20


class OneEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    old_string: str
    new_string: str
    replace_all: bool = False


class MultiEditInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    edits: Annotated[list[OneEdit], Meta(min_length=1, description="Each finds the file as those before it leave it")]


class MultiEdit(BuiltinTool):
    name = "MultiEdit"
    description = (
        "Makes several replacements in one file, in order, each by the rules of Edit. All are made or none: the error names "
        "the edit that failed. If the first old_string is empty, the file is created."
    )
    Input = MultiEditInput
    field_aliases = MappingProxyType({"path": "file_path"})
    timeout = None  # a write that has begun is not given up

    def effects(self, parsed: MultiEditInput, workspace: Workspace) -> Effects:
        return Effects(writes=workspace.touched_paths(parsed.file_path))

    async def perform(self, parsed: MultiEditInput, context: ToolContext) -> ToolOutput:
        from toolwright.tools.editing import edit_file  # not before something is edited

        return _result(parsed, await edit_file(parsed.file_path, parsed.edits, context.workspace))


def _result(parsed: MultiEditInput, edited: Edited) -> ToolOutput:
    path, created = edited.replaced.after.path, not parsed.edits[0].old_string
    done = f"File created successfully at: {path}" if created else f"The file {path} has been updated successfully"
    noun = "edit" if len(parsed.edits) == 1 else "edits"
    told = [f"{number}. {'created' if created and number == 1 else made}" for number, made in enumerate(edited.made, 1)]
    more = [f"… and {len(told) - _MOST_TOLD} more"] if len(told) > _MOST_TOLD else []
    text = with_notices(
        f"{done} ({len(parsed.edits)} {noun}, lines as each edit found them).",
        [*edited.notices, *write_notices(edited.replaced)],
    )
    return ToolOutput("\n".join([text, *told[:_MOST_TOLD], *more]), _structured(parsed, edited))


def _structured(parsed: MultiEditInput, edited: Edited) -> dict[str, Any]:
    edits = [
        {"oldString": edit.old_string, "newString": edit.new_string, "replaceAll": edit.replace_all} for edit in parsed.edits
    ]
    return {
        "filePath": edited.replaced.after.path,
        "edits": edits,
        **edited.shown,
        "success": True,
        "replacements": edited.count,
    }
