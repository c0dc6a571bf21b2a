"""Edit: replace one exact piece of a file (or every occurrence of it) and leave every other byte alone."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput
from toolwright.tools.closest import explain_missing
from toolwright.tools.matching import Span, find_spans, line_of, replace_spans
from toolwright.tools.patches import structured_patch
from toolwright.tools.read import missing_file
from toolwright.tools.write import shown_text, with_notices, write_notices
from toolwright.workspace import Content, Knowledge, NotRegularFile, Replaced
from toolwright.workspace.text import TextFormat, detect_format

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

_MOST_LINE_NUMBERS = 10


class EditInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    old_string: Annotated[str, Meta(description="The exact text to replace; empty to create a new file")]
    new_string: Annotated[str, Meta(description="The text to put in its place")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence")] = False


class Edit(BuiltinTool):
    name = "Edit"
    description = (
        "Replaces text in a file that was read in this session. old_string must match the file exactly, indentation included "
        "(without Read's line numbers), and occur once: add surrounding lines to make it unique, or set replace_all."
    )
    Input = EditInput
    field_aliases = MappingProxyType({"path": "file_path"})

    def effects(self, parsed: EditInput, workspace: Workspace) -> Effects:
        return Effects(writes=workspace.touched_paths(parsed.file_path))

    async def perform(self, parsed: EditInput, context: ToolContext) -> ToolOutput:
        if parsed.old_string == parsed.new_string:
            raise ToolFailure("old_string and new_string are the same: there is nothing to change.")
        change = _Change(parsed, context.workspace)
        try:
            replaced = await context.workspace.replace_file(parsed.file_path, change)
        except FileNotFoundError:
            raise ToolFailure(await missing_file(parsed.file_path, context.workspace)) from None
        except NotRegularFile as error:
            raise ToolFailure(f"{error} Only regular files can be edited.") from None
        return _result(parsed, replaced, change)


class _Change:
    """Makes the new content out of the old, and remembers what it did."""

    def __init__(self, parsed: EditInput, workspace: Workspace) -> None:
        self._parsed = parsed
        self._workspace = workspace
        self.lines: list[int] = []
        self.count = 0
        self.notices: list[str] = []

    def __call__(self, before: Content | None) -> bytes:
        if not self._parsed.old_string and (before is None or not before.data):
            return _encode(self._parsed.new_string, TextFormat())
        if before is None:
            raise FileNotFoundError
        if not self._parsed.old_string:
            raise ToolFailure(f"{before.path} exists and is not empty: old_string must name the text to replace.")
        return self._replaced(before)

    def _replaced(self, before: Content) -> bytes:
        knowledge = self._workspace.reads.knowledge(before.path, before.status, before.data)
        if knowledge is Knowledge.UNREAD:
            raise ToolFailure(f"File has not been read yet: {before.path}. Read it first before editing it.")
        format_ = detect_format(before.data)
        if format_ is None:
            raise ToolFailure(f"{before.path} is no text file: Edit cannot change it.")
        spans = find_spans(before.data, self._parsed.old_string, format_)
        self.count = len(spans)
        self.lines = [line_of(before.data, start, format_) for start, _ in spans[:_MOST_LINE_NUMBERS]]
        self._require_one(before, spans, format_)
        self._require_clear(before, knowledge)
        try:
            return replace_spans(before.data, spans, self._parsed.new_string, format_)
        except UnicodeEncodeError as error:
            raise ToolFailure(_cannot_store(error, format_)) from None

    def _require_one(self, before: Content, spans: list[Span], format_: TextFormat) -> None:
        if not spans:
            explanation = explain_missing(format_.decode(before.data), self._parsed.old_string)
            raise ToolFailure(f"String to replace not found in file. {explanation}")
        if len(spans) > 1 and not self._parsed.replace_all:
            raise ToolFailure(
                f"old_string occurs {len(spans)} times in {before.path} ({self.where()}), but replace_all is false. "
                "Add surrounding lines to make it unique, or set replace_all."
            )

    def _require_clear(self, before: Content, knowledge: Knowledge) -> None:
        """A file somebody changed meanwhile is edited only where the change cannot have made the call mean something else."""
        if knowledge is Knowledge.STALE:
            if self._parsed.replace_all:
                raise ToolFailure(f"{before.path} has changed on disk since it was read. Read it again before replacing all.")
            self.notices.append("the file had changed on disk since it was read; the text still occurred exactly once")

    def where(self) -> str:
        more = ", …" if self.count > len(self.lines) else ""
        return f"{'line' if self.count == 1 else 'lines'} {', '.join(map(str, self.lines))}{more}"


def _encode(text: str, format_: TextFormat) -> bytes:
    try:
        return format_.encode(text)
    except UnicodeEncodeError as error:
        raise ToolFailure(_cannot_store(error, format_)) from None


def _cannot_store(error: UnicodeEncodeError, format_: TextFormat) -> str:
    character = error.object[error.start].encode("unicode_escape").decode()
    return (
        f"new_string holds {character}, which {format_.encoding} (the encoding of the file) cannot store. Nothing was changed."
    )


def _result(parsed: EditInput, replaced: Replaced, change: _Change) -> ToolOutput:
    path = replaced.after.path
    if not parsed.old_string:
        text = f"File created successfully at: {path}"
    else:
        noun = "replacement" if change.count == 1 else "replacements"
        text = f"The file {path} has been updated successfully ({change.count} {noun}, {change.where()})."
    return ToolOutput(with_notices(text, change.notices + write_notices(replaced)), _structured(parsed, replaced))


def _structured(parsed: EditInput, replaced: Replaced) -> dict[str, Any]:
    original, after = shown_text(replaced.before), shown_text(replaced.after)
    return {
        "filePath": replaced.after.path,
        "oldString": parsed.old_string,
        "newString": parsed.new_string,
        "originalFile": original,
        "structuredPatch": [] if after is None else structured_patch(original or "", after),
        "userModified": False,
        "replaceAll": parsed.replace_all,
    }
