"""What tests of the boundary share: a folder outside with secrets in it, and a call of every tool for any path."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support_tools import TOOLS

SECRET = "S3CRET"
"""Stands in every name and every content outside."""

PATH_FIELDS = frozenset({"file_path", "notebook_path", "path", "cwd"})
"""Fields that name a file or a folder."""
PATTERN_FIELDS = frozenset({"pattern", "glob", "exclude", "ignore"})
"""Fields that choose among names."""
OTHER_FIELDS = frozenset(
    {
        *("content", "encoding", "old_string", "new_string", "edits", "pages", "type", "output_mode", "command", "description"),
        *("cell_id", "cell_type", "edit_mode", "new_source", "bash_id", "shell_id", "filter", "todos"),
    }
)
"""Fields of text that name nothing on a disk."""

NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "one", "source": SECRET, "metadata": {}, "outputs": [], "execution_count": None}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
INPUTS: dict[str, dict[str, Any]] = {
    "Read": {},
    "Write": {"content": "planted"},
    "Edit": {"old_string": SECRET, "new_string": "planted"},
    "MultiEdit": {"edits": [{"old_string": SECRET, "new_string": "planted"}]},
    "NotebookRead": {},
    "NotebookEdit": {"cell_id": "one", "new_source": "planted"},
    "LS": {},
    "Glob": {"pattern": "**"},
    "Grep": {"pattern": "S.CRET", "output_mode": "content"},
    "Bash": {"command": "cat ./* ../*/*; ls . ..; echo planted > planted"},
    "BashOutput": {},
    "KillShell": {},
    "TodoWrite": {},
}
"""What else a call needs beside its path, chosen to do as much harm as it can."""


@dataclass(frozen=True, slots=True)
class PathField:
    """A field of a tool that names a path."""

    tool: str
    name: str

    def input(self, path: str, **more: Any) -> dict[str, Any]:
        return {**INPUTS[self.tool], **more, self.name: path}

    def __str__(self) -> str:
        return f"{self.tool}.{self.name}"


def text_fields(tool: str) -> Iterator[str]:
    """The fields of a tool that hold text, or lists."""
    for name, field in TOOLS[tool].input_schema["properties"].items():
        kinds = {kind.get("type") for kind in (field, *field.get("anyOf", ()))} | ({"string"} if "enum" in field else set())
        if kinds & {"string", "array", "object", None}:
            yield name


def path_fields() -> list[PathField]:
    return [PathField(tool, name) for tool in TOOLS for name in text_fields(tool) if name in PATH_FIELDS]


def make_ground(folder: Path) -> Path:
    """`folder`/ws to work in, and `folder`/ws-evil beside it, where nothing may be read, written or listed."""
    outside = folder / "ws-evil"
    (folder / "ws/sub").mkdir(parents=True)
    (outside / f"{SECRET}-folder").mkdir(parents=True)
    (outside / f"{SECRET}.txt").write_text(f"{SECRET}\n")
    (outside / f"{SECRET}.ipynb").write_text(json.dumps(NOTEBOOK))
    (outside / f"{SECRET}-folder/{SECRET}.txt").write_text(f"{SECRET}\n")
    (folder / "ws/inside.txt").write_text("inside\n")
    return outside


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything there is in a folder: names, sizes, times, contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[os.fsdecode(path)] = (status.st_mtime_ns, status.st_nlink, content)
    return found
