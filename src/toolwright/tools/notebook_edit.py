"""NotebookEdit: replace, insert or delete one cell of a Jupyter notebook; every byte of the other cells stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolwright.tools.base import BuiltinTool, Effects, InvalidInput, ToolContext, ToolFailure, ToolOutput, writing
from toolwright.tools.not_found import missing_file
from toolwright.tools.notebook_read import PATH_ALIASES
from toolwright.workspace import FileTooLarge, NotRegularFile

if TYPE_CHECKING:
    from toolwright.workspace import Workspace


class NotebookEditInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    notebook_path: Annotated[str, Meta(description="Absolute path of the .ipynb file")]
    new_source: Annotated[str | UnsetType, Meta(description="The new source of the cell; not for delete")] = UNSET
    cell_id: Annotated[str | UnsetType, Meta(description="The cell; with insert, the one to insert after")] = UNSET
    cell_type: Annotated[Literal["code", "markdown"] | UnsetType, Meta(description="Needed with insert")] = UNSET
    edit_mode: Annotated[Literal["replace", "insert", "delete"], Meta(description="What to do")] = "replace"


class NotebookEdit(BuiltinTool):
    name = "NotebookEdit"
    description = (
        "Replaces, inserts or deletes one cell of a Jupyter notebook that was read in this session. Replacing a code cell "
        "keeps its outputs (they are from before). Without cell_id, insert goes to the start."
    )
    Input = NotebookEditInput
    field_aliases = PATH_ALIASES

    def parse(self, raw: dict[str, Any]) -> NotebookEditInput:
        parsed: NotebookEditInput = super().parse(raw)
        missing = _missing(parsed)
        if missing:
            raise InvalidInput(f"InputValidationError: NotebookEdit failed due to the following issue:\n{missing}")
        return parsed

    def effects(self, parsed: NotebookEditInput, workspace: Workspace) -> Effects:
        return writing(workspace, parsed.notebook_path)

    async def perform(self, parsed: NotebookEditInput, context: ToolContext) -> ToolOutput:
        from toolwright.tools.notebook_editing import CellEdit, result  # not before there is a notebook
        from toolwright.tools.notebooks import TOO_LARGE

        workspace = context.workspace
        edit = CellEdit(parsed, workspace)
        try:
            written = await workspace.replace_file(parsed.notebook_path, edit, granted=context.granted)
        except FileNotFoundError:
            raise ToolFailure(await missing_file(parsed.notebook_path, workspace)) from None
        except NotRegularFile as error:
            raise ToolFailure(f"{error} A notebook is a file.") from None
        except FileTooLarge as error:
            raise ToolFailure(f"{error} {TOO_LARGE}") from None
        return result(parsed, written, edit.made)


def _missing(parsed: NotebookEditInput) -> str | None:
    if parsed.edit_mode != "delete" and parsed.new_source is UNSET:
        return f"The parameter `new_source` is required with edit_mode {parsed.edit_mode}"
    if parsed.edit_mode != "insert" and parsed.cell_id is UNSET:
        return f"The parameter `cell_id` is required with edit_mode {parsed.edit_mode}: NotebookRead shows the ids"
    if parsed.edit_mode == "insert" and parsed.cell_type is UNSET:
        return "The parameter `cell_type` is required with edit_mode insert"
    return None
