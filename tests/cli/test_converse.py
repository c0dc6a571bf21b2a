"""The stream-json conversation as it is carried."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from support_cli import catching
from toolwright.cli.converse import converse
from toolwright.cli.frame_io import Frame, FrameOutput
from toolwright.types import ClaudeSDKError

pytestmark = pytest.mark.anyio

Write = Callable[[Frame], Awaitable[None]]


async def echo(read: AsyncIterator[Frame], write: Write) -> int:
    async for frame in read:
        await write({"echo": frame})
    return 0


async def carried(serve: Any, data: bytes, folder: Path) -> tuple[int, list[Frame]]:
    (folder / "stdin").write_bytes(data)
    stdin = os.open(folder / "stdin", os.O_RDONLY)
    try:
        with catching(folder) as caught:
            code = await converse(serve, stdin=stdin, output=FrameOutput(caught.descriptor, lambda: None))
            return code, [json.loads(line) for line in caught.text.splitlines()]
    finally:
        os.close(stdin)


async def test_frames_are_carried_until_stdin_ends(tmp_path: Path) -> None:
    code, frames = await carried(echo, b'{"n":1}\n{"n":2}\n', tmp_path)
    assert (code, frames) == (0, [{"echo": {"n": 1}}, {"echo": {"n": 2}}])


async def test_a_malformed_line_is_told_on_both_outputs_and_the_conversation_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, frames = await carried(echo, b'{"n":1}\n{"n":\n{"n":3}\n', tmp_path)
    assert code == 0
    assert frames[0] == {"echo": {"n": 1}}
    assert frames[2] == {"echo": {"n": 3}}
    assert (frames[1]["type"], frames[1]["subtype"]) == ("system", "informational")
    assert frames[1]["content"].startswith("line 2 of stdin")
    assert capfd.readouterr().err.startswith("toolwright: line 2 of stdin")


async def test_a_failure_is_also_an_error_result(tmp_path: Path) -> None:
    async def fail(read: AsyncIterator[Frame], write: Write) -> int:
        raise ClaudeSDKError("the sky fell")

    (tmp_path / "stdin").touch()
    with catching(tmp_path) as caught, open(tmp_path / "stdin", "rb") as stdin:
        with pytest.raises(ClaudeSDKError):
            await converse(fail, stdin=stdin.fileno(), output=FrameOutput(caught.descriptor, lambda: None))
        result = json.loads(caught.text)
    assert (result["type"], result["is_error"], result["errors"]) == ("result", True, ["the sky fell"])
