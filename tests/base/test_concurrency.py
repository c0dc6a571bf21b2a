"""Owner tasks and channels."""

from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import pytest

from toolwright.base.concurrency import Channel, ChannelClosed, spawn

pytestmark = pytest.mark.anyio


async def test_a_full_channel_makes_the_writer_wait() -> None:
    channel: Channel[int] = Channel(limit=2)
    written: list[int] = []

    async def write() -> None:
        for number in range(4):
            await channel.put(number)
            written.append(number)

    task = spawn(write, name="writer")
    await anyio.wait_all_tasks_blocked()
    assert written == [0, 1]
    assert [await channel.get() for _ in range(4)] == [0, 1, 2, 3]
    await task.wait()


async def test_heavy_items_make_the_writer_wait_as_well_but_one_alone_never_does() -> None:
    channel: Channel[str] = Channel(limit=100, most_weight=10, weigh=len)
    await channel.put("x" * 50)
    written: list[int] = []

    async def write() -> None:
        for number in range(3):
            await channel.put("xxxx")
            written.append(number)

    task = spawn(write, name="writer")
    await anyio.wait_all_tasks_blocked()
    assert written == []
    assert len(await channel.get()) == 50
    await anyio.wait_all_tasks_blocked()
    assert written == [0, 1]
    await channel.get()
    await task.wait()


async def test_a_closed_channel_gives_what_is_inside_then_ends() -> None:
    channel: Channel[str] = Channel()
    channel.put_now("last")
    channel.close()
    channel.put_now("too late")
    assert await channel.get() == "last"
    with pytest.raises(ChannelClosed):
        await channel.get()


async def test_a_channel_closed_with_an_error_raises_it() -> None:
    channel: Channel[str] = Channel()
    channel.close(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        await channel.get()


async def test_closing_wakes_a_waiting_writer_and_reader() -> None:
    channel: Channel[int] = Channel(limit=1)
    channel.put_now(1)

    async def write() -> None:
        await channel.put(2)

    task = spawn(write, name="writer")
    await anyio.wait_all_tasks_blocked()
    channel.close()
    await task.wait()
    assert task.error is None


async def test_a_generator_fed_by_an_owned_task_can_be_closed_from_another_task() -> None:
    channel: Channel[int] = Channel(limit=1)

    async def count() -> None:
        number = 0
        while True:
            await channel.put(number)
            number += 1

    task = spawn(count, name="counter")

    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield await channel.get()
        finally:
            task.cancel()

    stream = numbers()
    assert await anext(stream) == 0

    async def close() -> None:
        await stream.aclose()  # type: ignore[attr-defined]  # an async generator, seen as an iterator

    async with anyio.create_task_group() as group:
        group.start_soon(close)
    await task.wait()
    assert task.done
    assert task.error is None


async def test_what_the_work_raises_is_kept_for_the_owner() -> None:
    async def fail() -> None:
        raise RuntimeError("no")

    task = spawn(fail, name="failing")
    await task.wait()
    assert isinstance(task.error, RuntimeError)


async def test_a_task_cancelled_before_it_runs_never_runs() -> None:
    ran: list[bool] = []

    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        ran.append(True)

    task = spawn(work, name="never")
    task.cancel()
    await task.wait()
    assert ran == []


async def test_a_channel_is_read_by_a_loop_that_may_be_left_and_taken_up_again() -> None:
    channel: Channel[int] = Channel()
    for number in range(4):
        channel.put_now(number)
    channel.close()
    async for number in channel:
        if number == 1:
            break
    assert [number async for number in channel] == [2, 3]


async def test_a_writer_can_wait_until_a_reader_is_back_for_more() -> None:
    channel: Channel[int] = Channel()
    seen: list[str] = []

    async def read() -> None:
        async for number in channel:
            await anyio.lowlevel.checkpoint()
            seen.append(f"read {number}")

    task = spawn(read, name="reader")
    for number in range(3):
        await channel.put(number)
        await channel.rested()
        seen.append("rested")
    assert seen == ["read 0", "rested", "read 1", "rested", "read 2", "rested"]
    channel.close()
    await channel.rested()
    await task.wait()


async def test_two_readers_of_an_empty_channel_do_not_wake_each_other() -> None:
    channel: Channel[int] = Channel()

    async def read() -> None:
        await channel.get()

    first, second = (spawn(read, name="reader") for _ in range(2))
    await anyio.wait_all_tasks_blocked()  # it does not come back if they never rest
    channel.put_now(1)
    await channel.rested()
    assert first.done != second.done
    channel.put_now(2)
    await first.wait()
    await second.wait()
