"""LS: what is in a folder, one level deep: folders first, then all else, each with what it is and how large."""

from __future__ import annotations

import fnmatch
import heapq
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput, reading
from toolwright.workspace import FolderEntry, OpenFolder

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

MAX_ENTRIES = 1000
MAX_COUNTED = 10_000
"""How many entries of a subfolder are counted before "more than" will do."""
_CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")


class LSInput(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Folder to list")] = "."
    ignore: Annotated[list[str], Meta(description="Leave out names like these, for example *.pyc")] = []


class LS(BuiltinTool):
    name = "LS"
    description = (
        "Lists a folder, one level deep, hidden names included: folders with their number of entries, files with their size, "
        f"links with their target. Shows at most {MAX_ENTRIES} and tells the total."
    )
    Input = LSInput
    read_only = True

    def effects(self, parsed: LSInput, workspace: Workspace) -> Effects:
        return reading(workspace, parsed.path, searches=True)

    async def perform(self, parsed: LSInput, context: ToolContext) -> ToolOutput:
        written = context.workspace.touched_paths(parsed.path)[-1]
        look = FolderScan(parsed.ignore, context.hidden, written)
        try:
            return _result(await context.workspace.with_folder(parsed.path, look, granted=context.granted))
        except FileNotFoundError:
            where = f"Note: your current working directory is {context.workspace.cwd}."
            raise ToolFailure(f"Directory does not exist: {parsed.path}. {where}") from None
        except NotADirectoryError:
            raise ToolFailure(f"{parsed.path} is no folder: LS lists folders. Look at a file with Read.") from None
        except PermissionError:
            raise ToolFailure(f"{parsed.path} cannot be listed: the system gives no permission to read it.") from None


class Row(Struct, frozen=True):
    """One line of a listing. `inside` is the number of entries of a folder, None if it cannot be read."""

    entry: FolderEntry
    inside: int | None = None


class FolderListing(Struct, frozen=True):
    path: str
    rows: list[Row]
    total: int
    ignored: int


class FolderScan:
    """Looks into a folder. Keeps only what is shown, so memory does not grow with the folder."""

    def __init__(self, ignore: Sequence[str], hidden: Callable[[str], bool], written: str) -> None:
        """`written` is the folder's path as the call has it: what a rule hides by that name is hidden as well."""
        self._ignored = _any_of(ignore)
        self._hidden_path = hidden
        self._written = written
        self._left_out = 0
        self._total = 0

    def __call__(self, folder: OpenFolder) -> FolderListing:
        first = heapq.nsmallest(MAX_ENTRIES, self._shown(folder))
        rows = list(filter(None, (self._row(folder, name) for _, name in first)))
        gone = len(first) - len(rows)
        return FolderListing(folder.path, rows, self._total - gone, self._left_out)

    def _shown(self, folder: OpenFolder) -> Iterator[tuple[bool, str]]:
        """The names to show as sorting wants them: folders first."""
        for name, is_folder in folder.names():
            if self._hidden(folder.path, name):
                continue
            if self._ignored(name):
                self._left_out += 1
                continue
            self._total += 1
            yield not is_folder, name

    def _hidden(self, folder: str, *names: str) -> bool:
        spellings = (folder,) if folder == self._written else (folder, self._written)
        return any(self._hidden_path(os.path.join(spelled, *names)) for spelled in spellings)

    def _row(self, folder: OpenFolder, name: str) -> Row | None:
        try:
            entry = folder.entry(name)
        except FileNotFoundError:
            return None  # removed while we looked
        return Row(entry, self._count(folder, name) if entry.kind == "directory" else None)

    def _count(self, folder: OpenFolder, name: str) -> int | None:
        try:
            with folder.inside(name) as inside:
                visible = (each for each, _ in inside.names() if not self._hidden(folder.path, name, each))
                return sum(1 for _, _ in zip(range(MAX_COUNTED + 1), visible, strict=False))
        except OSError:
            return None


def _any_of(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a name fits one of the patterns; a pattern may be written as a path (`./x`, `**/x`, `x/`)."""
    names = [pattern.removeprefix("./").removeprefix("**/").strip("/") for pattern in patterns]
    expression = re.compile("|".join(fnmatch.translate(name) for name in names) or r"(?!)")
    return lambda name: expression.match(name) is not None


def shown_name(name: str) -> str:
    """A name on one line: control characters, and bytes that are no UTF-8, are written as escapes."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _result(listing: FolderListing) -> ToolOutput:
    lines = [f"{_label(row.entry)}\t{_detail(row)}" for row in listing.rows] or ["[no entries]"]
    return ToolOutput("\n".join([listing.path, *lines, *(f"[{note}]" for note in _notes(listing))]), _structured(listing))


def _label(entry: FolderEntry) -> str:
    name = shown_name(entry.name)
    if entry.target is not None:
        return f"{name} -> {shown_name(entry.target)}"
    return f"{name}/" if entry.kind == "directory" else name


def _detail(row: Row) -> str:
    match row.entry.kind:
        case "directory":
            return _entries(row.inside)
        case "regular file":
            return f"{row.entry.size:,} bytes"
        case "symbolic link":
            return "link"
        case kind:
            return kind


def _entries(count: int | None) -> str:
    if count is None:
        return "cannot be read"
    if count > MAX_COUNTED:
        return f"more than {MAX_COUNTED:,} entries"
    return "1 entry" if count == 1 else f"{count:,} entries"


def _notes(listing: FolderListing) -> list[str]:
    notes = []
    if listing.total > len(listing.rows):
        notes.append(
            f"the first {len(listing.rows):,} of {listing.total:,} entries, folders first and by name; "
            "narrow with ignore, or use Glob"
        )
    if listing.ignored:
        notes.append(f"{listing.ignored:,} left out by ignore")
    if any(shown_name(row.entry.name) != row.entry.name for row in listing.rows):
        notes.append("names with \\xNN or other escapes hold bytes that cannot be written here; reach them through Bash")
    return notes


def _structured(listing: FolderListing) -> dict[str, Any]:
    return {
        "path": listing.path,
        "entries": [_structured_row(row) for row in listing.rows],
        "numEntries": len(listing.rows),
        "totalEntries": listing.total,
        "truncated": listing.total > len(listing.rows),
    }


def _structured_row(row: Row) -> dict[str, Any]:
    kinds = {"directory": "directory", "regular file": "file", "symbolic link": "link"}
    fields: dict[str, Any] = {"name": shown_name(row.entry.name), "type": kinds.get(row.entry.kind, row.entry.kind)}
    if row.entry.kind == "directory":
        return {**fields, "entries": row.inside}
    if row.entry.target is not None:
        return {**fields, "target": shown_name(row.entry.target)}
    return {**fields, "size": row.entry.size}
