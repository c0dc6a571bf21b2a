"""Not to show twice what the model still has before its eyes: whether an earlier Read's result says it all.

Three things must hold: the file has the content it had then, the session's last look at it found no other, and the earlier
call's result stands in the conversation now, word for word. The conversation is asked each time, so whatever removes or changes
a result (a shortened history, a hook, an interruption, another agent's own history) counts without having to be told.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from toolwright.files.read_tracker import Showing
from toolwright.tools.base import ToolContext, ToolOutput

if TYPE_CHECKING:
    from toolwright.files.read_tracker import SeenFile


def still_in_view(path: str, part: Hashable, before: SeenFile | None, context: ToolContext) -> bool:
    """Whether this part of the file, just read, is in the conversation already. `before` is the version seen before."""
    reads = context.workspace.reads
    showing = reads.showings.find(path, part, (before, reads.version(path)))
    return showing is not None and showing.mark == _mark(context.earlier_result(showing.tool_use_id))


def note_view(path: str, part: Hashable, output: ToolOutput, context: ToolContext) -> None:
    version = context.workspace.reads.version(path)
    if version is not None and context.tool_use_id:
        context.workspace.reads.showings.note(path, part, Showing(version, context.tool_use_id, _mark(output.content)))


def unchanged(path: str) -> ToolOutput:
    text = f"[{path} is unchanged since you read it: the result of that earlier call still shows what you ask for]"
    return ToolOutput(text, {"type": "file_unchanged", "file": {"filePath": path}})


def _mark(content: Any) -> int:
    """A number by which a content is known again within this process; a text keeps its own once it was asked for it."""
    if isinstance(content, list):
        return hash(tuple(_words(block) for block in content))
    return hash(content) if isinstance(content, str) else 0


def _words(block: Any) -> tuple[str, str]:
    source = block.get("source") or {}
    return str(block.get("text", "")), str(source.get("data", ""))
