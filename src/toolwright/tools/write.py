"""Write: create a file, or replace the whole of one that was read before."""

from __future__ import annotations

import binascii
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolwright.files.text import UTF8, TextFormat, decode_text, uses_crlf
from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput, writing
from toolwright.tools.patches import structured_patch
from toolwright.workspace import FileChanged, FileContent, NotRegularFile, ReadState, Replaced

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

MAX_SHOWN_SIZE = 256 * 1024


class WriteInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file_path: Annotated[str, Meta(description="Absolute path of the file")]
    content: Annotated[str, Meta(description="The whole new content")]
    encoding: Annotated[Literal["utf-8", "base64"], Meta(description="base64: content holds encoded bytes")] = "utf-8"


class Write(BuiltinTool):
    name = "Write"
    description = (
        "Writes a file: creates it with its folders, or replaces the whole content. A file that exists must have been read in "
        "this session first. For a change in part of a file use Edit."
    )
    Input = WriteInput
    field_aliases = MappingProxyType({"path": "file_path"})
    timeout = None  # a write that has begun is not given up

    def effects(self, parsed: WriteInput, workspace: Workspace) -> Effects:
        return writing(workspace, parsed.file_path)

    async def perform(self, parsed: WriteInput, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        notices: list[str] = []

        def change(before: FileContent | None) -> bytes:
            if before is not None and before.data:
                require_current(before, workspace, "overwriting")
            return _from_base64(parsed.content) if parsed.encoding == "base64" else _encoded(parsed.content, before, notices)

        try:
            replaced = await workspace.replace_file(parsed.file_path, change, granted=context.granted)
        except NotRegularFile as error:
            raise ToolFailure(f"{error} Nothing was written.") from None
        return _result(parsed, replaced, notices + write_notices(replaced))


def require_current(before: FileContent, workspace: Workspace, action: str) -> None:
    """Refuse to overwrite what the session has not seen, or has seen in another version."""
    knowledge = workspace.reads.knowledge(before.path, before.status, before.data)
    if knowledge is ReadState.UNREAD:
        raise ToolFailure(f"File has not been read yet: {before.path}. Read it first before {action} it.")
    if knowledge is ReadState.STALE:
        raise FileChanged(f"{before.path} has changed on disk since it was read. Read it again before {action} it.")


def write_notices(replaced: Replaced) -> list[str]:
    notices = []
    if replaced.before is not None and replaced.before.status.st_nlink > 1:
        notices.append("the file had other hard links; they keep the old content")
    if not replaced.durable:
        notices.append("the new content is in place, but the disk could not confirm it: it might not survive a power cut")
    return notices


def with_notices(text: str, notices: list[str]) -> str:
    return f"{text} [{'; '.join(notices)}]" if notices else text


def _from_base64(content: str) -> bytes:
    try:
        return binascii.a2b_base64("".join(content.split()), strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise ToolFailure(f"content is not valid base64: {error}. Nothing was written.") from None


def _encoded(content: str, before: FileContent | None, notices: list[str]) -> bytes:
    """The bytes of a text in the format the file already has: a model sees neither BOM nor CR, and must not lose them."""
    decoded = decode_text(before.data) if before is not None and before.data else None
    old, format_ = decoded or ("", UTF8)
    if uses_crlf(old) and "\r\n" not in content:
        content = content.replace("\n", "\r\n")
        notices.append("CRLF line ends kept")
    try:
        data = format_.mark + format_.encode(content)
    except UnicodeEncodeError as error:
        return _as_utf8(content, format_, error, notices)
    if format_ != UTF8:
        notices.append(f"encoding kept: {format_.describe()}")
    return data


def _as_utf8(content: str, format_: TextFormat, error: UnicodeEncodeError, notices: list[str]) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError:
        half = error.object[error.start].encode("unicode_escape").decode()
        raise ToolFailure(
            f"content holds {half}, half of a surrogate pair, which cannot be stored. Nothing was written."
        ) from None
    notices.append(f"encoding changed from {format_.encoding} to utf-8, which the new content needs")
    return data


def _result(parsed: WriteInput, replaced: Replaced, notices: list[str]) -> ToolOutput:
    path = replaced.after.path
    if replaced.before is None:
        text = f"File created successfully at: {path} ({len(replaced.after.data):,} bytes)"
    else:
        text = f"The file {path} has been updated successfully ({len(replaced.after.data):,} bytes)."
    return ToolOutput(with_notices(text, notices), _structured(parsed, replaced))


def _structured(parsed: WriteInput, replaced: Replaced) -> dict[str, Any]:
    original = shown_text(replaced.before)
    after = shown_text(replaced.after)
    patch = structured_patch(original, after) if original is not None and after is not None else []
    return {
        "type": "create" if replaced.before is None else "update",
        "filePath": replaced.after.path,
        "content": parsed.content,
        "structuredPatch": patch,
        "originalFile": original,
        "userModified": False,
        "success": True,
        "bytesWritten": len(replaced.after.data),
    }


def shown_text(content: FileContent | None) -> str | None:
    """The text of a file for a program to show: with plain line ends; None for binary and very large ones."""
    return None if content is None else shown_bytes(content.data)


def shown_bytes(data: bytes) -> str | None:
    if len(data) > MAX_SHOWN_SIZE:
        return None
    decoded = decode_text(data)
    if decoded is None or b"\r" not in data:  # looking for one byte costs a tenth of looking for two characters
        return decoded and decoded[0]
    return decoded[0].replace("\r\n", "\n")
