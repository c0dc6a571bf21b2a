"""Notebooks for tests: as Jupyter writes them, in other layouts, and in the old format."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64encode
from typing import Any

Json = dict[str, Any]


def png(width: int = 2, height: int = 2) -> bytes:
    """A real picture: all black."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = zlib.compress(b"\0" * ((width + 1) * height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def png_text() -> str:
    """The picture as a notebook keeps it: base64 with a line end."""
    return b64encode(png()).decode() + "\n"


def code(source: str, *outputs: Json, cell_id: str | None = None, count: int | None = None, **more: Any) -> Json:
    own = {} if cell_id is None else {"id": cell_id}
    lines = source.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "execution_count": count,
        **own,
        "metadata": {},
        "outputs": list(outputs),
        "source": lines,
        **more,
    }


def markdown(source: str, *, cell_id: str | None = None, **more: Any) -> Json:
    own = {} if cell_id is None else {"id": cell_id}
    return {"cell_type": "markdown", **own, "metadata": {}, "source": source.splitlines(keepends=True), **more}


def stream(text: str, name: str = "stdout") -> Json:
    return {"name": name, "output_type": "stream", "text": text.splitlines(keepends=True)}


def result(count: int = 1, **data: Any) -> Json:
    return {"data": _media(data), "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def display(**data: Any) -> Json:
    return {"data": _media(data), "metadata": {}, "output_type": "display_data"}


def _media(data: Json) -> Json:
    return {key.replace("__", "/"): value for key, value in data.items()}


def failure(*traceback: str) -> Json:
    return {"ename": "ZeroDivisionError", "evalue": "division by zero", "output_type": "error", "traceback": list(traceback)}


def notebook(*cells: Json, minor: int = 5, **more: Any) -> Json:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python", "version": "3.11.4"}}
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": minor, **more}


def as_jupyter(content: Json) -> str:
    """The text as Jupyter saves it."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def format_3() -> Json:
    """A notebook of format 3, as IPython 2 wrote them."""
    cells = [
        {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Results"]},
        {
            "cell_type": "code",
            "collapsed": False,
            "input": ["x = 1\n", "x"],
            "language": "python",
            "metadata": {},
            "outputs": [
                {"output_type": "stream", "stream": "stdout", "text": ["hello\n"]},
                {"metadata": {}, "output_type": "pyout", "prompt_number": 4, "text": ["1"], "html": ["<b>1</b>"]},
                {"output_type": "display_data", "png": png_text(), "metadata": {}},
                {"ename": "E", "evalue": "bad", "output_type": "pyerr", "traceback": ["\x1b[31mE\x1b[0m: bad"]},
            ],
            "prompt_number": 4,
        },
        {"cell_type": "markdown", "metadata": {}, "source": "the *end*"},
    ]
    return {
        "metadata": {"name": "old"},
        "nbformat": 3,
        "nbformat_minor": 0,
        "worksheets": [{"cells": cells, "metadata": {}}],
    }


_TEXT = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_OUTPUT = {"type": "object", "required": ["output_type"]}


def _cell_schema(kind: str, minor: int, **properties: Json) -> Json:
    required = ["cell_type", "metadata", "source", *(key for key in properties if key != "attachments")]
    known = {"cell_type": {"const": kind}, "metadata": {"type": "object"}, "source": _TEXT, **properties}
    if minor >= 5:
        known["id"] = {"type": "string", "pattern": "^[a-zA-Z0-9-_]+$", "minLength": 1, "maxLength": 64}
        required.append("id")
    return {"type": "object", "required": required, "properties": known, "additionalProperties": False}


def schema_of_format_4(minor: int) -> Json:
    """What the published schema of nbformat 4 asks of a notebook and its cells."""
    count = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}
    code_cell = _cell_schema("code", minor, outputs={"type": "array", "items": _OUTPUT}, execution_count=count)
    others = [_cell_schema(kind, minor, attachments={"type": "object"}) for kind in ("markdown", "raw")]
    return {
        "type": "object",
        "required": ["metadata", "nbformat", "nbformat_minor", "cells"],
        "properties": {
            "metadata": {"type": "object"},
            "nbformat": {"const": 4},
            "nbformat_minor": {"const": minor},
            "cells": {"type": "array", "items": {"oneOf": [code_cell, *others]}},
        },
        "additionalProperties": False,
    }
