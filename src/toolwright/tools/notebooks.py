"""A Jupyter notebook as cells, out of its JSON text, and cells found by id. Shows nothing and changes nothing.

Format 4 is kept with the position of every cell, so that one can be changed without touching the others. Older formats are
turned into the same shape, for reading only.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from msgspec import Struct

from toolwright.tools.base import ToolFailure
from toolwright.tools.json_text import BadJson, Container, after_space, read_container, read_value
from toolwright.tools.notebook_v3 import cells_of_worksheets

MAX_FILE_SIZE = 100 * 1024 * 1024
TOO_LARGE = "Clear its outputs (jupyter nbconvert --clear-output), or cut pieces out of it with jq through Bash."
_MARK = "\ufeff"
_MAX_IDS = 50
_BY_NUMBER = re.compile(r"cell-(0|[1-9][0-9]{0,8})")


class Cell(Struct, frozen=True):
    """One cell. `id` is its own, or `cell-N` (N from 0) if it has none; `content` is its JSON in the shape of format 4."""

    id: str
    number: int
    kind: str
    source: str
    content: dict[str, Any]

    @property
    def has_own_id(self) -> bool:
        return self.content.get("id") == self.id


class Notebook(Struct, frozen=True):
    """`whole` and `array` are the text's outermost object and its array of cells; `array` is None for older formats."""

    path: str
    text: str
    whole: Container
    array: Container | None
    cells: list[Cell]
    language: str
    version: tuple[int, int]

    @property
    def wants_ids(self) -> bool:
        """Since format 4.5 every cell must have an id; before, none may."""
        return self.version >= (4, 5)


def parse_notebook(path: str, data: bytes) -> Notebook:
    """Raises `ToolFailure` that says what is wrong with the file."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ToolFailure(f"{path} is no valid notebook: it is not UTF-8 (byte {error.start:,}).") from None
    try:
        return _notebook(path, text, _outermost(path, text))
    except BadJson as error:
        raise ToolFailure(f"{path} is no valid notebook: it is not JSON ({error}). {SEE_TEXT}") from None


SEE_TEXT = "Read with a limit shows its text."


def _outermost(path: str, text: str) -> Container:
    start = after_space(text, len(_MARK) if text.startswith(_MARK) else 0)
    if start == len(text):
        raise ToolFailure(f"{path} is no notebook: it is empty. Write can create one.")
    if text[start] != "{":
        read_value(text, start)  # rather say that it is no JSON, if it is none
        raise ToolFailure(f"{path} is no notebook: its JSON is not an object. {SEE_TEXT}")
    whole = read_container(text, start, nested=("cells",))
    if after_space(text, whole.end) != len(text):
        raise BadJson(f"extra data after character {whole.end:,}")
    return whole


def _notebook(path: str, text: str, whole: Container) -> Notebook:
    values = {item.key: item.value for item in whole.items}
    array = values.get("cells")
    if isinstance(array, Container) and text[array.start] == "[":
        contents = [item.value for item in array.items]
    elif isinstance(values.get("worksheets"), list):
        array, contents = None, cells_of_worksheets(values["worksheets"])
    else:
        raise ToolFailure(f"{path} is no notebook: its JSON has no list of cells. {SEE_TEXT}")
    cells = [_cell(path, number, content) for number, content in enumerate(contents)]
    version = (_number(values.get("nbformat"), 4 if array else 3), _number(values.get("nbformat_minor"), 0))
    return Notebook(path, text, whole, array, cells, _language(values.get("metadata")), version)


def _cell(path: str, number: int, content: Any) -> Cell:
    if not isinstance(content, dict) or not isinstance(content.get("cell_type"), str):
        raise ToolFailure(f"{path} is no valid notebook: cell {number} (from 0) is no object with a cell_type. {SEE_TEXT}")
    own = content.get("id")
    cell_id = own if isinstance(own, str) and own else f"cell-{number}"
    return Cell(cell_id, number, content["cell_type"], joined(content.get("source", "")), content)


def joined(value: Any) -> str:
    """A text that a notebook may keep whole or as a list of lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) else default


def _language(metadata: Any) -> str:
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        inside = metadata.get(section) if isinstance(metadata, dict) else None
        found = inside.get(key) if isinstance(inside, dict) else None
        if isinstance(found, str) and found:
            return found
    return "python"


def find_cell(notebook: Notebook, cell_id: str) -> Cell:
    """The cell with this id, or with the number in `cell-N`. Raises `ToolFailure` that lists the ids."""
    named = [cell for cell in notebook.cells if cell.id == cell_id]
    if len(named) == 1:
        return named[0]
    if named:
        numbers = " or ".join(f"cell-{cell.number}" for cell in named)
        raise ToolFailure(f"{len(named)} cells have the id {cell_id!r}. Name the one you mean by its number: {numbers}.")
    by_number = _BY_NUMBER.fullmatch(cell_id)
    if by_number and int(by_number[1]) < len(notebook.cells):
        return notebook.cells[int(by_number[1])]
    raise ToolFailure(f"Cell with ID {cell_id!r} not found in {notebook.path}. {known_ids(notebook)}")


def known_ids(notebook: Notebook) -> str:
    if not notebook.cells:
        return "The notebook has no cells."
    shown = ", ".join(cell.id for cell in notebook.cells[:_MAX_IDS])
    more = f", … ({len(notebook.cells)} in all)" if len(notebook.cells) > _MAX_IDS else ""
    return f"Its cells, in order: {shown}{more}. cell-N means the cell number N, from 0."


def doubled_ids(notebook: Notebook) -> set[str]:
    return {cell_id for cell_id, count in Counter(cell.id for cell in notebook.cells).items() if count > 1}
