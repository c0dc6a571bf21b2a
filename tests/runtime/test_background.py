"""Background tasks as a session's user and its model hear of them."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_runtime import Frame, assert_valid_history, options_for, results, session_for, text_of, until_result, user
from support_tools import running
from toolwright.client import ClaudeSDKClient, query
from toolwright.models.base import ModelRequest
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.processes.background import BackgroundShell
from toolwright.runtime.session import LocalSession
from toolwright.types import (
    HookMatcher,
    Message,
    ResultMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
)

pytestmark = pytest.mark.anyio

BASH: dict[str, Any] = {"allowed_tools": ["Bash"]}


def background(command: str, **more: Any) -> Call:
    return Call("Bash", {"command": command, "run_in_background": True, **more})


def shell_of(session: LocalSession) -> BackgroundShell:
    return session.started.conversation.runner.workspace.commands.shells[0]


def subtypes(frames: list[Frame]) -> list[str]:
    return [str(frame["subtype"] if frame["type"] in ("system", "result") else frame["type"]) for frame in frames]


def told(request: ModelRequest) -> str:
    """The texts of the last message of a request."""
    return "\n".join(block["text"] for block in request.messages[-1].content if block["type"] == "text")


async def test_a_task_is_announced_and_its_end_wakes_the_model(tmp_path: Path) -> None:
    model = ScriptedModel(
        [background("until test -e go; do sleep 0.01; done; echo hi", description="wait"), Say("on"), Say("off")]
    )
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        first = await until_result(session)
        shell = shell_of(session)
        (tmp_path / "workspace/go").touch()
        second = await until_result(session)
    assert subtypes(first) == ["init", "assistant", "task_started", "background_tasks_changed", "user", "assistant", "success"]
    call_id = first[1]["message"]["content"][0]["id"]
    task = {
        "task_id": shell.id,
        "tool_use_id": call_id,
        "task_type": "local_bash",
        "description": "wait",
        "is_backgrounded": True,
    }
    assert first[2].items() >= task.items()
    assert first[3]["tasks"] == [{"task_id": shell.id, "task_type": "local_bash", "description": "wait"}]
    assert first[4]["tool_use_result"]["backgroundTaskId"] == shell.id
    assert "origin" not in first[-1]
    ends = ["task_updated", "background_tasks_changed", "task_notification"]
    assert subtypes(second) == [*ends, "init", "assistant", "success"]
    assert (second[0]["task_id"], second[0]["patch"]["status"], second[1]["tasks"]) == (shell.id, "completed", [])
    notice = {"task_id": shell.id, "tool_use_id": call_id, "status": "completed", "output_file": shell.log.path}
    assert second[2].items() >= notice.items()
    assert second[2]["summary"] == 'Background command "wait" completed with exit code 0.'
    assert second[-1]["origin"] == {"kind": "task-notification"}
    assert shell.log.path in told(model.requests[2])
    assert "hi" not in told(model.requests[2]).split()
    assert_valid_history(model)


async def test_an_end_during_a_turn_is_told_with_its_next_request(tmp_path: Path) -> None:
    async def wait_for_it(request: ModelRequest) -> Call:
        assert await shell_of(session).wait(30)
        return Call("Bash", {"command": "true"})

    model = ScriptedModel([background("exit 4"), wait_for_it, Say("done"), Say("never")])
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        frames = await until_result(session)
        await anyio.wait_all_tasks_blocked()
        assert len(model.requests) == 3
    assert "failed with exit code 4" in told(model.requests[2])
    assert subtypes(frames).count("task_notification") == 1
    assert_valid_history(model)


async def test_an_end_before_the_next_message_goes_with_it(tmp_path: Path) -> None:
    async def wait_for_it(request: ModelRequest) -> Say:
        await session.send(user("and now?"))
        assert await shell_of(session).wait(30)
        return Say("one")

    model = ScriptedModel([background("exit 4"), wait_for_it, Say("two"), Say("never")])
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        await until_result(session)
        await until_result(session)
        await anyio.wait_all_tasks_blocked()
        assert len(model.requests) == 3
    assert told(model.requests[2]).startswith("and now?\n[Not from the user: Background command")


async def test_a_model_that_has_seen_the_end_is_not_told_again(tmp_path: Path) -> None:
    async def look(request: ModelRequest) -> Call:
        return Call("BashOutput", {"bash_id": shell_of(session).id, "block": True})

    model = ScriptedModel([background("echo hi"), look, Say("done"), Say("never")])
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        frames = await until_result(session)
        await anyio.wait_all_tasks_blocked()
        assert len(model.requests) == 3
    assert "completed (exit code 0)\nhi\n" in text_of(results(frames)[1])
    assert not told(model.requests[2])


async def test_a_task_that_the_model_kills_is_stopped_and_not_told_again(tmp_path: Path) -> None:
    async def kill(request: ModelRequest) -> Call:
        return Call("TaskStop", {"task_id": shell_of(session).id})

    model = ScriptedModel([background("exec sleep 1000"), kill, Say("done"), Say("never")])
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        frames = await until_result(session)
        await anyio.wait_all_tasks_blocked()
        assert len(model.requests) == 3
    assert text_of(results(frames)[1]).startswith("Ended b")
    (notification,) = [frame for frame in frames if frame.get("subtype") == "task_notification"]
    assert notification["status"] == "stopped"
    assert not told(model.requests[2])


async def test_a_task_that_a_person_stops_is_told_with_the_next_message(tmp_path: Path) -> None:
    model = ScriptedModel([background("exec sleep 1000"), Say("one"), Say("two")])
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        await until_result(session)
        assert await session.control({"subtype": "stop_task", "task_id": "b-unknown"}) == {}
        assert await session.control({"subtype": "stop_task", "task_id": shell_of(session).id}) == {}
        assert shell_of(session).status == "killed"
        await anyio.wait_all_tasks_blocked()
        assert len(model.requests) == 2
        await session.send(user("next"))
        frames = await until_result(session)
    assert subtypes(frames)[:3] == ["task_updated", "background_tasks_changed", "task_notification"]
    assert frames[0]["patch"]["status"] == "killed"
    assert "was stopped" in told(model.requests[2])


async def test_a_task_that_a_person_stops_during_a_turn_causes_no_other(tmp_path: Path) -> None:
    async def stop(request: ModelRequest) -> Say:
        await session.control({"subtype": "stop_task", "task_id": shell_of(session).id})
        return Say("one")

    model = ScriptedModel([background("exec sleep 1000"), stop, Say("two")])
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        await until_result(session)
        await anyio.wait_all_tasks_blocked()
        assert len(model.requests) == 2
        await session.send(user("next"))
        await until_result(session)
    assert "was stopped" in told(model.requests[2])


async def test_stop_hooks_hear_of_running_tasks_and_prompt_hooks_not_of_our_own_prompts(tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []

    async def hook(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        heard.append(dict(payload))
        return {}

    model = ScriptedModel([background("until test -e go; do sleep 0.01; done"), Say("on"), Say("off")])
    hooks = {"Stop": [HookMatcher(hooks=[hook])], "UserPromptSubmit": [HookMatcher(hooks=[hook])]}
    async with session_for(tmp_path, model, hooks=hooks, **BASH) as session:
        await session.send(user("go"))
        await until_result(session)
        shell = shell_of(session)
        (tmp_path / "workspace/go").touch()
        await until_result(session)
    assert [payload["hook_event_name"] for payload in heard] == ["UserPromptSubmit", "Stop", "Stop"]
    (task,) = heard[1]["background_tasks"]
    assert (task["id"], task["status"], task["command"]) == (shell.id, "running", shell.command)
    assert heard[2]["background_tasks"] == []


async def test_an_interrupt_ends_the_command_in_the_foreground_and_leaves_the_others(tmp_path: Path) -> None:
    marker = str(secrets.randbelow(10**6) + 10**6)
    foreground = f"setsid sleep {marker} & (setsid nohup sleep {marker} &) ; trap '' TERM; touch begun; sleep {marker}; sleep 1"
    model = ScriptedModel([background("exec sleep 1000"), Call("Bash", {"command": foreground}), Say("never")])
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        with anyio.fail_after(30):
            while not (tmp_path / "workspace/begun").exists():
                await anyio.sleep(0.01)
        await session.control({"subtype": "interrupt"})
        frames = await until_result(session)
        assert frames[-1]["terminal_reason"] == "aborted_tools"
        assert not running(marker)
        assert shell_of(session).running
        shell = shell_of(session)
    assert shell.status == "killed"


async def test_looking_and_killing_need_no_permission_of_their_own(tmp_path: Path) -> None:
    model = ScriptedModel([Call("BashOutput", {"bash_id": "b1"}), Call("KillShell", {"shell_id": "b1"}), Say("done")])
    async with session_for(tmp_path, model) as session:
        await session.send(user("go"))
        frames = await until_result(session)
    assert frames[-1]["permission_denials"] == []
    assert all("This session has started none" in text_of(result) for result in results(frames))


async def test_what_still_runs_when_a_query_is_over_ends_with_it(tmp_path: Path) -> None:
    marker = str(secrets.randbelow(10**6) + 10**6)
    model = ScriptedModel([background(f"setsid sleep {marker} & sleep {marker}"), Say("done"), Say("never")])
    messages = [message async for message in query(prompt="go", options=options_for(tmp_path, model, **BASH))]
    assert isinstance(messages[-1], ResultMessage)
    assert not running(marker)
    assert len(model.requests) == 2
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


async def test_what_ended_before_the_result_of_a_query_has_a_turn_of_its_own(tmp_path: Path) -> None:
    async def wait_for_it(request: ModelRequest) -> Say:
        assert await shell_of(session).wait(30)
        return Say("one")

    model = ScriptedModel([background("exit 3"), wait_for_it, Say("two")])
    async with session_for(tmp_path, model, **BASH) as session:
        await session.send(user("go"))
        await session.end_input()
        frames = [frame async for frame in session.frames()]
    assert [frame["result"] for frame in frames if frame["type"] == "result"] == ["one", "two"]


async def test_a_client_gets_messages_about_tasks(tmp_path: Path) -> None:
    model = ScriptedModel([background("until test -e go; do sleep 0.01; done; exit 2"), Say("on"), Say("off")])
    heard: list[Message] = []
    async with ClaudeSDKClient(options_for(tmp_path, model, **BASH)) as client:
        await client.query("go")
        heard += [message async for message in client.receive_response()]
        (tmp_path / "workspace/go").touch()
        heard += [message async for message in client.receive_response()]
    (started,) = [message for message in heard if isinstance(message, TaskStartedMessage)]
    (updated,) = [message for message in heard if isinstance(message, TaskUpdatedMessage)]
    (notified,) = [message for message in heard if isinstance(message, TaskNotificationMessage)]
    assert started.task_id == updated.task_id == notified.task_id
    assert (started.task_type, updated.status, notified.status) == ("local_bash", "failed", "failed")
