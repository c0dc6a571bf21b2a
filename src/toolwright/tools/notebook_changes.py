"""The text of a notebook with one cell replaced, inserted or deleted, in the layout it already has.

Of a replaced cell only what must change is written anew: its metadata keep their bytes too. It opens no files.
"""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct

from toolwright.tools.json_text import (
    indentation_of,
    read_container,
    style_of,
    with_item,
    with_members,
    without_item,
)
from toolwright.tools.json_text import replaced as spliced
from toolwright.tools.notebooks import Cell, Notebook

_NUMBERS_MOVED = "cells without an id of their own are numbered, and the numbers after it have moved"


class CellChange(Struct, frozen=True):
    """The new text of the notebook, and what was done to which cell."""

    text: str
    cell_id: str
    kind: str
    language: str
    words: str
    old_source: str | None = None
    notices: tuple[str, ...] = ()


def replaced(notebook: Notebook, cell: Cell, *, kind: str | None, source: str) -> CellChange:
    """The cell with a new source and perhaps another type. What a code cell gave out stays, and is said to be from before."""
    assert notebook.array is not None
    item = notebook.array.items[cell.number]
    new_kind = kind or cell.kind
    changes = _type_changes(cell, new_kind) | _completions(notebook, cell)
    changes["source"] = source if isinstance(cell.content.get("source"), str) else _lines(source)
    own = read_container(notebook.text, item.start)
    text = spliced(notebook.text, item.start, item.end, with_members(own, changes, style=style_of(notebook.whole)))
    outputs = "kept: they are from before this change" if new_kind == "code" else "cleared"
    told = [f"its outputs were {outputs}"] if cell.content.get("outputs") else []
    turned = [f"it was {cell.kind} and is {new_kind} now"] if new_kind != cell.kind else []
    cell_id = changes.get("id", cell.id)
    return CellChange(text, cell_id, new_kind, notebook.language, f"Cell {cell_id} replaced", cell.source, (*turned, *told))


def inserted(notebook: Notebook, *, after: Cell | None, kind: str, source: str) -> CellChange:
    """A new cell after the given one, or at the start."""
    assert notebook.array is not None
    number = 0 if after is None else after.number + 1
    own_id = _fresh_id(notebook) if notebook.wants_ids else None
    style = style_of(notebook.whole)
    unit = style.unit or ""
    indentation = indentation_of(notebook.array.lead) if notebook.array.items else unit * 2
    item = style.write(_new_cell(kind, source, own_id), indentation=indentation if style.unit is not None else "")
    text = with_item(notebook.array, number, item, style=style, indentation=unit)
    cell_id = own_id or f"cell-{number}"
    where = "at the start" if after is None else f"after {after.id}"
    words = f"New {kind} cell {cell_id} inserted {where}"
    return CellChange(text, cell_id, kind, notebook.language, words, notices=_moved(notebook, number))


def deleted(notebook: Notebook, cell: Cell) -> CellChange:
    assert notebook.array is not None
    text = without_item(notebook.array, cell.number)
    moved = _moved(notebook, cell.number + 1)
    return CellChange(text, cell.id, cell.kind, notebook.language, f"Cell {cell.id} deleted", cell.source, moved)


def _type_changes(cell: Cell, kind: str) -> dict[str, Any]:
    changes: dict[str, Any] = {} if kind == cell.kind else {"cell_type": kind}
    if kind == "code":
        kept = cell.kind == "code" and isinstance(cell.content.get("outputs"), list)
        return {**changes, "execution_count": None, **({} if kept else {"outputs": []}), "attachments": ...}
    return {**changes, "execution_count": ..., "outputs": ...}


def _completions(notebook: Notebook, cell: Cell) -> dict[str, Any]:
    """What a valid cell must have besides."""
    missing: dict[str, Any] = {} if isinstance(cell.content.get("metadata"), dict) else {"metadata": {}}
    return missing | {"id": _fresh_id(notebook)} if notebook.wants_ids and not cell.has_own_id else missing


def _new_cell(kind: str, source: str, own_id: str | None) -> dict[str, Any]:
    """Its members in the order in which Jupyter writes them."""
    cell: dict[str, Any] = {"cell_type": kind}
    if kind == "code":
        cell["execution_count"] = None
    if own_id is not None:
        cell["id"] = own_id
    cell["metadata"] = {}
    if kind == "code":
        cell["outputs"] = []
    return {**cell, "source": _lines(source)}


def _lines(source: str) -> list[str]:
    """The lines with their ends, as notebooks keep them."""
    *whole, last = source.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _fresh_id(notebook: Notebook) -> str:
    taken = {cell.id for cell in notebook.cells}
    while (fresh := os.urandom(4).hex()) in taken:
        continue
    return fresh


def _moved(notebook: Notebook, start: int) -> tuple[str, ...]:
    return (_NUMBERS_MOVED,) if any(not cell.has_own_id for cell in notebook.cells[start:]) else ()
