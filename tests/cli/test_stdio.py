"""Standard input and output on real pipes and files."""

import os
import socket
from pathlib import Path

import anyio
import pytest

from toolwright.cli import stdio
from toolwright.cli.plain_output import OutputClosed
from toolwright.cli.stdio import Output, read_all, read_chunk, read_lines, unread

pytestmark = pytest.mark.anyio


async def lines_of(descriptor: int) -> list[bytes]:
    return [bytes(line) async for line in read_lines(descriptor)]


async def test_lines_of_a_file_come_whole_and_the_last_needs_no_end(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\n\ntwo\xe2\x80\xa8still two\nthree")
    with path.open("rb") as file:
        assert await lines_of(file.fileno()) == [b"one", b"", b"two\xe2\x80\xa8still two", b"three"]


async def test_a_line_of_many_megabytes_passes_through_a_pipe() -> None:
    reader, writer = os.pipe()
    line = os.urandom(1 << 10).hex().encode() * (1 << 12)
    output = Output(writer)

    async def write() -> None:
        await output.write(line + b"\n")
        await output.write(b"short\n")
        os.close(writer)

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        assert await lines_of(reader) == [line, b"short"]
    os.close(reader)


async def test_waiting_for_input_does_not_hold_up_the_event_loop() -> None:
    reader, writer = os.pipe()
    async with anyio.create_task_group() as group:

        async def answer() -> None:
            os.write(writer, b"now")

        group.start_soon(answer)
        assert await read_chunk(reader) == b"now"
    os.close(writer)
    assert await read_all(reader) == b""
    os.close(reader)


async def test_a_wait_for_input_can_be_cancelled() -> None:
    reader, writer = os.pipe()
    with anyio.move_on_after(0.01) as scope:
        await read_chunk(reader)
    assert scope.cancelled_caught
    os.close(reader)
    os.close(writer)


async def test_no_input_at_all_is_the_end_of_input() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert await read_all(reader) == b""
    os.close(writer)
    with open("/dev/null", "rb") as nothing:
        assert await read_all(nothing.fileno()) == b""


async def test_writers_take_turns_and_no_line_is_torn() -> None:
    reader, writer = os.pipe()
    output = Output(writer)
    sent = [bytes([65 + number]) * 100_000 for number in range(8)]
    async with anyio.create_task_group() as group:

        async def write_all() -> None:
            async with anyio.create_task_group() as writers:
                for line in sent:
                    writers.start_soon(output.write, line + b"\n")
            os.close(writer)

        group.start_soon(write_all)
        received = await lines_of(reader)
    assert sorted(received) == sent
    os.close(reader)


async def test_a_cancelled_writer_finishes_its_line() -> None:
    reader, writer = os.pipe()
    output = Output(writer)
    line = b"x" * 300_000

    async with anyio.create_task_group() as group:
        inner = anyio.CancelScope()

        async def write() -> None:
            with inner:
                await output.write(line + b"\n")

        group.start_soon(write)
        first = await read_chunk(reader)
        inner.cancel()
        rest = b""
        while len(first) + len(rest) < len(line) + 1:
            rest += await read_chunk(reader)
    assert first + rest == line + b"\n"
    os.close(reader)
    os.close(writer)


async def test_an_abandoned_writer_stops_waiting() -> None:
    reader, writer = os.pipe()
    output = Output(writer)
    async with anyio.create_task_group() as group:
        group.start_soon(output.write, b"x" * 1_000_000)
        assert await read_chunk(reader)
        group.cancel_scope.cancel()
        output.abandon()
    os.close(reader)
    os.close(writer)


async def test_a_reader_that_went_away_is_told() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(OutputClosed):
        await Output(writer).write(b"hello\n")
    os.close(writer)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_it_is_known_when_the_other_side_has_read(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe() if kind == "pipe" else (end.detach() for end in socket.socketpair())
    output = Output(writer)
    await output.write(b"one\n")
    assert unread(writer) > 0
    async with anyio.create_task_group() as group:
        group.start_soon(output.taken)
        await anyio.sleep(0.01)
        os.read(reader, 100)
    assert unread(writer) == 0
    await output.write(b"two\n")
    monkeypatch.setattr(stdio, "MAX_LOOKS", 3)
    await output.taken()  # nobody reads: it is waited for a moment, not for ever
    assert unread(writer) > 0
    os.close(reader)
    os.close(writer)


async def test_a_file_is_never_waited_for(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        output = Output(file.fileno())
        await output.write(b"one\n")
        assert unread(file.fileno()) == 0
        await output.taken()
