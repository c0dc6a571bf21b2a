"""A recorded session as a model: the n-th request of a conversation gets the n-th recorded answer.

It reads a transcript (JSON lines; an answer is stored as one entry per content block, with the same message id). Subagents,
errors that the runtime put into words and lines of other kinds are passed over. Tools run for real while it plays: what they
give may differ from the recording, which goes unnoticed unless it is `strict`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from toolwright.models.answer_events import DEFAULT_USAGE
from toolwright.models.base import HistoryMessage, ModelError, ModelRequest
from toolwright.models.scripted import Block, ScriptedModel, Turn
from toolwright.types.errors import OptionsError

SYNTHETIC = "<synthetic>"
MAX_SHOWN_LENGTH = 200
NO_RECORDED_MODEL = "replay"


class RecordedAnswer(Struct):
    """One answer of the recording, and what the model had been told since the one before."""

    id: str
    model: str
    told: list[str]
    blocks: list[dict[str, Any]] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)
    stop_reason: str | None = None


class ReplayModel(ScriptedModel):
    """`ReplayModel("session.jsonl")`. With `strict`, a request that differs from the recorded one is a `ModelError`."""

    def __init__(self, path: str | Path, *, strict: bool = False, record: bool = True) -> None:
        self.path = Path(path).expanduser()
        answers = read_recording(self.path)
        steps = [partial(_replay, answer, number, strict) for number, answer in enumerate(answers, 1)]
        super().__init__(steps, model=answers[0].model or NO_RECORDED_MODEL, record=record)

    def _exhausted(self, number: int, steps: int) -> ModelError:
        text = f"The recording {self.path} is over: it has {steps} answer{'s' * (steps != 1)}, and this is request {number}."
        return ModelError(text, kind="invalid_request")


def _replay(answer: RecordedAnswer, number: int, strict: bool, request: ModelRequest) -> Turn:
    if strict:
        _compare(answer.told, told_last(request.messages), number)
    return Turn(
        [Block(block) for block in answer.blocks],
        stop_reason=answer.stop_reason,
        usage=answer.usage or DEFAULT_USAGE,
        message_id=answer.id,
        model=answer.model or None,
    )


def read_recording(path: Path) -> list[RecordedAnswer]:
    """The answers in the transcript, in order; there is at least one."""
    answers: dict[str, RecordedAnswer] = {}
    told: list[str] = []
    for entry in _entries(path):
        message = entry.get("message")
        if entry.get("isSidechain") or entry.get("isApiErrorMessage") or not isinstance(message, dict):
            continue
        if entry.get("type") == "user":
            told += _told(message.get("content"))
        elif entry.get("type") == "assistant" and message.get("model") != SYNTHETIC:
            told = _add(answers, message, told)
    if not answers:
        raise OptionsError(f"{path}: there is no answer of a model in it; is it a session transcript?")
    return list(answers.values())


def _add(answers: dict[str, RecordedAnswer], message: Mapping[str, Any], told: list[str]) -> list[str]:
    """Put one entry where it belongs; what is left of `told` for the next answer."""
    key = str(message.get("id") or f"msg_replay_{len(answers)}")
    if key not in answers:
        answers[key] = RecordedAnswer(key, str(message.get("model") or ""), told)
        told = []
    answer = answers[key]
    content = message.get("content")
    answer.blocks += [dict(block) for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    answer.usage = message.get("usage") or answer.usage
    answer.stop_reason = message.get("stop_reason") or answer.stop_reason
    return told


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The lines that are JSON objects. The last may be torn; one in the middle that is no JSON would lose an answer."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise OptionsError(f"{path}: the recording cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            entry = msgspec.json.decode(line) if line.strip() else None
        except (msgspec.DecodeError, RecursionError) as error:
            if number == len(lines):
                return
            raise OptionsError(f"{path}: line {number} is not JSON: {error}") from error
        if isinstance(entry, dict):
            yield entry


# comparing


def told_last(messages: Sequence[HistoryMessage]) -> list[str]:
    """What the user side has said since the last answer."""
    told: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        told[:0] = _told(message.content)
    return told


def _told(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [_in_words(block) for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _in_words(block: Mapping[str, Any]) -> str:
    """What is compared of a block: its text, or its kind. Ids are left out: they may be new in every run."""
    if block.get("type") == "text":
        return str(block.get("text"))
    if block.get("type") == "tool_result":
        mark = "error" if block.get("is_error") else "result"
        return f"({mark}) " + "\n".join(_told(block.get("content")))
    return f"({block.get('type')})"


def _compare(recorded: list[str], now: list[str], number: int) -> None:
    for position, (before, after) in enumerate(zip(recorded, now, strict=False), 1):
        if before != after:
            text = f"block {position} was {_shown(before)} and now is {_shown(after)}"
            raise ModelError(f"Request {number} differs from the recording: {text}.", kind="invalid_request")
    if len(recorded) != len(now):
        text = f"it had {len(recorded)} blocks since the last answer, and now has {len(now)}"
        raise ModelError(f"Request {number} differs from the recording: {text}.", kind="invalid_request")


def _shown(text: str) -> str:
    return (
        repr(text)
        if len(text) <= MAX_SHOWN_LENGTH
        else f"{text[:MAX_SHOWN_LENGTH]!r} and {len(text) - MAX_SHOWN_LENGTH} more characters"
    )
