"""NotebookRead: the cells of a Jupyter notebook with their outputs, all of them or one."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput, reading
from toolwright.tools.not_found import missing_file
from toolwright.workspace import FileTooLarge, NotRegularFile, OpenFile

if TYPE_CHECKING:
    from toolwright.tools.notebooks import Notebook
    from toolwright.workspace import Workspace

PATH_ALIASES = MappingProxyType({"path": "notebook_path", "file_path": "notebook_path"})


class NotebookReadInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    notebook_path: Annotated[str, Meta(description="Absolute path of the .ipynb file")]
    cell_id: Annotated[str | msgspec.UnsetType, Meta(description="Only this cell, with more of its outputs")] = msgspec.UNSET


class NotebookRead(BuiltinTool):
    name = "NotebookRead"
    description = (
        "Shows the cells of a Jupyter notebook: ids, sources, outputs (text, images, errors). Long outputs are cut and marked."
    )
    Input = NotebookReadInput
    read_only = True
    field_aliases = PATH_ALIASES

    def effects(self, parsed: NotebookReadInput, workspace: Workspace) -> Effects:
        return reading(workspace, parsed.notebook_path)

    async def perform(self, parsed: NotebookReadInput, context: ToolContext) -> ToolOutput:
        from toolwright.tools.notebook_view import show_cells  # not before there is a notebook
        from toolwright.tools.notebooks import MAX_FILE_SIZE, TOO_LARGE, parse_notebook

        workspace = context.workspace

        def read(file: OpenFile) -> Notebook:
            data = file.read_all(MAX_FILE_SIZE)
            notebook = parse_notebook(file.path, data)
            workspace.reads.note(file.path, file.status, data)
            return notebook

        try:
            notebook = await workspace.with_file(parsed.notebook_path, read, granted=context.granted)
        except FileNotFoundError:
            raise ToolFailure(await missing_file(parsed.notebook_path, workspace)) from None
        except NotRegularFile as error:
            raise ToolFailure(f"{error} A notebook is a file.") from None
        except FileTooLarge as error:
            raise ToolFailure(f"{error} {TOO_LARGE}") from None
        return await show_cells(notebook, None if parsed.cell_id is msgspec.UNSET else parsed.cell_id)
