"""Glob: find files by name pattern, newest first."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from toolwright.base.threads import run_in_thread
from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput, reading
from toolwright.tools.searching import HIDE_GIT, SEARCH_TIMEOUT, HiddenName, as_glob, below, hidden_name, notices
from toolwright.workspace import NotRegularFile

if TYPE_CHECKING:
    from toolwright.workspace import Workspace
    from toolwright.workspace.workspace import SearchPlace

MAX_FILES = 100
_MAGIC = frozenset("*?[{!")


class GlobInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(min_length=1, description="For example **/*.py, src/**/*.{ts,tsx}, !*.md")]
    path: Annotated[str, Meta(description="Folder to look in")] = "."


class Glob(BuiltinTool):
    name = "Glob"
    description = (
        "Finds files by pattern: * ? [abc] {a,b}, ** for any depth, a leading ! for all that do not match. A pattern without a "
        f"slash matches at any depth. Newest first, at most {MAX_FILES} (the total is told). Hidden and git-ignored files are "
        "included, .git itself and links are not."
    )
    Input = GlobInput
    read_only = True
    field_aliases = MappingProxyType({"cwd": "path"})

    def effects(self, parsed: GlobInput, workspace: Workspace) -> Effects:
        folder, _ = _split(parsed)
        return reading(workspace, folder, searches=True)

    async def perform(self, parsed: GlobInput, context: ToolContext) -> ToolOutput:
        started = time.monotonic()
        folder, pattern = _split(parsed)
        if ".." in pattern.split("/") or "\0" in pattern:
            raise ToolFailure("A pattern cannot hold .. after a wildcard, or a NUL character. Give the folder as path.")
        with _folder(context, folder) as place:
            hidden = hidden_name(context, folder, place)
            newest = Newest(place.folder, MAX_FILES, hidden=hidden)
            end = await context.workspace.search(place, _arguments(pattern), on_output=newest.feed, timeout=SEARCH_TIMEOUT)
            notes = notices(end, hidden)
            paths = [below(place.path, name) for name in newest.names()]
        milliseconds = int((time.monotonic() - started) * 1000)
        return _result(paths, newest.total, notes, workspace=context.workspace, milliseconds=milliseconds)


@contextmanager
def _folder(context: ToolContext, path: str) -> Iterator[SearchPlace]:
    try:
        with context.workspace.search_place(path, granted=context.granted) as place:
            if place.file is not None:
                raise ToolFailure(f"{place.path} is a file: Glob looks in folders. Give its folder as path.")
            yield place
    except FileNotFoundError:
        raise ToolFailure(
            f"Directory does not exist: {path}. Note: your current working directory is {context.workspace.cwd}."
        ) from None
    except NotRegularFile as error:
        raise ToolFailure(str(error)) from None


def _split(parsed: GlobInput) -> tuple[str, str]:
    """The folder to stand in and the pattern from there, which never leads out of it.

    Of an absolute pattern, or one with `..`, the leading names without magic are taken as folders. So `../x/*` and `/etc/*` are
    held against the boundary like any path, and ripgrep never sees them.
    """
    negation = "!" if parsed.pattern.startswith("!") else ""
    pattern = parsed.pattern.removeprefix("!")
    names = pattern.split("/")
    if names[0] and ".." not in names:
        return parsed.path, negation + (pattern[1:] if names[0] == "." else pattern)
    fixed: list[str] = []
    while len(names) > 1 and not _MAGIC & set(names[0]):
        fixed.append(names.pop(0))
    return os.path.join(parsed.path, "/".join(fixed) + "/"), f"{negation}/{'/'.join(names)}"


def _arguments(pattern: str) -> list[str]:
    hide = () if ".git" in re.split(r"[/{},!]", pattern) else HIDE_GIT
    return ["--files", "--hidden", "--no-ignore", "--null", "--glob", as_glob(pattern), *hide]


class Newest:
    """Takes ripgrep's list of names in pieces and keeps the newest: memory does not grow with the tree."""

    def __init__(self, folder: int, limit: int, *, hidden: HiddenName | None = None) -> None:
        self._folder = folder
        self._limit = limit
        self._hidden = hidden
        self._rest = b""
        self._kept: list[tuple[int, bytes]] = []
        self.total = 0

    async def feed(self, piece: bytes) -> None:
        names = (self._rest + piece).split(b"\0")
        self._rest = names.pop()
        if len(names) > 50:
            await run_in_thread(lambda: self._rank(names))
        else:
            self._rank(names)

    def names(self) -> list[bytes]:
        """Newest first; of the same age, by name."""
        return [name for _, name in self._kept]

    def _rank(self, names: list[bytes]) -> None:
        hidden = self._hidden
        ranked = self._ranked(names if hidden is None else [name for name in names if not hidden(name)])
        if len(self._kept) == self._limit:
            last = self._kept[-1]
            ranked = [entry for entry in ranked if entry < last]
        self._kept = sorted(self._kept + ranked)[: self._limit]

    def _ranked(self, names: list[bytes]) -> list[tuple[int, bytes]]:
        """The names with what they are sorted by. One that is gone by now is left out, one of unknown age comes last."""
        ranked = []
        for name in names:
            try:
                age = -os.stat(name, dir_fd=self._folder, follow_symlinks=False).st_mtime_ns
            except FileNotFoundError:
                continue
            except OSError:
                age = 0
            ranked.append((age, name))
        self.total += len(ranked)
        return ranked


def _result(paths: list[str], total: int, notes: list[str], *, workspace: Workspace, milliseconds: int) -> ToolOutput:
    truncated = total > len(paths)
    if truncated:
        notes = [f"the newest {len(paths)} of {total} files; narrow the pattern or path to see others", *notes]
    lines = [workspace.shown(path) for path in paths] or ["No files found"]
    text = "\n".join(lines + [f"[{note}]" for note in notes])
    structured = {
        "durationMs": milliseconds,
        "numFiles": len(paths),
        "filenames": paths,
        "files": paths,
        "count": len(paths),
        "truncated": truncated,
        "totalMatches": total,
        "countIsComplete": not any("stopped" in note for note in notes),
    }
    return ToolOutput(text, structured)
