"""Replace exact pieces of a file, one after the other: what Edit and MultiEdit share.

All replacements are made in memory and the file is written once, so either all of them happen or none. It knows no tool input
beyond old_string, new_string and replace_all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from msgspec import Struct

from toolwright.files.text import UTF8, TextFormat, detect_format
from toolwright.tools.base import ToolFailure
from toolwright.tools.near_miss import PIECE, explain_missing
from toolwright.tools.not_found import missing_file
from toolwright.tools.patches import CONTEXT, one_line_patch, structured_patch
from toolwright.tools.text_spans import (
    Occurrences,
    Span,
    has_straight_quotes,
    iter_spans,
    line_above,
    line_below,
    line_of,
    occurrences,
    replace_all,
    replace_spans,
    with_quotes_of,
)
from toolwright.tools.write import MAX_SHOWN_SIZE, shown_bytes, shown_text
from toolwright.workspace import FileContent, NotRegularFile, ReadState, Replaced, WorkspaceError

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

_MAX_LINE_NUMBERS = 10
_NOT_EMPTY = "The file exists and is not empty: old_string must name the text to replace."


class Replacement(Protocol):
    """What to replace by what."""

    @property
    def old_string(self) -> str: ...
    @property
    def new_string(self) -> str: ...
    @property
    def replace_all(self) -> bool: ...


class Made(Struct, frozen=True):
    """What one replacement did: how often, and the first lines where, as they were numbered when it came to it."""

    count: int
    lines: tuple[int, ...]
    before: int = 0
    """How many bytes stand before the first place,"""
    after: int = 0
    """and behind the last one."""
    curly: bool = False
    """Straight quotes of old_string were curly ones in the file."""

    def __str__(self) -> str:
        noun = "replacement" if self.count == 1 else "replacements"
        return f"{self.count} {noun}, {self.where}"

    @property
    def where(self) -> str:
        more = ", …" if self.count > len(self.lines) else ""
        return f"{'line' if self.count == 1 else 'lines'} {', '.join(map(str, self.lines))}{more}"


class Edited(Struct, frozen=True):
    """A file whose replacements were made and written."""

    replaced: Replaced
    made: tuple[Made, ...]
    notices: tuple[str, ...]
    shown: dict[str, Any]
    """The fields of a structured result that tell what was done to the file."""

    @property
    def count(self) -> int:
        """How many places were replaced, by all replacements together."""
        return sum(made.count for made in self.made)


async def edit_file(
    path: str, replacements: Sequence[Replacement], workspace: Workspace, *, granted: Sequence[str] = ()
) -> Edited:
    """Make the replacements in order and write the file once. Raises `ToolFailure`; then nothing was changed."""
    _require_difference(replacements)
    change = _Change(replacements, workspace)
    try:
        replaced = await workspace.replace_file(path, change, granted=granted)
    except FileNotFoundError:
        raise ToolFailure(await missing_file(path, workspace)) from None
    except NotRegularFile as error:
        raise ToolFailure(f"{error} Only regular files can be edited.") from None
    return Edited(replaced, tuple(change.made), tuple(change.notices), change.shown)


async def edit_files(
    files: Mapping[str, Sequence[Replacement]], workspace: Workspace, *, granted: Sequence[str] = ()
) -> list[Edited]:
    """Edit several files, all or none.

    Every file is tried before the first is written, so what can fail fails then. If the disk fails in between, the files that
    were written get their old content back; one that was created is left empty, and the error says so.
    """
    for path, replacements in files.items():
        try:
            await _try_out(path, replacements, workspace, granted)
        except ToolFailure as failure:
            raise ToolFailure(f"{path}: {failure} No file was changed.") from None
    done: list[Edited] = []
    try:
        for path, replacements in files.items():
            done.append(await edit_file(path, replacements, workspace, granted=granted))
    except BaseException as error:  # also when the call is cancelled: half of the files must not stay changed
        with anyio.CancelScope(shield=True):
            notes = [note for edited in reversed(done) if (note := await _taken_back(edited.replaced, workspace, granted))]
        if not isinstance(error, Exception):
            raise
        raise ToolFailure(" ".join([f"{path}: {error}. The other files have their old content again.", *notes])) from error
    return done


class _TriedOut(Exception):
    """The new content could be made; it was not to be written."""


async def _try_out(path: str, replacements: Sequence[Replacement], workspace: Workspace, granted: Sequence[str]) -> None:
    _require_difference(replacements)
    change = _Change(replacements, workspace)

    def only_try(before: FileContent | None) -> bytes:
        change(before)
        raise _TriedOut

    try:
        await workspace.replace_file(path, only_try, granted=granted)
    except _TriedOut:
        return
    except FileNotFoundError:
        raise ToolFailure(await missing_file(path, workspace)) from None
    except NotRegularFile as error:
        raise ToolFailure(f"{error} Only regular files can be edited.") from None


async def _taken_back(replaced: Replaced, workspace: Workspace, granted: Sequence[str]) -> str | None:
    """Put the old content back, unless somebody has written there since; what could not be done, in words."""
    path, old = replaced.after.path, b"" if replaced.before is None else replaced.before.data

    def give_back(now: FileContent | None) -> bytes:
        if now is None or now.data != replaced.after.data:
            raise ToolFailure("somebody else has changed it meanwhile")
        return old

    try:
        await workspace.replace_file(path, give_back, granted=granted)
    except (ToolFailure, WorkspaceError, OSError) as error:
        return f"But {path} could not be taken back: {error}."
    return f"{path}, which was new, is empty." if replaced.before is None else None


def _require_difference(replacements: Sequence[Replacement]) -> None:
    for number, replacement in enumerate(replacements, 1):
        if replacement.old_string == replacement.new_string:
            problem = "old_string and new_string are the same: there is nothing to change."
            raise ToolFailure(_numbered(problem, number, len(replacements)))


class _Change:
    """Makes the new content out of the old, and remembers what it did and how that is shown."""

    def __init__(self, replacements: Sequence[Replacement], workspace: Workspace) -> None:
        self._replacements = replacements
        self._workspace = workspace
        self.made: list[Made] = []
        self.notices: list[str] = []
        self.shown: dict[str, Any] = {}
        self._plain = False
        """Lines of the file, old and new, can be decoded by themselves, and are shown as they are stored."""

    def __call__(self, before: FileContent | None) -> bytes:
        self.made.clear()
        self.notices.clear()
        self._plain = False
        data = self._changed(before)
        self._show(before, data)
        return data

    def _show(self, before: FileContent | None, after: bytes) -> None:
        if self._plain and before is not None and max(len(before.data), len(after)) <= MAX_SHOWN_SIZE:
            original: str | None = UTF8.decode(before.data)
            patch = _patch_around(self.made, before.data, after)
        else:
            original, new = shown_text(before), shown_bytes(after)
            patch = [] if new is None else structured_patch(original or "", new)
        self.shown = {"originalFile": original, "structuredPatch": patch, "userModified": False}

    def _changed(self, before: FileContent | None) -> bytes:
        first = self._replacements[0]
        if not first.old_string and (before is None or not before.data):
            self.made.append(Made(1, (1,)))
            return self._apply(_encoded(first, UTF8), 1, UTF8)
        if before is None:
            raise FileNotFoundError
        if not first.old_string:
            raise ToolFailure(_numbered(_NOT_EMPTY, 1, len(self._replacements)))
        return self._edited(before)

    def _edited(self, before: FileContent) -> bytes:
        knowledge = self._workspace.reads.knowledge(before.path, before.status, before.data)
        if knowledge is ReadState.UNREAD:
            raise ToolFailure(f"File has not been read yet: {before.path}. Read it first before editing it.")
        format_ = detect_format(before.data)
        if format_ is None:
            raise ToolFailure(f"{before.path} is no text file: its text cannot be edited.")
        self._plain = format_ == UTF8 and b"\r" not in before.data and not any(map(_has_special, self._replacements))
        data = self._apply(before.data, 0, format_)
        if knowledge is ReadState.STALE:
            self._require_clear(before.path)
        return data

    def _apply(self, data: bytes, done: int, format_: TextFormat) -> bytes:
        """`data` after the replacements from number `done` on."""
        original = data
        for number, replacement in enumerate(self._replacements[done:], done + 1):
            try:
                data, made = _substituted(data, replacement, format_)
            except ToolFailure as failure:
                hint = _lost_on_the_way(original, data, replacement, format_)
                raise ToolFailure(_numbered(f"{failure}{hint}", number, len(self._replacements))) from None
            self.made.append(made)
            if made.curly:
                self.notices.append("straight quotes in old_string matched curly ones; the file keeps its own")
        return data

    def _require_clear(self, path: str) -> None:
        """A file somebody changed meanwhile is edited only where the change cannot have made the call mean something else."""
        if any(replacement.replace_all for replacement in self._replacements):
            raise ToolFailure(f"{path} has changed on disk since it was read. Read it again before replacing all.")
        self.notices.append("the file had changed on disk since it was read; the text still occurred exactly once")


def _substituted(data: bytes, replacement: Replacement, format_: TextFormat) -> tuple[bytes, Made]:
    if not replacement.old_string and len(data) == len(format_.mark):  # the edits before have emptied the file
        return data + _encoded(replacement, format_), Made(1, (1,))
    if not replacement.old_string:
        raise ToolFailure(_NOT_EMPTY)
    old = replacement.old_string
    found = occurrences(data, old, format_, most=_MAX_LINE_NUMBERS)
    curly = not found.count and has_straight_quotes(old)
    if curly:
        found = occurrences(data, old, format_, most=_MAX_LINE_NUMBERS, any_quotes=True)
    lines = tuple(line_of(data, start, format_) for start, _ in found.first)
    behind = len(data) - found.end if found.count else 0
    made = Made(found.count, lines, found.first[0][0] if found.count else 0, behind, curly)
    _require_one(data, replacement, made=made, format_=format_)
    try:
        return _replaced(data, found, replacement, format_, curly=curly), made
    except UnicodeEncodeError as error:
        raise ToolFailure(_cannot_store(error, format_)) from None


def _replaced(data: bytes, found: Occurrences, replacement: Replacement, format_: TextFormat, *, curly: bool) -> bytes:
    old, new = replacement.old_string, replacement.new_string
    if curly:
        spans = iter_spans(data, old, format_, any_quotes=True)
        return replace_spans(data, spans, _QuotesKept(data, replacement, format_), format_)
    if found.count == len(found.first):
        return replace_spans(data, found.first, new, format_)
    return replace_all(data, old, new, format_)


class _QuotesKept:
    """Gives for each place the new text with the quotes that stand there."""

    def __init__(self, data: bytes, replacement: Replacement, format_: TextFormat) -> None:
        self._data = data
        self._format = format_
        self._old, self._new = (text.replace("\r\n", "\n") for text in (replacement.old_string, replacement.new_string))
        self._made: dict[str, str] = {}

    def __call__(self, span: Span) -> str:
        found = self._format.decode(self._format.mark + self._data[slice(*span)]).replace("\r\n", "\n")
        made = self._made.get(found)
        if made is None:
            made = self._made[found] = with_quotes_of(found, self._old, self._new)
        return made


def _require_one(data: bytes, replacement: Replacement, *, made: Made, format_: TextFormat) -> None:
    if not made.count:
        explanation = explain_missing(format_.pieces(data, PIECE), replacement.old_string)
        raise ToolFailure(f"String to replace not found in file. {explanation}")
    if made.count > 1 and not replacement.replace_all:
        raise ToolFailure(
            f"old_string occurs {made.count} times in the file ({made.where}), but replace_all is false. "
            "Add surrounding lines to make it unique, or set replace_all."
        )


def _lost_on_the_way(original: bytes, data: bytes, replacement: Replacement, format_: TextFormat) -> str:
    """Why a text that was in the file is not there any more: an earlier replacement of the same call took it."""
    wanted = replacement.old_string
    if data is original or not wanted or _holds(data, wanted, format_) or not _holds(original, wanted, format_):
        return ""
    return " The text was in the file before the edits that come first: write old_string as they leave it."


def _holds(data: bytes, text: str, format_: TextFormat) -> bool:
    return next(iter_spans(data, text, format_), None) is not None


def _numbered(problem: str, number: int, total: int) -> str:
    return problem if total == 1 else f"Edit {number} of {total} failed, so none was made: {problem}"


def _encoded(replacement: Replacement, format_: TextFormat) -> bytes:
    try:
        return format_.encode(replacement.new_string)
    except UnicodeEncodeError as error:
        raise ToolFailure(_cannot_store(error, format_)) from None


def _cannot_store(error: UnicodeEncodeError, format_: TextFormat) -> str:
    character = error.object[error.start].encode("unicode_escape").decode()
    return (
        f"new_string holds {character}, which {format_.encoding} (the encoding of the file) cannot store. Nothing was changed."
    )


def _has_special(replacement: Replacement) -> bool:
    """Whether it puts in what makes a file another kind of text: NUL, CR, a byte order mark."""
    new = replacement.new_string
    return "\0" in new or "\r" in new or "\ufeff" in new


def _patch_around(made: Sequence[Made], before: bytes, after: bytes) -> list[dict[str, Any]]:
    """The patch, made of the lines around the places that were replaced: what lies before and behind was left alone."""
    first, last = min(made, key=lambda one: one.before), len(before) - min(one.after for one in made)
    start, end, shift = line_above(before, first.before, CONTEXT), line_below(before, last, CONTEXT), len(after) - len(before)
    head, tail = line_above(before, first.before, 0), line_below(before, last, 0)
    lines = before[head:tail], after[head : tail + shift]
    if all(line and line.find(b"\n", 0, -1) < 0 for line in lines):  # most edits change one line
        pieces = before[start:head], *lines, before[tail:end]
        return one_line_patch(*map(UTF8.decode, pieces), number=first.lines[0])
    old, new = UTF8.decode(before[start:end]), UTF8.decode(after[start : end + shift])
    return structured_patch(old, new, above=first.lines[0] - 1 - before.count(b"\n", start, first.before))
