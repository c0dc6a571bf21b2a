"""What NotebookEdit does with a notebook: the new content out of the old, and what is said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolwright.tools.base import ToolFailure, ToolOutput
from toolwright.tools.notebook_changes import CellChange, deleted, inserted, replaced
from toolwright.tools.notebooks import Notebook, find_cell, parse_notebook
from toolwright.tools.write import require_current, shown_text, with_notices, write_notices
from toolwright.workspace import FileContent, Replaced

if TYPE_CHECKING:
    from toolwright.tools.notebook_edit import NotebookEditInput
    from toolwright.workspace import Workspace


class CellEdit:
    """Makes the new content out of the old, and remembers what it did."""

    def __init__(self, parsed: NotebookEditInput, workspace: Workspace) -> None:
        self._parsed = parsed
        self._workspace = workspace
        self.made: CellChange

    def __call__(self, before: FileContent | None) -> bytes:
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


def result(parsed: NotebookEditInput, written: Replaced, made: CellChange) -> ToolOutput:
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
