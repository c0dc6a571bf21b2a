"""`toolwright -p`: one prompt, one answer, as text, as JSON or frame by frame."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from toolwright.cli.failures import EXIT_FAILED, complain, error_result, result_of
from toolwright.cli.flags import UsageError
from toolwright.cli.frame_io import Frame, FrameOutput
from toolwright.cli.stdio import read_all, read_chunk

if TYPE_CHECKING:
    from toolwright.runtime.interfaces import Session

STDIN_TIMEOUT = 3.0
"""How long the first byte of a stdin that may be nobody's is waited for."""
CLOSE_TIMEOUT = 5.0
SILENT = (
    'no prompt: no argument was given (toolwright -p "…"), and stdin is open but nothing came from it within '
    "{seconds:g} seconds (toolwright -p - waits for it as long as it takes)"
)

OpenSession = Callable[[], Awaitable["Session"]]


async def read_prompt(words: Sequence[str], descriptor: int) -> str:
    """The argument, what is piped in, or both, the argument first."""
    argument = "" if tuple(words) == ("-",) else " ".join(words)
    if os.isatty(descriptor):
        return argument
    piped = await (read_all(descriptor) if tuple(words) == ("-",) else _piped_in_time(descriptor, has_argument=bool(argument)))
    text = piped.decode("utf-8", "replace").strip()
    if "\ufffd" in text and b"\xef\xbf\xbd" not in piped:
        complain("stdin is not UTF-8; what could not be read is shown to the model as \ufffd")
    return "\n\n".join(part for part in (argument, text) if part)


async def _piped_in_time(descriptor: int, *, has_argument: bool) -> bytes:
    """What is piped in, if it begins in time. Without an argument there is nothing to go on with then: `UsageError`."""
    first = b""
    with anyio.move_on_after(STDIN_TIMEOUT) as waiting:
        first = await read_chunk(descriptor)
    if waiting.cancelled_caught:
        if not has_argument:
            raise UsageError(SILENT.format(seconds=STDIN_TIMEOUT))
        complain("nothing came from stdin; going on with the prompt alone (use < /dev/null to say there is nothing)")
        return b""
    return first + await read_all(descriptor) if first else b""


async def ask(open_session: OpenSession, prompt: str, *, output: FrameOutput, output_format: str) -> int:
    """Hold the conversation of one prompt and print what the format asks for; the exit code."""
    every_frame = output.write if output_format == "stream-json" else _tell_of_waiting
    try:
        result = await _converse(open_session, prompt, every_frame)
    except Exception as error:  # told here as well, in the format that was asked for; then passed on
        if output_format != "text":
            await output.write(result_of(error))
        raise
    if output_format == "json":
        await output.write(result)
    elif output_format == "text":
        await _print_text(result, output)
    return EXIT_FAILED if result.get("is_error") else 0


async def _tell_of_waiting(frame: Frame) -> None:
    """Whoever only gets the answer hears of what holds it up."""
    if frame.get("subtype") == "api_retry":
        complain(retry_words(frame))


async def _converse(open_session: OpenSession, prompt: str, each: Callable[[Frame], Awaitable[None]]) -> Frame:
    session = await open_session()
    try:
        await session.start()
        await session.send(user_frame(prompt))
        await session.end_input()
        result = None
        async for frame in session.frames():
            await each(frame)
            if frame.get("type") == "result":
                result = frame
    finally:
        with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
            await session.close()
    return result or error_result("the session ended without a result")


def user_frame(prompt: str) -> Frame:
    return {
        "type": "user",
        "message": {"role": "user", "content": prompt},
        "parent_tool_use_id": None,
        "session_id": "",
    }


async def _print_text(result: Frame, output: FrameOutput) -> None:
    if result.get("is_error"):
        complain(what_failed(result))
    else:
        await output.write_text(f"{structured_answer(result) or result.get('result') or ''}\n")
    complain_about_denials(result)


def complain_about_denials(result: Frame) -> None:
    refused = sorted({str(denial.get("tool_name")) for denial in result.get("permission_denials") or ()})
    if refused:
        complain(f"not allowed: {', '.join(refused)} (see --allowed-tools and --permission-mode)")


def structured_answer(result: Frame) -> str | None:
    """An answer that was asked for in the form of a schema, as JSON."""
    if result.get("result") is None and result.get("structured_output") is not None:
        return json.dumps(result["structured_output"], ensure_ascii=False)
    return None


def retry_words(frame: Frame) -> str:
    """What went wrong is said once; after that, only how it goes on."""
    problem = "still no answer" if frame.get("attempt", 1) > 1 else str(frame.get("message") or frame.get("error"))
    delay = (frame.get("retry_delay_ms") or 0) / 1000
    return f"{problem}; trying again in {delay:.1f} s ({frame.get('attempt')} of {frame.get('max_retries')})"


def what_failed(result: Frame) -> str:
    errors: list[Any] = result.get("errors") or []
    return "; ".join(str(error) for error in errors) or str(result.get("result") or result.get("subtype"))
