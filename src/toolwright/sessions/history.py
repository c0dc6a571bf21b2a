"""Makes a history that a model's API accepts of whatever a transcript holds.

    - the blocks of one assistant message are together, under its id
    - every tool_use has exactly one tool_result, in the user message right after it
    - a call whose result is missing has one that says so: it was interrupted, and whether it took effect is unknown
    - no empty texts, no thinking without its signature, no thinking at the end of a message
    - the first message is a user's

Knows messages and blocks, not files or chains.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any, Literal

from msgspec import Struct, field

from toolwright.sessions.bulk import let_go

Block = dict[str, Any]

INTERRUPTED = (
    "This call was interrupted before its result was recorded. Whether it took effect is unknown: "
    "look at the present state before doing it again."
)
BEGINNING_LOST = "(The beginning of this conversation could not be read.)"


class LoadedMessage(Struct, gc=False):
    """One message of the history, in the Messages API's shape, and the entry it ends with."""

    role: Literal["user", "assistant"]
    content: list[Block]
    uuid: str


class Spoken(Struct, gc=False):
    """A message as it stands in the transcript: one entry, perhaps one block of several."""

    role: Literal["user", "assistant"]
    content: list[Block]
    uuid: str
    message_id: str | None = None


class _Results(Struct):
    """The tool results of a transcript, each to be taken once."""

    waiting: dict[str, deque[tuple[int, Block]]] = field(default_factory=lambda: defaultdict(deque))

    def take(self, tool_use_id: str, after: int) -> Block | None:
        """The first result of the call that comes behind position `after`."""
        queue = self.waiting[tool_use_id]
        while queue:
            position, block = queue.popleft()
            if position > after:
                return block
        return None

    def left(self) -> list[str]:
        return [tool_use_id for tool_use_id, queue in self.waiting.items() if queue]


def valid_history(spoken: list[Spoken]) -> tuple[list[LoadedMessage], list[str]]:
    """The messages to send, and what had to be mended."""
    joined = _join_blocks(spoken)
    results = _collect_results(joined)
    messages: list[LoadedMessage] = []
    problems: list[str] = []
    for position, message in enumerate(joined):
        if message.role == "user":
            _add_user(messages, message)
        else:
            _add_assistant(messages, message, _answers(message, position, results, problems))
    problems.extend(
        f"the result of {tool_use_id} belongs to no call, or is its second; left out" for tool_use_id in results.left()
    )
    if messages and messages[0].role == "assistant":
        messages.insert(0, LoadedMessage("user", [{"type": "text", "text": BEGINNING_LOST}], messages[0].uuid))
        problems.append("the history begins with an answer; a note was put before it")
    let_go(joined)
    return messages, problems


def _join_blocks(spoken: list[Spoken]) -> list[Spoken]:
    """Assistant entries with one message id as one message, where the first of them stood. A prompt ends every message."""
    joined: list[Spoken] = []
    open_messages: dict[str, Spoken] = {}
    for message in spoken:
        known = open_messages.get(message.message_id or "")
        if message.role == "assistant" and known is not None:
            known.content.extend(message.content)
            known.uuid = message.uuid
            continue
        joined.append(Spoken(message.role, list(message.content), message.uuid, message.message_id))
        if message.role == "assistant" and message.message_id:
            open_messages[message.message_id] = joined[-1]
        elif message.role == "user" and not _only_results(message):
            open_messages.clear()
    return joined


def _only_results(message: Spoken) -> bool:
    return all(block.get("type") == "tool_result" for block in message.content)


def _collect_results(joined: list[Spoken]) -> _Results:
    results = _Results()
    for position, message in enumerate(joined):
        for block in message.content if message.role == "user" else ():
            if block.get("type") == "tool_result":
                results.waiting[str(block.get("tool_use_id"))].append((position, block))
    return results


def _answers(message: Spoken, position: int, results: _Results, problems: list[str]) -> list[Block]:
    """The results of the message's calls, in the order of the calls; its doubtful blocks are taken out on the way."""
    message.content = _sendable(message.content)
    answers = []
    for block in message.content:
        if block.get("type") == "tool_use":
            result = results.take(block["id"], position)
            if result is None:
                problems.append(f"the call {block['id']} ({block['name']}) has no result; it is reported as interrupted")
            answers.append(result or interrupted_result(block["id"]))
    return answers


def interrupted_result(tool_use_id: str) -> Block:
    """The result of a call that nobody knows the result of."""
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": INTERRUPTED, "is_error": True}


def _sendable(blocks: list[Block]) -> list[Block]:
    kept: list[Block] = []
    calls: set[str] = set()
    for block in blocks:
        if _is_sound(block) and block["type"] != "tool_result" and block.get("id") not in calls:
            kept.append(block)
            if block["type"] == "tool_use":
                calls.add(block["id"])
    while kept and kept[-1]["type"] in ("thinking", "redacted_thinking"):
        kept.pop()
    return kept


def _is_sound(block: Block) -> bool:
    match block.get("type"):
        case "text":
            return bool(isinstance(block.get("text"), str) and block["text"].strip())
        case "thinking":
            return bool(block.get("signature"))
        case "tool_use":
            return (
                isinstance(block.get("id"), str) and isinstance(block.get("name"), str) and isinstance(block.get("input"), dict)
            )
        case kind:
            return isinstance(kind, str)


_NOT_A_USERS = ("tool_result", "tool_use", "thinking", "redacted_thinking")
"""What a user message does not hold, or holds only where `_add_assistant` puts it."""


def _add_user(messages: list[LoadedMessage], message: Spoken) -> None:
    content = [block for block in message.content if _is_sound(block) and block["type"] not in _NOT_A_USERS]
    if content:
        messages.append(LoadedMessage("user", content, message.uuid))


def _add_assistant(messages: list[LoadedMessage], message: Spoken, answers: list[Block]) -> None:
    if message.content:
        messages.append(LoadedMessage("assistant", message.content, message.uuid))
    if answers:
        messages.append(LoadedMessage("user", answers, message.uuid))
