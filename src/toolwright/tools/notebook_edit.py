"""NotebookEdit: replace, insert or delete one cell of a Jupyter notebook; every byte of the other cells stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolwright.tools.base import BuiltinTool, Effects, InvalidInput, ToolContext, ToolFailure, ToolOutput
from toolwright.tools.notebook_changes import CellChange, deleted, inserted, replaced
from toolwright.tools.notebook_read import PATH_ALIASES
from toolwright.tools.notebooks import TOO_LARGE, Notebook, find_cell, parse_notebook
from toolwright.tools.read import missing_file
from toolwright.tools.write import require_current, shown_text, with_notices, write_notices
from toolwright.workspace import Content, FileTooLarge, NotRegularFile, Replaced

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
        "clears its outputs. Without cell_id, insert goes to the start."
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
        return Effects(writes=workspace.touched_paths(parsed.notebook_path))

    async def perform(self, parsed: NotebookEditInput, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        edit = _Edit(parsed, workspace)
        try:
            written = await workspace.replace_file(parsed.notebook_path, edit)
        except FileNotFoundError:
            raise ToolFailure(await missing_file(parsed.notebook_path, workspace)) from None
        except NotRegularFile as error:
            raise ToolFailure(f"{error} A notebook is a file.") from None
        except FileTooLarge as error:
            raise ToolFailure(f"{error} {TOO_LARGE}") from None
        return _result(parsed, written, edit.made)


def _missing(parsed: NotebookEditInput) -> str | None:
    if parsed.edit_mode != "delete" and parsed.new_source is UNSET:
        return f"The parameter `new_source` is required with edit_mode {parsed.edit_mode}"
    if parsed.edit_mode != "insert" and parsed.cell_id is UNSET:
        return f"The parameter `cell_id` is required with edit_mode {parsed.edit_mode}: NotebookRead shows the ids"
    if parsed.edit_mode == "insert" and parsed.cell_type is UNSET:
        return "The parameter `cell_type` is required with edit_mode insert"
    return None


class _Edit:
    """Makes the new content out of the old, and remembers what it did."""

    def __init__(self, parsed: NotebookEditInput, workspace: Workspace) -> None:
        self._parsed = parsed
        self._workspace = workspace
        self.made: CellChange

    def __call__(self, before: Content | None) -> bytes:
        if before is None:
            raise FileNotFoundError
        require_current(before, self._workspace, "editing")
        notebook = parse_notebook(before.path, before.data)
        if notebook.array is None or notebook.version[0] != 4:
            major, minor = notebook.version
            raise ToolFailure(
                f"{before.path} has notebook format {major}.{minor}, and only format 4 can be edited. "
                "Convert it first, for instance by: jupyter nbconvert --to notebook --nbformat 4 --inplace FILE"
            )
        self.made = _changed(notebook, self._parsed)
        try:
            return self.made.text.encode()
        except UnicodeEncodeError:
            raise ToolFailure(
                "new_source holds half of a surrogate pair, which cannot be stored. Nothing was changed."
            ) from None


def _changed(notebook: Notebook, parsed: NotebookEditInput) -> CellChange:
    cell = find_cell(notebook, parsed.cell_id) if isinstance(parsed.cell_id, str) else None
    source = parsed.new_source if isinstance(parsed.new_source, str) else ""
    kind = parsed.cell_type if isinstance(parsed.cell_type, str) else None
    if parsed.edit_mode == "insert" and kind is not None:
        return inserted(notebook, after=cell, kind=kind, source=source)
    assert cell is not None  # parse saw to it
    return deleted(notebook, cell) if parsed.edit_mode == "delete" else replaced(notebook, cell, kind=kind, source=source)


def _result(parsed: NotebookEditInput, written: Replaced, made: CellChange) -> ToolOutput:
    path = written.after.path
    text = f"{made.words} in {path}."
    structured: dict[str, Any] = {
        "new_source": parsed.new_source if isinstance(parsed.new_source, str) else "",
        "cell_id": made.cell_id,
        "cell_type": made.kind,
        "language": made.language,
        "edit_mode": parsed.edit_mode,
        "notebook_path": path,
        "original_file": shown_text(written.before),
        "updated_file": shown_text(written.after),
    }
    if made.old_source is not None:
        structured["old_source"] = made.old_source
    return ToolOutput(with_notices(text, [*made.notices, *write_notices(written)]), structured)
