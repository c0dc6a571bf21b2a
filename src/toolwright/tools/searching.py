"""What Glob and Grep share: where a search starts, how ripgrep's complaints are told apart, and how paths are shown."""

from __future__ import annotations

import os
import re

from toolwright.tools.base import ToolFailure
from toolwright.workspace.ripgrep import SearchEnd

SEARCH_TIMEOUT = 20.0
HIDE_GIT = ("--glob", "!.git")
"""The inside of .git is no one's source; a pattern that names it is searched there."""

_UNREADABLE = re.compile(r"\(os error \d+\)$")


def complaints(end: SearchEnd) -> list[str]:
    """Files and folders that ripgrep could not read. A bad pattern, glob or type raises `ToolFailure` with ripgrep's words."""
    lines = end.message.splitlines()
    if end.exit_code == 2 and any(not _UNREADABLE.search(line) for line in lines):
        raise ToolFailure(end.message.removeprefix("rg: "))
    return lines


def notices(end: SearchEnd) -> list[str]:
    """What keeps the answer from being complete, in words."""
    unreadable = complaints(end)
    found = (
        [f"{len(unreadable)} entries could not be read, the first: {unreadable[0].removeprefix('rg: ')}"] if unreadable else []
    )
    if end.timed_out:
        found.append(f"stopped after {SEARCH_TIMEOUT:g} seconds: there may be more; narrow path or pattern")
    return found


def file_name(raw: bytes) -> str:
    """A name as text; bytes that are no UTF-8 are shown as \\xNN (no tool can open such a name by this text)."""
    return raw.decode("utf-8", "backslashreplace")


def below(folder: str, name: bytes) -> str:
    """The path of what ripgrep calls `name`, searching in `folder`."""
    return os.path.join(folder, file_name(name.removeprefix(b"./")))
