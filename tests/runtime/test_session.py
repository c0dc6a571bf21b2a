"""A session: its queue, interrupts at any moment, and its end."""

import gc
import json
import os
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from support_client import nothing_left
from support_runtime import assert_valid_history, options_for, play, results, session_for, text_of, texts, until_result, user
from toolwright.models.base import ModelRequest
from toolwright.models.scripted import Call, Say, ScriptedModel, Turn, WaitFor
from toolwright.runtime.assemble import open_session
from toolwright.types import (
    ClaudeSDKError,
    CLIConnectionError,
    PermissionResult,
    PermissionResultAllow,
    ToolPermissionContext,
)

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


# interrupts


async def test_an_interrupt_while_the_model_streams_keeps_the_text_so_far(tmp_path: Path) -> None:
    arrived, never = anyio.Event(), anyio.Event()

    async def wait() -> None:
        arrived.set()
        await never.wait()

    model = ScriptedModel([Turn([Say("The beginning"), WaitFor(wait), Say("and the end")]), Say("I am back.")])
    async with session_for(tmp_path, model, tools=[]) as session:
        await session.send(user("go"))
        await arrived.wait()
        assert await session.control({"subtype": "interrupt"}) == {"still_queued": []}
        frames = await until_result(session)
        assert texts(frames) == ["The beginning"]
        assert (frames[-1]["subtype"], frames[-1]["terminal_reason"]) == ("error_during_execution", "aborted_streaming")
        assert frames[-2]["isSynthetic"] is True
        await session.send(user("again"))
        assert (await until_result(session))[-1]["result"] == "I am back."
    assert_valid_history(model)


async def test_an_interrupt_while_tools_run_gives_every_call_its_result(tmp_path: Path) -> None:
    arrived, never = anyio.Event(), anyio.Event()

    async def hang() -> str:
        """Hang."""
        arrived.set()
        await never.wait()
        return "never"

    model = ScriptedModel([[Call("add", {"a": 1, "b": 1}), Call("hang", {}), Call("add", {"a": 2, "b": 2})], Say("back")])
    async with session_for(tmp_path, model, tools=[add, hang]) as session:
        await session.send(user("go"))
        await arrived.wait()
        await session.control({"subtype": "interrupt"})
        frames = await until_result(session)
        assert [text_of(result)[:13] for result in results(frames)] == ["2", "This call was", "This call was"]
        assert frames[-1]["terminal_reason"] == "aborted_tools"
        await session.send(user("again"))
        assert (await until_result(session))[-1]["result"] == "back"
    assert_valid_history(model)


async def test_an_interrupt_while_a_person_is_asked(tmp_path: Path) -> None:
    asked, never = anyio.Event(), anyio.Event()

    async def think(name: str, given: dict[str, object], context: ToolPermissionContext) -> PermissionResult:
        asked.set()
        await never.wait()
        return PermissionResultAllow()

    model = ScriptedModel([Call("Write", {"file_path": "x", "content": "y"}), Say("back")])
    async with session_for(tmp_path, model, can_use_tool=think) as session:
        await session.send(user("go"))
        await asked.wait()
        await session.control({"subtype": "interrupt"})
        frames = await until_result(session)
        assert len(results(frames)) == 1
        assert frames[-1]["terminal_reason"] == "aborted_tools"
        assert not (tmp_path / "workspace" / "x").exists()
    assert_valid_history(model)


async def test_an_interrupt_at_the_very_start_is_not_lost(tmp_path: Path) -> None:
    interrupted = anyio.Event()

    async def answer(request: ModelRequest) -> Say:
        if not interrupted.is_set():
            await anyio.sleep_forever()
        return Say("hello")

    async with session_for(tmp_path, ScriptedModel([answer], repeat=True), tools=[]) as session:
        await session.send(user("go"))
        while session.turn is None:
            await anyio.lowlevel.checkpoint()
        await session.control({"subtype": "interrupt"})
        interrupted.set()
        with anyio.fail_after(10):
            assert (await until_result(session))[-1]["terminal_reason"] == "aborted_streaming"
        await session.send(user("again"))
        assert (await until_result(session))[-1]["result"] == "hello"


async def test_an_interrupt_while_idle_changes_nothing(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([Say("hello")]), tools=[]) as session:
        assert await session.control({"subtype": "interrupt"}) == {"still_queued": []}
        await session.send(user("hi"))
        assert (await until_result(session))[-1]["result"] == "hello"


# the queue


async def test_messages_sent_while_a_turn_runs_wait_for_theirs(tmp_path: Path) -> None:
    model = ScriptedModel([Say("one"), Say("two"), Say("three")])
    async with session_for(tmp_path, model, tools=[]) as session:
        for text in ("a", "b", "c"):
            await session.send(user(text))
        answers = [(await until_result(session))[-1]["result"] for _ in range(3)]
    assert answers == ["one", "two", "three"]


async def test_an_interrupt_leaves_the_queued_messages_and_names_them(tmp_path: Path) -> None:
    arrived, never = anyio.Event(), anyio.Event()

    async def wait() -> None:
        arrived.set()
        await never.wait()

    model = ScriptedModel([Turn([WaitFor(wait), Say("never")]), Say("the second")])
    async with session_for(tmp_path, model, tools=[]) as session:
        await session.send(user("first"))
        await arrived.wait()
        await session.send({**user("second"), "uuid": "11111111-1111-4111-8111-111111111111"})
        answer = await session.control({"subtype": "interrupt"})
        assert answer == {"still_queued": ["11111111-1111-4111-8111-111111111111"]}
        assert (await until_result(session))[-1]["is_error"] is True
        assert (await until_result(session))[-1]["result"] == "the second"


async def test_a_message_for_the_record_makes_no_turn_and_is_seen_with_the_next(tmp_path: Path) -> None:
    model = ScriptedModel([Say("ok")])
    async with session_for(tmp_path, model, tools=[]) as session:
        await session.send({**user("The sky is green."), "shouldQuery": False})
        await session.send(user("What colour is it?"))
        await until_result(session)
    assert [message.content[0]["text"] for message in model.requests[0].messages] == ["The sky is green.", "What colour is it?"]


@pytest.mark.parametrize(
    "frame", [{}, {"type": "user"}, {"type": "user", "message": {"content": 7}}, user("x") | {"type": "x"}]
)
async def test_a_malformed_message_is_refused_and_the_session_goes_on(frame: dict[str, object], tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([Say("hello")]), tools=[]) as session:
        with pytest.raises(ClaudeSDKError, match="user message"):
            await session.send(frame)
        await session.send(user("hi"))
        assert (await until_result(session))[-1]["result"] == "hello"


# the end


async def test_closing_in_the_middle_of_a_turn_leaves_nothing_behind(tmp_path: Path) -> None:
    arrived, never = anyio.Event(), anyio.Event()

    async def wait() -> None:
        arrived.set()
        await never.wait()

    async with nothing_left():
        async with session_for(tmp_path, ScriptedModel([Turn([WaitFor(wait)])]), tools=[]) as session:
            await session.send(user("go"))
            await arrived.wait()
        await session.close()
        with pytest.raises(CLIConnectionError, match="ended"):
            await session.send(user("too late"))


async def test_closing_while_a_command_runs_ends_the_command(tmp_path: Path) -> None:
    pid_file = tmp_path / "workspace" / "pid"
    model = ScriptedModel([Call("Bash", {"command": "echo $$ > pid; sleep 1000"})])
    async with nothing_left(), session_for(tmp_path, model, allowed_tools=["Bash"]) as session:
        await session.send(user("go"))
        with anyio.fail_after(10):
            while not (pid_file.exists() and pid_file.read_text().strip()):
                await anyio.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


async def test_a_reader_that_stops_reading_slows_the_session_and_does_not_break_it(tmp_path: Path) -> None:
    model = ScriptedModel([Call("add", {"a": 1, "b": 1})] * 200 + [Say("done")])
    async with nothing_left():
        async with session_for(tmp_path, model, tools=[add]) as session:
            await session.send(user("go"))
            await anyio.wait_all_tasks_blocked()
            assert len(model.requests) < 200
        del session
        gc.collect()


async def test_an_interrupt_while_nobody_reads_loses_no_frame(tmp_path: Path) -> None:
    model = ScriptedModel([Call("add", {"a": 1, "b": 1})] * 200 + [Say("done")])
    async with session_for(tmp_path, model, tools=[add]) as session:
        await session.send(user("go"))
        await anyio.wait_all_tasks_blocked()
        await session.control({"subtype": "interrupt"})
        frames = await until_result(session)
    calls = [block["id"] for frame in frames if frame["type"] == "assistant" for block in frame["message"]["content"]]
    assert sorted(calls) == sorted(result["tool_use_id"] for result in results(frames))


async def test_the_input_may_end_before_the_turn_does(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([Say("one"), Say("two")]), tools=[]) as session:
        await session.send(user("a"))
        await session.send(user("b"))
        await session.end_input()
        frames = [frame async for frame in session.frames()]
    assert [frame["result"] for frame in frames if frame["type"] == "result"] == ["one", "two"]


async def test_two_sessions_with_different_settings_never_see_each_other(tmp_path: Path) -> None:
    before = dict(os.environ), os.getcwd()
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        (folder / "workspace").mkdir(parents=True)
        (folder / "workspace" / "name.txt").write_text(folder.name)
    models = [ScriptedModel([Call("Bash", {"command": "cat name.txt; echo $WHO"}), Say("done")]) for _ in folders]
    heard: dict[str, str] = {}

    async def run(folder: Path, model: ScriptedModel) -> None:
        frames = await play(folder, model, allowed_tools=["Bash"], env={"WHO": folder.name.upper()})
        heard[folder.name] = text_of(results(frames)[0])

    async with anyio.create_task_group() as group:
        for folder, model in zip(folders, models, strict=True):
            group.start_soon(run, folder, model)
    assert {name: text.split() for name, text in heard.items()} == {"one": ["oneONE"], "two": ["twoTWO"]}
    assert (dict(os.environ), os.getcwd()) == before


@pytest.mark.parametrize(("anyio_backend", "count"), [("asyncio", 1000), ("trio", 200)])
async def test_a_thousand_sessions_at_once(tmp_path: Path, count: int) -> None:
    model = ScriptedModel([Call("add", {"a": 20, "b": 22}), Say("42")], record=False)
    options = options_for(tmp_path, model, tools=[add])
    done: list[str] = []

    async def run() -> None:
        session = open_session(options)
        await session.start()
        await session.send(user("go"))
        done.append((await until_result(session))[-1]["result"])
        await session.close()

    async with nothing_left(), anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(run)
    assert done == ["42"] * count
    files = list((tmp_path / "config").rglob("*.jsonl"))
    assert len(files) == count
    assert all(json.loads(line) for line in files[0].read_text().splitlines())


async def test_a_full_disk_fails_the_turn_loudly_and_the_next_one_works(tmp_path: Path) -> None:
    model = ScriptedModel([Say("one"), Call("add", {"a": 1, "b": 1}), Say("two")])
    async with session_for(tmp_path, model, tools=[add]) as session:
        await session.send(user("a"))
        await until_result(session)
        path = session.started.conversation.journal.path
        whole = path.read_bytes()
        aside = path.with_suffix(".aside")
        path.rename(aside)
        path.mkdir()  # as good as a full disk: what is appended cannot be written
        await session.send(user("b"))
        failed = (await until_result(session))[-1]
        assert failed["is_error"] is True
        assert str(path) in failed["errors"][0]
        path.rmdir()
        aside.rename(path)
        await session.send(user("c"))
        assert (await until_result(session))[-1]["result"] == "two"
        assert path.read_bytes().startswith(whole)
    assert_valid_history(model)
