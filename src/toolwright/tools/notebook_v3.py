"""Notebooks of format 3 and before, in the shape of format 4. Values only; what it does not know it leaves out of sight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_MEDIA = {
    "text": "text/plain",
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "latex": "text/latex",
    "json": "application/json",
    "javascript": "application/javascript",
    "pdf": "application/pdf",
}


def cells_of_worksheets(worksheets: list[Any]) -> list[Any]:
    """The cells of all worksheets, one after the other."""
    return [_cell(cell) for sheet in worksheets if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _cell(cell: Any) -> Any:
    match cell:
        case {"cell_type": "code"}:
            outputs = [output for old in _list(cell.get("outputs")) if isinstance(old, dict) for output in _outputs(old)]
            source = cell.get("input", "")
            return {"cell_type": "code", "source": source, "execution_count": cell.get("prompt_number"), "outputs": outputs}
        case {"cell_type": "heading", "source": source}:
            level = cell.get("level")
            marks = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1)
            text = source if isinstance(source, str) else "".join(line for line in _list(source) if isinstance(line, str))
            return {"cell_type": "markdown", "source": f"{marks} {text}"}
        case _:
            return cell


def _outputs(output: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match output.get("output_type"):
        case "stream":
            yield {"output_type": "stream", "name": output.get("stream", "stdout"), "text": output.get("text", "")}
        case "pyerr":
            yield {**output, "output_type": "error"}
        case "pyout" | "display_data" as kind:
            data = {_MEDIA.get(key, key): value for key, value in output.items() if key in _MEDIA or "/" in key}
            new_kind = "execute_result" if kind == "pyout" else "display_data"
            yield {"output_type": new_kind, "execution_count": output.get("prompt_number"), "data": data}
        case _:
            yield output
