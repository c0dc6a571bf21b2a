"""MultiEdit: several replacements in one file or in several, in order, all or none."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput, writing
from toolwright.tools.write import with_notices, write_notices

if TYPE_CHECKING:
    from toolwright.tools.editing import Edited
    from toolwright.workspace import Workspace

_MAX_TOLD = 20


class OneEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    old_string: str
    new_string: str
    replace_all: bool = False
    file_path: Annotated[str | None, Meta(description="The file, if it is another than the call's")] = None


class MultiEditInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    edits: Annotated[list[OneEdit], Meta(min_length=1, description="Each finds the file as those before it leave it")]
    file_path: Annotated[str, Meta(description="Absolute path of the file; not needed if every edit names its own")] = ""

    def by_file(self) -> dict[str, list[OneEdit]]:
        """The edits of each file, in the order in which the files are first named."""
        files: dict[str, list[OneEdit]] = {}
        for edit in self.edits:
            files.setdefault(edit.file_path or self.file_path, []).append(edit)
        return files


class MultiEdit(BuiltinTool):
    name = "MultiEdit"
    description = (
        "Makes several replacements in one file, in order, each by the rules of Edit; an edit may name another file with a "
        "file_path of its own. All are made or none, in all files: the error names the edit that failed. If the first "
        "old_string for a file is empty, the file is created."
    )
    Input = MultiEditInput
    field_aliases = MappingProxyType({"path": "file_path"})
    timeout = None  # a write that has begun is not given up

    def effects(self, parsed: MultiEditInput, workspace: Workspace) -> Effects:
        return writing(workspace, *(named or "." for named in parsed.by_file()))

    async def perform(self, parsed: MultiEditInput, context: ToolContext) -> ToolOutput:
        from toolwright.tools.editing import edit_file, edit_files  # not before something is edited

        files = parsed.by_file()
        if "" in files:
            raise ToolFailure("file_path is missing: give one for the call, or one with every edit. Nothing was changed.")
        if len(files) == 1:
            [(path, edits)] = files.items()
            return _result(edits, await edit_file(path, edits, context.workspace, granted=context.granted))
        edited = await edit_files(files, context.workspace, granted=context.granted)
        return _together([_result(edits, one) for edits, one in zip(files.values(), edited, strict=True)])


def _together(outputs: list[ToolOutput]) -> ToolOutput:
    """The results of several files as one."""
    files = [output.structured for output in outputs]
    count = sum(file["replacements"] for file in files)
    structured = {"files": files, "success": True, "replacements": count}
    return ToolOutput("\n".join(output.text for output in outputs), structured)


def _result(edits: list[OneEdit], edited: Edited) -> ToolOutput:
    path, created = edited.replaced.after.path, not edits[0].old_string
    done = f"File created successfully at: {path}" if created else f"The file {path} has been updated successfully"
    noun = "edit" if len(edits) == 1 else "edits"
    told = [f"{number}. {'created' if created and number == 1 else made}" for number, made in enumerate(edited.made, 1)]
    more = [f"… and {len(told) - _MAX_TOLD} more"] if len(told) > _MAX_TOLD else []
    text = with_notices(
        f"{done} ({len(edits)} {noun}, lines as each edit found them).",
        [*edited.notices, *write_notices(edited.replaced)],
    )
    return ToolOutput("\n".join([text, *told[:_MAX_TOLD], *more]), _structured(edits, edited))


def _structured(edits: list[OneEdit], edited: Edited) -> dict[str, Any]:
    told = [{"oldString": edit.old_string, "newString": edit.new_string, "replaceAll": edit.replace_all} for edit in edits]
    return {
        "filePath": edited.replaced.after.path,
        "edits": told,
        **edited.shown,
        "success": True,
        "replacements": edited.count,
    }
