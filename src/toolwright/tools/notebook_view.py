"""Show a notebook's cells to a model: one tagged element per cell, its outputs inside, pictures where they belong.

What is too long is cut in the middle and marked with the way to see more. It opens no files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import anyio
from msgspec import Struct

from toolwright.base.threads import run_in_thread
from toolwright.tools.base import ToolFailure, ToolOutput
from toolwright.tools.file_content import Whole
from toolwright.tools.media.images import show_image
from toolwright.tools.media.kinds import shown_kind
from toolwright.tools.notebook_outputs import Picture, bundle_pieces, output_pieces, plain
from toolwright.tools.notebooks import Cell, Notebook, doubled_ids, find_cell, parse_notebook

MAX_CHARACTERS = 256 * 1024
MAX_PICTURES = 20
_MAX_SOURCE = 100_000
_MAX_OUTPUT = 10_000
"""Of all outputs of one cell, when the whole notebook is shown."""
_MAX_OUTPUT_ALONE = 100_000
"""The same when the cell was asked for by its id."""
_MAX_IDS = 50

Piece = str | Picture
Part = str | dict[str, Any]
"""Words, or a block of its own."""


class CellView(Struct, frozen=True):
    """A cell as it is shown, and its row in the structured result."""

    pieces: list[Piece]
    row: dict[str, Any]

    @property
    def length(self) -> int:
        return sum(len(piece) for piece in self.pieces if isinstance(piece, str))


async def show_notebook(whole: Whole) -> ToolOutput:
    """What Read shows of a notebook."""
    return await show_cells(await run_in_thread(lambda: parse_notebook(whole.path, whole.data)))


async def show_cells(notebook: Notebook, cell_id: str | None = None) -> ToolOutput:
    """The whole notebook, or one cell of it with more of its outputs."""
    alone = cell_id is not None
    cells = [find_cell(notebook, cell_id)] if cell_id is not None else notebook.cells
    view = _View(notebook, _MAX_OUTPUT_ALONE if alone else _MAX_OUTPUT, alone=alone)
    shown = list(view.of(cells))
    pieces = [piece for cell in shown for piece in cell.pieces]
    rest = [f"\n[{note}]" for note in _notes(notebook, cells[len(shown) :])]
    file = {"filePath": notebook.path, "cells": [cell.row for cell in shown], "totalCells": len(notebook.cells)}
    return ToolOutput(await _content([*pieces, *rest], notebook.path), {"type": "notebook", "file": file})


def _notes(notebook: Notebook, left_out: Sequence[Cell]) -> Iterator[str]:
    if not notebook.cells:
        yield f"{notebook.path} has no cells yet"
    if left_out:
        ids = ", ".join(cell.id for cell in left_out[:_MAX_IDS]) + (", …" if len(left_out) > _MAX_IDS else "")
        yield f"{len(left_out)} more cells not shown: {ids}. Show one with NotebookRead and its cell_id"
    if doubled := doubled_ids(notebook):
        yield f"not unique: {', '.join(sorted(doubled)[:_MAX_IDS])}; name such a cell by its number, as in cell-0"


class _View(Struct):
    """Turns cells into pieces until enough is shown."""

    notebook: Notebook
    most_output: int
    alone: bool = False
    _length: int = 0

    def of(self, cells: Sequence[Cell]) -> Iterator[CellView]:
        for cell in cells:
            view = self._cell(cell)
            self._length += view.length
            if self._length > MAX_CHARACTERS and self._length > view.length:
                return
            yield view

    def _cell(self, cell: Cell) -> CellView:
        source = cut_middle(plain(cell.source), _MAX_SOURCE, f"jq -r '.cells[{cell.number}].source' through Bash shows all")
        outputs = list(self._outputs(cell))
        row: dict[str, Any] = {"cell_id": cell.id, "cellType": cell.kind, "source": source}
        count = cell.content.get("execution_count")
        if cell.kind == "code":
            row |= {"language": self.notebook.language, "executionCount": count}
        if outputs:
            row["outputs"] = [_output_row(kind, pieces) for kind, pieces in outputs]
        numbered = f' execution_count="{count}"' if isinstance(count, int) else ""
        pieces: list[Piece] = [f'<cell id="{plain(cell.id)}" type="{plain(cell.kind)}"{numbered}>\n{source}\n']
        for kind, inside in outputs:
            pieces += [f"<{kind}>\n", *inside, f"\n</{kind}>\n"]
        return CellView([*pieces, "</cell>\n"], row)

    def _outputs(self, cell: Cell) -> Iterator[tuple[str, list[Piece]]]:
        left = self.most_output
        every = list(_kinds_and_pieces(cell))
        for number, (kind, pieces) in enumerate(every):
            if left <= 0:
                yield "output", [f"[{len(every) - number} more outputs left out; {self._more(cell)}]"]
                return
            shown = [piece if isinstance(piece, Picture) else cut_middle(piece, left, self._more(cell)) for piece in pieces]
            left -= sum(len(piece) for piece in pieces if isinstance(piece, str))
            yield kind, shown

    def _more(self, cell: Cell) -> str:
        if self.alone:
            return f"jq '.cells[{cell.number}].outputs' through Bash shows all"
        return f"NotebookRead with cell_id={cell.id!r} shows more"


def _kinds_and_pieces(cell: Cell) -> Iterator[tuple[str, list[Piece]]]:
    attachments = cell.content.get("attachments")
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        if isinstance(bundle, dict):
            yield "attachment", [f"{plain(name)}: ", *bundle_pieces(bundle)]
    outputs = cell.content.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        yield (
            "error" if isinstance(output, dict) and output.get("output_type") == "error" else "output",
            [*output_pieces(output)],
        )


def _output_row(kind: str, pieces: Sequence[Piece]) -> dict[str, Any]:
    row: dict[str, Any] = {"type": kind, "text": "".join(piece for piece in pieces if isinstance(piece, str))}
    images = [{"type": piece.claimed, "size": len(piece.data)} for piece in pieces if isinstance(piece, Picture)]
    return {**row, "images": images} if images else row


def cut_middle(text: str, limit: int, advice: str) -> str:
    """`text`, or its beginning and end with what was left out said: the end of a log or a traceback tells most."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    end = text[-tail:] if tail else ""
    return f"{text[:head]}\n[... {len(text) - limit:,} of {len(text):,} characters left out; {advice} ...]\n{end}"


async def _content(pieces: Sequence[Piece], path: str) -> str | list[dict[str, Any]]:
    """Text blocks and image blocks; plain text if there is no picture."""
    pictures = [piece for piece in pieces if isinstance(piece, Picture)]
    shown = await _all_shown(pictures[:MAX_PICTURES], path)
    parts: list[Part] = []
    seen = 0
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece)
            continue
        seen += 1
        parts += shown[piece] if seen <= MAX_PICTURES else [_too_many(piece)]
    if all(isinstance(part, str) for part in parts):
        return "".join(part for part in parts if isinstance(part, str)).strip("\n")
    return list(_blocks(parts))


async def _all_shown(pictures: Sequence[Picture], path: str) -> dict[Picture, list[Part]]:
    """Each picture as it is shown; they are made ready at the same time."""
    shown: dict[Picture, list[Part]] = {}

    async def show(picture: Picture) -> None:
        shown[picture] = await _shown(picture, path)

    async with anyio.create_task_group() as group:
        for picture in set(pictures):
            group.start_soon(show, picture)
    return shown


def _blocks(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    """Neighbouring texts become one block."""
    for is_text, group in groupby(parts, lambda part: isinstance(part, str)):
        if is_text:
            yield {"type": "text", "text": "".join(part for part in group if isinstance(part, str))}
        else:
            yield from (part for part in group if isinstance(part, dict))


def _too_many(picture: Picture) -> str:
    return (
        f"[{picture.claimed}, {len(picture.data):,} bytes: not shown, {MAX_PICTURES} pictures come at once; "
        "NotebookRead with its cell_id shows it]"
    )


async def _shown(picture: Picture, path: str) -> list[Part]:
    kind = shown_kind(picture.data)
    words = f"{picture.claimed}, {len(picture.data):,} bytes"
    if kind is None or kind.reader != "image":
        return [f"[{words}: its content is no such picture]"]
    try:
        output = await show_image(Whole(path, picture.data, "image", kind))
    except ToolFailure as failure:
        return [f"[{words}: {failure}]"]
    return [block["text"] if block["type"] == "text" else block for block in output.content if isinstance(block, dict)]
