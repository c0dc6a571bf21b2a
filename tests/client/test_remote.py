from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_client import fake_cli, fake_transport, nothing_left
from support_fake_cli import FakeSession, result, state, text
from toolwright.client.remote import RemoteSession
from toolwright.protocol.memory import MemoryPeer, memory_transport_pair
from toolwright.protocol.subprocess import SubprocessTransport
from toolwright.protocol.transport import Transport
from toolwright.runtime.interfaces import Host, Session
from toolwright.types import (
    CLIConnectionError,
    CLIJSONDecodeError,
    ControlError,
    HookMatcher,
    PermissionResultAllow,
    ProcessError,
    ResultError,
)

pytestmark = pytest.mark.anyio

Frame = dict[str, Any]


def user(content: str) -> Frame:
    return {"type": "user", "message": {"role": "user", "content": content}}


async def no_hook(payload: Any, tool_use_id: str | None, context: Any) -> Any:
    return {}


HOOKED = Host(hooks={"Stop": [HookMatcher(hooks=[no_hook])]})


@asynccontextmanager
async def scripted_peer(host: Host | None = None) -> AsyncIterator[tuple[RemoteSession, MemoryPeer, AsyncIterator[Frame]]]:
    """A session that has started, its other end, and what the session writes to it from now on."""
    transport, peer = memory_transport_pair()
    session = RemoteSession(transport, host=host)
    written = peer.frames()
    async with anyio.create_task_group() as group:
        group.start_soon(session.start)
        asked = await anext(written)
        answer = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
        await peer.write({"type": "control_response", "response": answer})
    try:
        yield session, peer, written
    finally:
        await session.close()


async def all_frames(session: RemoteSession) -> list[Frame]:
    return [frame async for frame in session.frames()]


def test_it_is_a_session() -> None:
    transport, _ = memory_transport_pair()
    session: Session = RemoteSession(transport)
    assert session is not None


async def test_starting_tells_the_other_side_who_asks() -> None:
    async with fake_transport() as transport:
        session = RemoteSession(transport, host=HOOKED, initialize={"skills": ["pdf"]})
        answer = await session.start()
        assert answer["saw"] == {
            "subtype": "initialize",
            "hooks": {"Stop": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]},
            "skills": ["pdf"],
        }
        await session.close()


async def test_state_frames_for_the_host_and_mirrored_lines_are_not_given_out() -> None:
    async with scripted_peer() as (session, peer, _):
        await session.send(user("hi"))
        shown = {"type": "system", "subtype": "session_state_changed", "state": "running"}
        for frame in (state("running"), shown, {"type": "transcript_mirror", "entries": []}, result("x"), state("idle")):
            await peer.write(frame)
        peer.end()
        assert [frame["type"] for frame in await all_frames(session)] == ["system", "result"]


async def test_input_closes_at_once_when_nothing_here_could_be_asked() -> None:
    async with scripted_peer() as (session, _, written):
        await session.send(user("hi"))
        await session.end_input()
        assert [frame["type"] async for frame in written] == ["user"]


async def test_input_stays_open_for_questions_until_the_run_has_ended() -> None:
    async with scripted_peer(HOOKED) as (session, peer, written):
        await session.send(user("hi"))
        await session.end_input()
        assert (await anext(written))["type"] == "user"
        await peer.write(state("running"))
        hook = {"subtype": "hook_callback", "callback_id": "hook_0", "input": {}}
        await peer.write({"type": "control_request", "request_id": "q1", "request": hook})
        answer = await anext(written)
        assert answer["response"] == {"subtype": "success", "request_id": "q1", "response": {}}
        await peer.write(result("done"))
        await peer.write(state("idle"))
        with pytest.raises(StopAsyncIteration):
            await anext(written)


async def test_input_closes_when_a_run_that_ended_earlier_is_told_to_end() -> None:
    async with scripted_peer(HOOKED) as (session, peer, written):
        await session.send(user("hi"))
        assert (await anext(written))["type"] == "user"
        await peer.write(result("done"))
        await peer.write(state("idle"))
        await anyio.wait_all_tasks_blocked()
        await session.end_input()
        with pytest.raises(StopAsyncIteration):
            await anext(written)


async def test_messages_answered_together_do_not_keep_the_input_open() -> None:
    async with scripted_peer(HOOKED) as (session, peer, written):
        await session.send(user("one"))
        await session.send(user("two"))
        await session.end_input()
        await peer.write(state("running"))
        await peer.write(result("both"))
        await peer.write(state("idle"))
        with anyio.fail_after(10):
            assert [frame["type"] async for frame in written] == ["user", "user"]


async def test_a_slow_reader_slows_the_other_side_down() -> None:
    async with scripted_peer() as (session, peer, _):
        sent: list[int] = []

        async def flood() -> None:
            for number in range(500):
                await peer.write(text(str(number)))
                sent.append(number)
            peer.end()

        async with anyio.create_task_group() as group:
            group.start_soon(flood)
            await anyio.wait_all_tasks_blocked()
            assert len(sent) < 250
            frames = await all_frames(session)
        assert len(frames) == 500


async def test_a_question_is_answered_although_nobody_reads_the_frames_before_it() -> None:
    async with fake_transport() as transport:
        session = RemoteSession(transport)
        await session.start()
        await session.send(user("many 500"))
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(5):
            assert (await session.control({"subtype": "interrupt"}))["saw"] == {"subtype": "interrupt"}
        await session.end_input()
        assert len(await all_frames(session)) == 502
        await session.close()


async def test_a_refused_control_request_says_why() -> None:
    async with fake_transport() as transport:
        session = RemoteSession(transport)
        await session.start()
        with pytest.raises(ControlError, match="no such model") as caught:
            await session.control({"subtype": "set_model", "model": "bad"})
        assert caught.value.code == "invalid_model"
        await session.close()


@pytest.mark.parametrize("failure", [RuntimeError("pulled the plug"), OSError(5, "I/O error"), CLIConnectionError("cut")])
async def test_a_transport_that_dies_is_a_typed_error_for_everyone_who_waits(failure: Exception) -> None:
    async with scripted_peer() as (session, peer, written):
        await session.send(user("hi"))
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                with pytest.raises(CLIConnectionError):
                    await session.control({"subtype": "interrupt"})

            group.start_soon(ask)
            assert (await anext(written))["type"] == "user"
            assert (await anext(written))["type"] == "control_request"
            await peer.write(text("half"))
            peer.end(failure)
        stream = session.frames()
        assert (await anext(stream))["type"] == "assistant"
        with pytest.raises(CLIConnectionError, match=r"pulled the plug|I/O error|cut"):
            await anext(stream)
        with pytest.raises(CLIConnectionError):
            await session.control({"subtype": "interrupt"})


async def test_an_end_without_an_answer_is_an_error() -> None:
    async with scripted_peer() as (session, peer, _):
        await session.send(user("hi"))
        peer.end()
        with pytest.raises(CLIConnectionError, match="without an answer"):
            await all_frames(session)


async def test_an_end_after_the_answer_is_just_the_end() -> None:
    async with scripted_peer() as (session, peer, _):
        await session.send(user("hi"))
        await peer.write(result("fine"))
        peer.end()
        assert len(await all_frames(session)) == 1


async def test_a_failed_run_is_told_once_by_its_result(tmp_path: Path) -> None:
    session = RemoteSession(SubprocessTransport([str(fake_cli(tmp_path))]))
    await session.start()
    await session.send(user("fail badly"))
    await session.end_input()
    frames = await all_frames(session)
    assert frames[-1]["is_error"]
    with pytest.raises(ResultError, match="badly"):
        await session.control({"subtype": "interrupt"})
    await session.close()


async def test_a_program_that_dies_says_its_last_words(tmp_path: Path) -> None:
    async with nothing_left():
        session = RemoteSession(SubprocessTransport([str(fake_cli(tmp_path))]))
        await session.start()
        await session.send(user("die"))
        with pytest.raises(ProcessError, match="last words") as caught:
            await all_frames(session)
        assert caught.value.exit_code == 3
        await session.close()


async def test_a_malformed_line_from_a_program_is_a_typed_error(tmp_path: Path) -> None:
    session = RemoteSession(SubprocessTransport([str(fake_cli(tmp_path))]))
    await session.start()
    await session.send(user("raw {not json"))
    with pytest.raises(CLIJSONDecodeError, match="not json"):
        await all_frames(session)
    await session.close()


async def test_a_program_that_fails_at_the_start_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text("#!/bin/sh\necho 'wrong option --verbose' >&2\nexit 2\n")
    path.chmod(0o755)
    async with nothing_left():
        session = RemoteSession(SubprocessTransport([str(path)]))
        with pytest.raises((ProcessError, CLIConnectionError), match="wrong option"):
            await session.start()


async def test_a_callback_that_raises_is_an_error_answer_and_the_conversation_goes_on() -> None:
    async def careless(*arguments: Any) -> Any:
        raise RuntimeError("oops")

    host = Host(can_use_tool=careless, hooks={"Stop": [HookMatcher(hooks=[careless])]})
    async with fake_transport() as transport:
        session = RemoteSession(transport, host=host)
        await session.start()
        for prompt in ("ask", "hook hook_0"):
            await session.send(user(prompt))
        await session.end_input()
        said = [frame["message"]["content"][0]["text"] for frame in await all_frames(session) if frame["type"] == "assistant"]
        assert said == ['"oops"', '"oops"']
        await session.close()


async def test_a_callback_may_close_the_session_it_is_asked_by() -> None:
    async def leave(*arguments: Any) -> Any:
        await session.close()
        return PermissionResultAllow()

    async with fake_transport() as transport:
        session = RemoteSession(transport, host=Host(can_use_tool=leave))
        await session.start()
        await session.send(user("ask"))
        with anyio.fail_after(4):
            await all_frames(session)
            await session.close()


async def test_closing_cancels_a_callback_that_still_thinks() -> None:
    started, cancelled = anyio.Event(), anyio.Event()

    async def ponder(*arguments: Any) -> Any:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    async with nothing_left(), fake_transport() as transport:
        session = RemoteSession(transport, host=Host(can_use_tool=ponder))
        await session.start()
        await session.send(user("ask"))
        await started.wait()
        await session.close()
        assert cancelled.is_set()


async def test_a_session_that_is_started_again_only_answers_again() -> None:
    async with fake_transport() as transport:
        session = RemoteSession(transport)
        assert await session.start() is await session.start()
        await session.close()
        await session.close()
        assert await all_frames(session) == []


class Stubborn(Transport):
    """A transport of a host's own, whose every method fails once it is connected."""

    async def connect(self) -> None: ...

    async def write(self, data: str) -> None:
        raise RuntimeError("cannot write")

    async def read_messages(self) -> AsyncIterator[Frame]:
        await anyio.sleep_forever()
        yield {}

    async def close(self) -> None:
        raise RuntimeError("cannot close")

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        raise RuntimeError("cannot end")


async def test_a_transport_that_raises_its_own_errors_gives_ours() -> None:
    async with nothing_left():
        with pytest.raises(CLIConnectionError, match="RuntimeError: cannot write"):
            await RemoteSession(Stubborn()).start()


async def test_a_session_that_is_not_interested_in_state_ends_after_its_results() -> None:
    async with fake_transport(FakeSession(tells_state=False)) as transport:
        session = RemoteSession(transport, host=HOOKED)
        await session.start()
        await session.send(user("say hello"))
        await session.end_input()
        with anyio.fail_after(5):
            frames = await all_frames(session)
        assert [frame["type"] for frame in frames] == ["system", "assistant", "result"]
        await session.close()
