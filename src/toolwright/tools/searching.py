"""What Glob and Grep share: patterns as ripgrep takes them, names as they are shown, what ripgrep complained about."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolwright.tools.base import ToolContext, ToolFailure, nothing_hidden

if TYPE_CHECKING:
    from toolwright.processes.ripgrep import SearchEnd
    from toolwright.workspace.workspace import SearchPlace

SEARCH_TIMEOUT = 20.0
HIDE_GIT = ("--glob", "!.git")
"""The inside of .git is no one's source; a pattern that names it is searched there."""

_UNREADABLE = re.compile(r"(.*): [^:]*\(os error \d+\)", re.DOTALL)

HiddenName = Callable[[bytes], bool]


def as_glob(pattern: str) -> str:
    """`pattern` so that ripgrep takes it as it stands: no comment at its beginning, no space dropped at its end."""
    pattern = pattern.removeprefix("./")
    if pattern.startswith("#"):
        pattern = "\\" + pattern
    return f"{pattern[:-1]}[{pattern[-1]}]" if pattern[-1:].isspace() else pattern


def hidden_name(context: ToolContext, path: str, place: SearchPlace) -> HiddenName | None:
    """Whether a rule hides what ripgrep calls by this name when it searches in `path`; None if no rule hides anything.

    A folder that is reached through a link is judged as it was written and as it was opened, like the path of a file.
    """
    if context.hidden is nothing_hidden:
        return None
    hidden = context.hidden
    spellings = dict.fromkeys((place.path, *context.workspace.touched_paths(path)))
    starts = [os.path.join(folder, "") for folder in spellings]

    def is_hidden(name: bytes) -> bool:
        below_folder = name.removeprefix(b"./").decode("utf-8", "surrogateescape")
        for start in starts:  # noqa: SIM110 — asked for every file of a tree; `any` costs half as much again
            if hidden(start + below_folder):
                return True
        return False

    return is_hidden


def notices(end: SearchEnd, hidden: HiddenName | None) -> list[str]:
    """What keeps the answer from being complete, in words. A bad pattern, glob or type raises `ToolFailure` with ripgrep's."""
    unreadable = _unreadable(end, hidden)
    found = []
    if unreadable:
        count = f"{len(unreadable)} or more" if end.message_is_cut else str(len(unreadable))
        found.append(f"{count} entries could not be read, the first: {unreadable[0]}")
    if end.timed_out:
        found.append(f"stopped after {SEARCH_TIMEOUT:g} seconds: there may be more; narrow path or pattern")
    return found


def _unreadable(end: SearchEnd, hidden: HiddenName | None) -> list[str]:
    """What ripgrep could not read, in its words, without what must not be seen."""
    complaints = end.message.removeprefix("rg: ").split("\nrg: ") if end.message else []
    if end.message_is_cut and len(complaints) > 1:
        complaints.pop()
    names = [_UNREADABLE.fullmatch(complaint) for complaint in complaints]
    if end.exit_code == 2 and not all(names):
        raise ToolFailure(end.message.removeprefix("rg: "))
    if hidden is None:
        return complaints
    return [match[0] for match in names if match and not hidden(_complained_name(match[1]))]


def _complained_name(text: str) -> bytes:
    """The name in `./name` or in "… on ./name"."""
    return os.fsencode(text[max(0, text.find("./")) :])


def file_name(raw: bytes) -> str:
    """A name as text; bytes that are no UTF-8 are shown as \\xNN (no tool can open such a name by this text)."""
    return raw.decode("utf-8", "backslashreplace")


def below(folder: str, name: bytes) -> str:
    """The path of what ripgrep calls `name`, searching in `folder`."""
    return f"{folder if folder != '/' else ''}/{file_name(name.removeprefix(b'./'))}"
