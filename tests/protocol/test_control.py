import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolwright.base.concurrency import Channel, ChannelClosed
from toolwright.protocol.control import ControlPeer, client_ids, session_ids, unsupported
from toolwright.types import CLIConnectionError, ControlError

pytestmark = pytest.mark.anyio

Frame = dict[str, Any]
Handler = Callable[[Frame], Awaitable[Frame]]


async def echo(request: Frame) -> Frame:
    return {"echo": request}


class Wire:
    """Two peers, and every frame that went from one to the other."""

    def __init__(self, client: Handler, session: Handler) -> None:
        self.to_session: Channel[Frame] = Channel()
        self.to_client: Channel[Frame] = Channel()
        self.log: list[Frame] = []
        self.client = ControlPeer(self.to_session.put, client, new_id=client_ids())
        self.session = ControlPeer(self.to_client.put, session, new_id=session_ids())

    async def carry(self, channel: Channel[Frame], peer: ControlPeer) -> None:
        try:
            while True:
                frame = await channel.get()
                self.log.append(frame)
                assert peer.deliver(frame)
        except ChannelClosed:
            pass


@asynccontextmanager
async def wired(client: Handler = echo, session: Handler = echo) -> AsyncIterator[Wire]:
    wire = Wire(client, session)
    async with anyio.create_task_group() as group:
        group.start_soon(wire.carry, wire.to_session, wire.session)
        group.start_soon(wire.carry, wire.to_client, wire.client)
        yield wire
        wire.client.close()
        wire.session.close()
        await wire.client.wait_closed()
        await wire.session.wait_closed()
        wire.to_client.close()
        wire.to_session.close()


async def test_both_sides_ask_and_answer() -> None:
    async with wired() as wire:
        assert await wire.client.request({"subtype": "interrupt"}) == {"echo": {"subtype": "interrupt"}}
        assert await wire.session.request({"subtype": "can_use_tool"}) == {"echo": {"subtype": "can_use_tool"}}
        asked = [frame["request_id"] for frame in wire.log if frame["type"] == "control_request"]
    assert re.fullmatch(r"req_1_[0-9a-f]{8}", asked[0])
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", asked[1])


async def test_answers_may_come_in_any_order() -> None:
    first_may_go = anyio.Event()

    async def handle(request: Frame) -> Frame:
        if request["number"] == 1:
            await first_may_go.wait()
        return request

    answers: list[int] = []

    async with wired(session=handle) as wire, anyio.create_task_group() as group:

        async def ask(number: int) -> None:
            answers.append((await wire.client.request({"subtype": "x", "number": number}))["number"])
            first_may_go.set()

        group.start_soon(ask, 1)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(ask, 2)
    assert answers == [2, 1]


async def test_a_refusal_carries_its_text_and_code() -> None:
    async def refuse(request: Frame) -> Frame:
        raise unsupported(request["subtype"])

    async with wired(session=refuse) as wire:
        with pytest.raises(ControlError, match="Unsupported control request subtype: dance") as caught:
            await wire.client.request({"subtype": "dance"})
        assert caught.value.code == "unsupported_request"


async def test_a_handler_that_raises_becomes_an_error_answer() -> None:
    async def fail(request: Frame) -> Frame:
        raise KeyError("tool_name")

    async with wired(session=fail) as wire:
        with pytest.raises(ControlError, match="tool_name"):
            await wire.client.request({"subtype": "x"})


async def test_a_request_that_is_not_answered_in_time_names_itself_and_is_withdrawn() -> None:
    cancelled = anyio.Event()

    async def never(request: Frame) -> Frame:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return {}

    async with wired(session=never) as wire:
        with pytest.raises(ControlError, match="Control request timeout: initialize"):
            await wire.client.request({"subtype": "initialize"}, timeout=0.01)
        with anyio.fail_after(5):
            await cancelled.wait()


async def test_cancelling_the_asker_cancels_the_handler_which_then_does_not_answer() -> None:
    started, cancelled = anyio.Event(), anyio.Event()

    async def never(request: Frame) -> Frame:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return {}

    async with wired(client=never) as wire:
        async with anyio.create_task_group() as group:
            group.start_soon(wire.session.request, {"subtype": "hook_callback"})
            await started.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            await cancelled.wait()
        kinds = [frame["type"] for frame in wire.log]
    assert kinds == ["control_request", "control_cancel_request"]


async def test_closing_fails_what_waits_and_what_comes_later() -> None:
    async def never(request: Frame) -> Frame:
        await anyio.sleep_forever()
        return {}

    async with wired(session=never) as wire:
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                with pytest.raises(CLIConnectionError, match="cut"):
                    await wire.client.request({"subtype": "interrupt"})

            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            wire.client.close(CLIConnectionError("cut"))
        with pytest.raises(CLIConnectionError, match="cut"):
            await wire.client.request({"subtype": "interrupt"})


async def test_a_handler_may_close_its_own_connection_without_waiting_for_itself() -> None:
    done = anyio.Event()

    async def closing(request: Frame) -> Frame:
        with anyio.CancelScope(shield=True):
            wire.client.close()
            await wire.client.wait_closed()
        done.set()
        return {}

    async with wired(client=closing) as wire, anyio.create_task_group() as group:
        group.start_soon(wire.session.request, {"subtype": "x"})
        with anyio.fail_after(5):
            await done.wait()
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "control_response"},
        {"type": "control_response", "response": {"request_id": "req_99", "subtype": "success"}},
        {"type": "control_response", "response": {"request_id": {}, "subtype": "success"}},
        {"type": "control_request"},
        {"type": "control_request", "request_id": 7, "request": {"subtype": "x"}},
        {"type": "control_cancel_request"},
        {"type": "control_cancel_request", "request_id": "unknown"},
    ],
)
async def test_control_frames_that_make_no_sense_are_taken_and_dropped(frame: Frame) -> None:
    async with wired() as wire:
        assert wire.client.deliver(frame)
        assert await wire.client.request({"subtype": "still alive"})


@pytest.mark.parametrize("request_", [None, [], {}, {"subtype": 7}])
async def test_a_request_without_a_subtype_is_refused(request_: object) -> None:
    async with wired() as wire:
        wire.client.deliver({"type": "control_request", "request_id": "a", "request": request_})
        await anyio.wait_all_tasks_blocked()
        assert wire.log[0]["response"]["error_code"] == "invalid_request"


async def test_other_frames_are_left_to_the_caller() -> None:
    async with wired() as wire:
        assert not wire.client.deliver({"type": "assistant"})
        assert not wire.client.deliver({})
