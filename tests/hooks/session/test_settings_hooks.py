"""Hooks of the settings in whole conversations: real commands and a real server, judged by what happened."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_hooks import command_settings, hook_server
from support_runtime import (
    Frame,
    assert_valid_history,
    options_for,
    play,
    results,
    session_for,
    text_of,
    texts,
    until_result,
    user,
)
from toolwright.models.scripted import Call, Fail, Say, ScriptedModel
from toolwright.runtime.assemble import open_session
from toolwright.types import ControlError, HookMatcher, OptionsError, PermissionResultAllow, PermissionUpdate

pytestmark = pytest.mark.anyio

WRITE = Call("Write", {"file_path": "note.txt", "content": "hello"})
PATIENT = {"CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": "30000"}


def note(folder: Path) -> Path:
    return folder / "workspace" / "note.txt"


def workspace(folder: Path) -> Path:
    made = folder / "workspace"
    made.mkdir(exist_ok=True)
    return made


def answer(event: str, **fields: Any) -> str:
    """A command that prints a hook answer."""
    return f"echo '{json.dumps({'hookSpecificOutput': {'hookEventName': event, **fields}})}'"


async def written(folder: Path, command: str | dict[str, Any], event: str = "PreToolUse", **more: Any) -> list[Frame]:
    """What becomes of a write with this hook; edits need no permission."""
    settings = command_settings(event, command)
    more = {"permission_mode": "acceptEdits", "settings": settings, **more}
    return await play(folder, ScriptedModel([WRITE, Say("ok")]), **more)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# what goes wrong in a hook


async def test_exit_code_2_denies_with_stderr_as_the_reason(tmp_path: Path) -> None:
    frames = await written(tmp_path, "echo 'Not in this folder.' >&2; exit 2")
    assert not note(tmp_path).exists()
    assert text_of(results(frames)[0]) == "Not in this folder."
    assert len(frames[-1]["permission_denials"]) == 1


@pytest.mark.parametrize(
    "command",
    [
        "exit 1",
        "no-such-command-here",
        "kill -SEGV $$",
        "echo '{\"decision\": '",
        "echo plain words",
        "head -c 100000000 /dev/zero",
        "exec >&- 2>&-",
    ],
)
async def test_a_hook_that_breaks_stops_nothing(tmp_path: Path, command: str) -> None:
    lines: list[str] = []
    await written(tmp_path, command, stderr=lines.append)
    assert note(tmp_path).exists()
    told = any("PreToolUse hook" in line and "it is ignored" in line for line in lines)
    assert told is command.startswith(("exit", "no-such", "kill"))


async def test_a_hook_that_hangs_denies_and_leaves_no_process(tmp_path: Path) -> None:
    hang = "echo $$ > leader; setsid bash -c 'echo $$ > escaped; exec sleep 1000' & echo $! > child; wait"
    frames = await written(tmp_path, {"type": "command", "command": hang, "timeout": 1})
    assert not note(tmp_path).exists()
    assert "did not answer within 1 s" in text_of(results(frames)[0])
    pids = [int(path.read_text() or 0) for path in workspace(tmp_path).iterdir()]
    assert not any(is_alive(pid) for pid in pids if pid)


async def test_a_hook_that_hangs_elsewhere_only_costs_its_time(tmp_path: Path) -> None:
    frames = await written(tmp_path, {"type": "command", "command": "sleep 1000", "timeout": 0.2}, event="PostToolUse")
    assert note(tmp_path).exists()
    assert texts(frames) == ["ok"]


async def test_a_daemon_of_a_hook_ends_with_the_session(tmp_path: Path) -> None:
    await written(tmp_path, "setsid bash -c 'echo $$ > daemon; exec sleep 1000' & while [ ! -s daemon ]; do :; done")
    assert note(tmp_path).exists()
    assert not is_alive(int((workspace(tmp_path) / "daemon").read_text()))


async def test_interrupting_ends_the_hook_that_is_waited_for(tmp_path: Path) -> None:
    settings = command_settings("PreToolUse", "echo $$ > leader; exec sleep 1000")
    async with session_for(tmp_path, ScriptedModel([WRITE, Say("ok")]), settings=settings) as session:
        await session.send(user("go"))
        leader = workspace(tmp_path) / "leader"
        with anyio.fail_after(30):
            while not leader.exists() or not leader.read_text().strip():
                await anyio.sleep(0.01)
        await session.control({"subtype": "interrupt"})
        frames = await until_result(session)
        assert frames[-1]["terminal_reason"] == "aborted_tools"
        assert not is_alive(int(leader.read_text()))
    assert not note(tmp_path).exists()


# what hooks may say


async def test_a_hook_tightens_and_never_loosens_a_deny(tmp_path: Path) -> None:
    allow = answer("PreToolUse", permissionDecision="allow")
    await written(tmp_path, allow, permission_mode="default")
    assert note(tmp_path).exists()
    note(tmp_path).unlink()
    await written(tmp_path, allow, permission_mode="default", disallowed_tools=["Write"])
    assert not note(tmp_path).exists()


async def test_hooks_run_together_and_the_strictest_decides(tmp_path: Path) -> None:
    """Each of the two waits for the other: one after the other they would never end."""
    meet = "touch {mine}; while [ ! -e {other} ]; do sleep 0.01; done; "
    allow = meet.format(mine="a", other="b") + answer("PreToolUse", permissionDecision="allow")
    deny = meet.format(mine="b", other="a") + answer("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")
    settings = command_settings("PreToolUse", deny, allow)
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), settings=settings)
    assert text_of(results(frames)[0]) == "no"
    assert not note(tmp_path).exists()


async def test_an_updated_input_replaces_the_whole_and_is_checked_and_judged_again(tmp_path: Path) -> None:
    other = str(workspace(tmp_path) / "other.txt")
    change = answer("PreToolUse", updatedInput={"file_path": other, "content": "changed"})
    await written(tmp_path, change)
    assert Path(other).read_text() == "changed"
    assert not note(tmp_path).exists()
    Path(other).unlink()
    frames = await written(tmp_path, change, disallowed_tools=[f"Edit(/{other})"])
    assert not Path(other).exists()
    assert results(frames)[0]["is_error"]
    frames = await written(tmp_path, answer("PreToolUse", updatedInput={"content": "no path"}))
    assert "InputValidationError" in text_of(results(frames)[0])


async def test_a_hook_cannot_rewrite_a_command_into_a_denied_one(tmp_path: Path) -> None:
    note(tmp_path).parent.mkdir()
    note(tmp_path).write_text("precious")
    change = answer("PreToolUse", permissionDecision="allow", updatedInput={"command": "rm note.txt"})
    model = ScriptedModel([Call("Bash", {"command": "true"}), Say("ok")])
    await play(tmp_path, model, settings=command_settings("PreToolUse", change), disallowed_tools=["Bash(rm:*)"])
    assert note(tmp_path).exists()


async def test_a_hook_replaces_an_output_and_adds_to_what_the_model_reads(tmp_path: Path) -> None:
    command = answer("PostToolUse", updatedToolOutput="[hidden]", additionalContext="Nothing to see.")
    model = ScriptedModel([WRITE, Say("ok")])
    settings = command_settings("PostToolUse", command)
    frames = await play(tmp_path, model, settings=settings, permission_mode="acceptEdits")
    assert text_of(results(frames)[0]) == "[hidden]"
    assert model.requests[1].messages[-1].content[-1]["text"] == "Nothing to see."


async def test_exit_code_2_after_a_tool_tells_the_model(tmp_path: Path) -> None:
    model = ScriptedModel([WRITE, Say("ok")])
    settings = command_settings("PostToolUse", "echo 'Run the linter.' >&2; exit 2")
    await play(tmp_path, model, settings=settings, permission_mode="acceptEdits")
    assert model.requests[1].messages[-1].content[-1]["text"] == "Run the linter."


async def test_what_begins_a_session_or_prompt_may_add_words(tmp_path: Path) -> None:
    model = ScriptedModel([Say("ok")])
    both = {"SessionStart": [{"hooks": [{"type": "command", "command": "echo The build is red."}]}]}
    both |= {
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": answer("UserPromptSubmit", additionalContext="x")}]}]
    }
    await play(tmp_path, model, settings=json.dumps({"hooks": both}))
    assert [block["text"] for block in model.requests[0].messages[0].content] == ["go", "The build is red.", "x"]


async def test_a_blocked_prompt_never_reaches_the_model(tmp_path: Path) -> None:
    model = ScriptedModel([Say("never")])
    frames = await play(tmp_path, model, settings=command_settings("UserPromptSubmit", "echo No. >&2; exit 2"))
    assert model.requests == []
    assert (frames[-1]["terminal_reason"], frames[-1]["result"]) == ("hook_stopped", "No.")


async def test_a_stop_hook_sends_the_model_on(tmp_path: Path) -> None:
    model = ScriptedModel([Say("done"), Say("really done")])
    once = "[ -e asked ] || { touch asked; echo 'Run the tests.' >&2; exit 2; }"
    frames = await play(tmp_path, model, settings=command_settings("Stop", once))
    assert texts(frames) == ["done", "really done"]
    assert model.requests[1].messages[-1].content[0]["text"] == "Run the tests."


async def test_continue_false_ends_the_turn_and_a_system_message_is_shown(tmp_path: Path) -> None:
    said = json.dumps({"continue": False, "stopReason": "Enough.", "systemMessage": "Budget spent."})
    frames = await written(tmp_path, f"echo '{said}'", event="PostToolUse")
    assert frames[-1]["terminal_reason"] == "hook_stopped"
    assert [frame["content"] for frame in frames if frame.get("subtype") == "informational"] == ["Budget spent."]


async def test_a_permission_request_is_answered_by_a_hook(tmp_path: Path) -> None:
    await written(
        tmp_path, answer("PermissionRequest", decision={"behavior": "allow"}), "PermissionRequest", permission_mode="default"
    )
    assert note(tmp_path).exists()
    note(tmp_path).unlink()
    frames = await written(tmp_path, "echo Never. >&2; exit 2", "PermissionRequest", permission_mode="default")
    assert text_of(results(frames)[0]) == "Never."
    assert not note(tmp_path).exists()


# which hooks are asked


async def test_a_matcher_and_a_condition_choose_the_calls(tmp_path: Path) -> None:
    guard = {"type": "command", "command": "echo guarded >&2; exit 2", "if": "Bash(rm:*)"}
    settings = command_settings("PreToolUse", guard, matcher="Bash")
    calls = [Call("Bash", {"command": command}) for command in ("echo hi && true", "echo hi; rm -f x", "rm -f x")]
    model = ScriptedModel([*calls, WRITE, Say("ok")])
    frames = await play(tmp_path, model, settings=settings, allowed_tools=["Bash", "Write"])
    assert [text_of(result) for result in results(frames)][:3] == ["hi", "guarded", "guarded"]
    assert note(tmp_path).exists()


async def test_a_condition_about_paths(tmp_path: Path) -> None:
    guard = {"type": "command", "command": "exit 2", "if": "Edit(*.txt)"}
    model = ScriptedModel([WRITE, Call("Write", {"file_path": "a.md", "content": ""}), Say("ok")])
    await play(tmp_path, model, settings=command_settings("PreToolUse", guard), permission_mode="acceptEdits")
    assert [path.name for path in workspace(tmp_path).iterdir()] == ["a.md"]


async def test_disable_all_hooks_leaves_those_of_the_program(tmp_path: Path) -> None:
    seen: list[str] = []

    async def look(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append(payload["tool_name"])
        return {}

    settings = json.loads(command_settings("PreToolUse", "exit 2")) | {"disableAllHooks": True}
    hooks = {"PreToolUse": [HookMatcher(hooks=[look])]}
    model = ScriptedModel([WRITE, Say("ok")])
    await play(tmp_path, model, settings=json.dumps(settings), permission_mode="acceptEdits", hooks=hooks)
    assert note(tmp_path).exists()
    assert seen == ["Write"]


async def test_a_guard_that_cannot_be_run_here_stops_the_session_from_starting(tmp_path: Path) -> None:
    settings = command_settings("PreToolUse", {"type": "prompt", "prompt": "Is this safe?"})
    with pytest.raises(OptionsError, match="hooks of type prompt are not supported"):
        await play(tmp_path, ScriptedModel([]), settings=settings)


async def test_no_hook_runs_before_the_session_starts_or_from_files_written_while_it_lasts(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    session = open_session(options_for(tmp_path, ScriptedModel([]), settings=command_settings("SessionStart", "touch started")))
    assert not (folder / "started").exists()
    await session.start()
    assert (folder / "started").exists()
    await session.close()
    text = command_settings("PreToolUse", "touch canary")
    calls = [Call("Write", {"file_path": f"{name}/settings.json", "content": text}) for name in (".claude", ".toolwright")]

    async def yes(name: str, tool_input: dict[str, Any], context: Any) -> PermissionResultAllow:
        return PermissionResultAllow()

    frames = await play(tmp_path, ScriptedModel([*calls, WRITE, Say("ok")]), can_use_tool=yes)
    assert len(results(frames)) == 3
    assert not (folder / "canary").exists()


async def test_hooks_of_an_untrusted_folder_do_not_run(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text(command_settings("SessionStart", "touch canary"))
    await play(tmp_path, ScriptedModel([Say("ok")]))
    assert not (folder / "canary").exists()
    await play(tmp_path, ScriptedModel([Say("ok")]), extra_args={"trust-workspace": None})
    assert (folder / "canary").exists()


async def test_secrets_do_not_reach_a_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "planted-secret")
    await written(tmp_path, "env > seen")
    assert "planted-secret" not in (workspace(tmp_path) / "seen").read_text()


# hooks that nobody waits for


async def test_an_async_hook_holds_nothing_up_decides_nothing_and_speaks_with_the_next_prompt(tmp_path: Path) -> None:
    slow = 'while [ ! -e go ]; do sleep 0.01; done; touch ran; echo \'{"decision": "block", "systemMessage": "late"}\''
    settings = command_settings("PreToolUse", {"type": "command", "command": slow, "async": True})
    model = ScriptedModel([WRITE, Say("ok")])
    async with session_for(tmp_path, model, settings=settings, permission_mode="acceptEdits") as session:
        await session.send(user("go"))
        await until_result(session)
        assert note(tmp_path).exists()
        (workspace(tmp_path) / "go").touch()
        with anyio.fail_after(30):
            async for frame in session.frames():
                if frame.get("subtype") == "informational":
                    break
        assert frame["content"] == "late"


async def test_an_async_hook_ends_with_the_session(tmp_path: Path) -> None:
    hook = {"type": "command", "command": "echo $$ > pid; exec sleep 1000", "async": True}
    async with session_for(tmp_path, ScriptedModel([]), settings=command_settings("SessionStart", hook)):
        pid = workspace(tmp_path) / "pid"
        with anyio.fail_after(30):
            while not pid.exists() or not pid.read_text().strip():
                await anyio.sleep(0.01)
        assert is_alive(int(pid.read_text()))
    assert not is_alive(int(pid.read_text()))


# addresses


def asked_over_http(url: str, **more: Any) -> str:
    return command_settings("PreToolUse", {"type": "http", "url": url, **more})


async def test_an_address_is_told_the_input_and_decides(tmp_path: Path) -> None:
    body = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}).encode()
    with hook_server(body) as server:
        settings = asked_over_http(f"{server.url}/hooks?x=1", headers={"X-Team": "blue"})
        await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), settings=settings, permission_mode="acceptEdits")
    assert not note(tmp_path).exists()
    assert (server.asked[0]["hook_event_name"], server.asked[0]["tool_name"]) == ("PreToolUse", "Write")
    assert (server.headers[0]["content-type"], server.headers[0]["x-team"]) == ("application/json", "blue")
    assert server.paths == ["/hooks?x=1"]


@pytest.mark.parametrize("status", [200, 204])
async def test_an_address_with_nothing_to_say_stops_nothing(tmp_path: Path, status: int) -> None:
    with hook_server(status=status) as server:
        settings = asked_over_http(server.url)
        await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), settings=settings, permission_mode="acceptEdits")
    assert note(tmp_path).exists()


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_a_guard_that_answers_badly_denies_and_redirects_are_not_followed(tmp_path: Path, status: int) -> None:
    with hook_server() as elsewhere, hook_server(status=status, location=elsewhere.url) as server:
        settings = asked_over_http(server.url)
        frames = await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), settings=settings, permission_mode="acceptEdits")
    assert not note(tmp_path).exists()
    assert f"status {status}" in text_of(results(frames)[0])
    assert elsewhere.asked == []


async def test_a_guard_that_cannot_be_reached_or_stays_silent_denies(tmp_path: Path) -> None:
    with hook_server() as gone:
        nobody = gone.url
    frames = await play(
        tmp_path, ScriptedModel([WRITE, Say("ok")]), settings=asked_over_http(nobody), permission_mode="acceptEdits"
    )
    assert "could not be asked" in text_of(results(frames)[0])
    with hook_server(hangs=threading.Event()) as server:
        settings = asked_over_http(server.url, timeout=0.3)
        frames = await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), settings=settings, permission_mode="acceptEdits")
    assert "did not answer within 0.3 s" in text_of(results(frames)[0])
    assert not note(tmp_path).exists()


# moments


async def test_every_moment_of_a_conversation_has_its_event(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.mkdir()
    record = 'cat > "$CLAUDE_PROJECT_DIR/../told/$$"'
    names = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"]
    names += ["PostToolBatch", "Stop", "CwdChanged", "PermissionDenied", "PermissionRequest", "Notification"]
    settings = json.dumps({"hooks": {name: [{"hooks": [{"type": "command", "command": record}]}] for name in names}})
    os.makedirs(workspace(tmp_path) / "sub")
    calls = [
        Call("Bash", {"command": "cd sub"}),
        Call("Bash", {"command": "cd ..; false"}),
        Call("Read", {"file_path": "secret"}),
        WRITE,
    ]

    async def yes(name: str, tool_input: dict[str, Any], context: Any) -> PermissionResultAllow:
        with anyio.fail_after(30):  # an answer ends the hooks that were asked beside the person
            while not all(any(f'"{event}"' in path.read_text() for path in told.iterdir()) for event in names[-2:]):
                await anyio.sleep(0.01)
        return PermissionResultAllow()

    await play(
        tmp_path,
        ScriptedModel([*calls, Say("ok")]),
        settings=settings,
        env=PATIENT,
        allowed_tools=["Bash"],
        disallowed_tools=["Read(secret)"],
        can_use_tool=yes,
    )
    lines = [json.loads(path.read_text()) for path in told.iterdir()]
    by_name = {line["hook_event_name"]: line for line in lines}
    assert set(by_name) == set(names)
    assert by_name["PermissionDenied"]["tool_name"] == "Read"
    assert "denied by the rule" in by_name["PermissionDenied"]["reason"]
    assert by_name["Notification"]["notification_type"] == "permission_prompt"
    assert sorted(line["new_cwd"] for line in lines if line["hook_event_name"] == "CwdChanged") == [
        str(workspace(tmp_path)),
        str(workspace(tmp_path) / "sub"),
    ]
    batches = [line["tool_calls"] for line in lines if line["hook_event_name"] == "PostToolBatch"]
    assert [len(batch) for batch in batches] == [1, 1, 1, 1]
    assert {key for batch in batches for call in batch for key in call} == {
        "tool_name",
        "tool_input",
        "tool_use_id",
        "tool_response",
    }


async def test_a_batch_hook_sees_all_calls_of_an_answer_and_may_end_the_turn(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def look(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append([call["tool_name"] for call in payload["tool_calls"]])
        return {"decision": "block", "reason": "That is enough."}

    model = ScriptedModel([[WRITE, Call("LS", {"path": "."})], Say("never")])
    hooks: Any = {"PostToolBatch": [HookMatcher(hooks=[look])]}
    frames = await play(tmp_path, model, hooks=hooks, permission_mode="acceptEdits")
    assert seen == [["Write", "LS"]]
    assert (frames[-1]["terminal_reason"], frames[-1]["result"]) == ("hook_stopped", "That is enough.")
    assert len(model.requests) == 1


async def test_a_failing_model_is_told_to_hooks(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def look(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append(payload)
        return {}

    hooks: Any = {"StopFailure": [HookMatcher(matcher="authentication_failed", hooks=[look])]}
    await play(tmp_path, ScriptedModel([Fail("bad key", kind="authentication_failed")]), hooks=hooks)
    assert (seen[0]["error"], "bad key" in seen[0]["error_details"]) == ("authentication_failed", True)


class Onlookers:
    """A command of the settings and a Python function for each event; nobody waits for either, so tests wait here."""

    def __init__(self, folder: Path, *events: str) -> None:
        self._told = folder / "told"
        self._told.mkdir()
        self._seen: list[Any] = []
        record = 'f="$CLAUDE_PROJECT_DIR/../told/$$"; cat > "$f.part" && mv "$f.part" "$f.json"'
        commands = [{"hooks": [{"type": "command", "command": record}]}]
        self.settings = json.dumps({"hooks": dict.fromkeys(events, commands)})
        self.hooks: Any = {event: [HookMatcher(hooks=[self._look])] for event in events}

    async def _look(self, payload: Any, tool_use_id: str | None, context: Any) -> Any:
        self._seen.append(payload)
        return {}

    async def told(self, count: int, *fields: str) -> list[tuple[Any, ...]]:
        """These fields of what the commands were told, once both sides have been told `count` times, and the same."""
        with anyio.fail_after(30):
            while len(self._seen) < count or len(list(self._told.glob("*.json"))) < count:
                await anyio.sleep(0.01)
        by_commands = [json.loads(path.read_text()) for path in self._told.glob("*.json")]
        assert sorted(map(json.dumps, by_commands)) == sorted(map(json.dumps, self._seen))
        return sorted(tuple(payload.get(field) for field in fields) for payload in by_commands)


async def test_each_memory_file_that_is_read_is_told_with_the_reason(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    (work / "sub").mkdir()
    (work / "CLAUDE.md").write_text("Be kind. @more.md")
    (work / "more.md").write_text("Be brief.")
    (work / "sub" / "AGENTS.md").write_text("Be exact.")
    (work / "sub" / "file.txt").write_text("x")
    onlookers = Onlookers(tmp_path, "InstructionsLoaded")
    model = ScriptedModel([Call("Read", {"file_path": "sub/file.txt"}), Say("ok")])
    async with session_for(tmp_path, model, settings=onlookers.settings, hooks=onlookers.hooks) as session:
        await session.send(user("go"))
        await until_result(session)
        told = await onlookers.told(3, "load_reason", "file_path", "memory_type", "parent_file_path")
    top = os.path.realpath(work)
    assert told == [
        ("include", f"{top}/more.md", "Project", f"{top}/CLAUDE.md"),
        ("nested_traversal", f"{top}/sub/AGENTS.md", "Project", None),
        ("session_start", f"{top}/CLAUDE.md", "Project", None),
    ]


async def test_a_folder_that_an_answer_adds_is_told_and_one_that_cannot_be_added_is_not(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    onlookers = Onlookers(tmp_path, "DirectoryAdded")
    answers = [[str(other), "/no/such/folder"], [str(other)]]

    async def yes(name: str, tool_input: dict[str, Any], context: Any) -> PermissionResultAllow:
        add = PermissionUpdate("addDirectories", directories=answers.pop(0), destination="session")
        return PermissionResultAllow(updated_permissions=[add])

    model = ScriptedModel([Call("Write", {"file_path": str(other / name), "content": "x"}) for name in "ab"] + [Say("ok")])
    more: Any = {"settings": onlookers.settings, "hooks": onlookers.hooks, "can_use_tool": yes}
    async with session_for(tmp_path, model, **more) as session:
        await session.send(user("go"))
        await until_result(session)
        assert await onlookers.told(1, "directory") == [(os.path.realpath(other),)]
    assert not answers


def scripted_file(folder: Path, name: str) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"model": name, "steps": [{"text": f"I am {name}."}]}))
    return f"scripted:{path}"


async def test_a_model_that_is_set_is_told_before_and_after(tmp_path: Path) -> None:
    onlookers = Onlookers(tmp_path, "PreModelSwitch", "PostModelSwitch")
    first, second = ScriptedModel([], model="first"), scripted_file(tmp_path, "second")
    async with session_for(tmp_path, first, settings=onlookers.settings, hooks=onlookers.hooks) as session:
        for _ in range(2):  # the second time nothing changes
            await session.control({"subtype": "set_model", "model": second})
        told = await onlookers.told(2, "hook_event_name", "from_model", "to_model", "trigger")
    assert told == [(event, "first", "second", "set_model") for event in ("PostModelSwitch", "PreModelSwitch")]


async def test_a_model_that_is_fallen_back_to_is_told_before_and_after(tmp_path: Path) -> None:
    onlookers = Onlookers(tmp_path, "PreModelSwitch", "PostModelSwitch")
    first, second = (
        ScriptedModel([Fail("busy", kind="overloaded", status=529)], model="first"),
        scripted_file(tmp_path, "second"),
    )
    more: Any = {"settings": onlookers.settings, "hooks": onlookers.hooks, "fallback_model": second}
    async with session_for(tmp_path, first, **more) as session:
        await session.send(user("go"))
        assert texts(await until_result(session)) == ["I am second."]
        told = await onlookers.told(2, "hook_event_name", "from_model", "to_model", "trigger")
    assert told == [(event, "first", "second", "fallback") for event in ("PostModelSwitch", "PreModelSwitch")]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (answer("PreModelSwitch", permissionDecision="deny", permissionDecisionReason="Too dear."), "Too dear."),
        (answer("PreModelSwitch", permissionDecision="ask", permissionDecisionReason="Sure?"), "Sure?"),
        (answer("PreModelSwitch", permissionDecision="deny"), "A PreModelSwitch hook refused."),
        ("echo 'Not now.' >&2; exit 2", "Not now."),
    ],
)
async def test_a_hook_keeps_the_model(tmp_path: Path, command: str, why: str) -> None:
    second, settings = scripted_file(tmp_path, "second"), command_settings("PreModelSwitch", command)
    async with session_for(tmp_path, ScriptedModel([Say("I am first.")], model="first"), settings=settings) as session:
        with pytest.raises(ControlError, match=f"The model stays first: {re.escape(why)}") as refused:
            await session.control({"subtype": "set_model", "model": second})
        assert refused.value.code == "denied"
        await session.send(user("go"))
        assert texts(await until_result(session)) == ["I am first."]


async def test_a_hook_that_lets_the_model_change_may_add_context(tmp_path: Path) -> None:
    said = answer("PreModelSwitch", permissionDecision="allow", additionalContext="Be brief.")
    settings, first = command_settings("PreModelSwitch", said), ScriptedModel([], model="first")
    async with session_for(tmp_path, first, settings=settings) as session:
        second = {"subtype": "set_model", "model": scripted_file(tmp_path, "second")}
        assert await session.control(second) == {"model": "second"}
        await session.send(user("go"))
        assert texts(await until_result(session)) == ["I am second."]
        assert "Be brief." in str(session.started.conversation.history[0].content)


async def test_a_hook_cannot_keep_a_model_that_fails(tmp_path: Path) -> None:
    """The turn would have to end otherwise; that the hook refused is told."""
    lines: list[str] = []
    settings = command_settings("PreModelSwitch", answer("PreModelSwitch", permissionDecision="deny"))
    first = ScriptedModel([Fail("busy", kind="overloaded", status=529)], model="first")
    more: Any = {"settings": settings, "fallback_model": scripted_file(tmp_path, "second"), "stderr": lines.append}
    async with session_for(tmp_path, first, **more) as session:
        await session.send(user("go"))
        assert texts(await until_result(session)) == ["I am second."]
        with anyio.fail_after(30):
            while not any("PreModelSwitch hook" in line for line in lines):
                await anyio.sleep(0.01)


async def test_a_denied_call_may_be_tried_again_if_a_hook_says_so(tmp_path: Path) -> None:
    model = ScriptedModel([WRITE, Say("ok")])
    settings = command_settings("PermissionDenied", answer("PermissionDenied", retry=True))
    await play(tmp_path, model, settings=settings, disallowed_tools=["Write"])
    assert "may try" in model.requests[1].messages[-1].content[-1]["text"]


# putting calls off

DEFER = answer("PreToolUse", permissionDecision="defer")
DEFER_ONCE = f"[ -e deferred ] || {{ touch deferred; {DEFER}; }}"


async def test_a_deferred_call_ends_the_turn_and_is_run_first_in_the_next(tmp_path: Path) -> None:
    model = ScriptedModel([WRITE, Say("written")])
    settings = command_settings("PreToolUse", DEFER_ONCE)
    async with session_for(tmp_path, model, settings=settings, permission_mode="acceptEdits") as session:
        await session.send(user("go"))
        first = await until_result(session)
        result = first[-1]
        assert (result["subtype"], result["stop_reason"], result["terminal_reason"]) == (
            "success",
            "tool_deferred",
            "tool_deferred",
        )
        assert result["deferred_tool_use"]["name"] == "Write"
        assert results(first) == []
        assert not note(tmp_path).exists()
        await session.send(user("now"))
        second = await until_result(session)
    assert note(tmp_path).exists()
    assert [block["tool_use_id"] for block in results(second)] == [result["deferred_tool_use"]["id"]]
    assert texts(second) == ["written"]
    assert_valid_history(model)


async def test_a_deferred_call_is_run_by_the_process_that_resumes(tmp_path: Path) -> None:
    settings = command_settings("PreToolUse", DEFER_ONCE)
    frames = await play(tmp_path, ScriptedModel([WRITE]), settings=settings, permission_mode="acceptEdits")
    model = ScriptedModel([Say("written")])
    more = await play(tmp_path, model, "now", settings=settings, permission_mode="acceptEdits", resume=frames[-1]["session_id"])
    assert note(tmp_path).exists()
    assert len(results(more)) == 1
    assert_valid_history(model)
    again = ScriptedModel([Say("nothing left")])
    last = await play(tmp_path, again, "and now", settings=settings, resume=frames[-1]["session_id"])
    assert results(last) == []
    assert_valid_history(again)


async def test_a_call_may_be_deferred_again_and_the_prompt_waits_with_it(tmp_path: Path) -> None:
    model = ScriptedModel([WRITE, Say("ok")])
    settings = command_settings("PreToolUse", f"[ -e go ] || {DEFER}")
    async with session_for(tmp_path, model, settings=settings, permission_mode="acceptEdits") as session:
        for prompt in ("first", "second"):
            await session.send(user(prompt))
            assert (await until_result(session))[-1]["terminal_reason"] == "tool_deferred"
        (workspace(tmp_path) / "go").touch()
        await session.send(user("third"))
        await until_result(session)
    said = [block.get("text") for message in model.requests[1].messages for block in message.content]
    assert [text for text in said if text] == ["first", "third", "second"]
    assert_valid_history(model)


async def test_several_calls_cannot_be_deferred_and_a_denied_one_is_denied(tmp_path: Path) -> None:
    settings = command_settings("PreToolUse", DEFER)
    model = ScriptedModel([[WRITE, Call("Write", {"file_path": "b", "content": ""})], Say("ok")])
    frames = await play(tmp_path, model, settings=settings, permission_mode="acceptEdits")
    assert [result["is_error"] for result in results(frames)] == [True, True]
    assert frames[-1]["terminal_reason"] == "completed"
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), settings=settings, disallowed_tools=["Write"])
    assert len(results(frames)) == 1
    assert not note(tmp_path).exists()


async def test_interrupting_a_deferred_call_leaves_a_valid_history(tmp_path: Path) -> None:
    model = ScriptedModel([WRITE, Say("ok")])
    settings = command_settings(
        "PreToolUse", f"[ -e deferred ] || {{ touch deferred; {DEFER}; exit; }}; touch hangs; sleep 1000"
    )
    async with session_for(tmp_path, model, settings=settings) as session:
        await session.send(user("go"))
        await until_result(session)
        await session.send(user("now"))
        with anyio.fail_after(30):
            while not (workspace(tmp_path) / "hangs").exists():
                await anyio.sleep(0.01)
        await session.control({"subtype": "interrupt"})
        assert (await until_result(session))[-1]["terminal_reason"] == "aborted_tools"
        await session.send(user("go on"))
        assert texts(await until_result(session)) == ["ok"]
    assert_valid_history(model)
    assert not note(tmp_path).exists()


async def test_a_message_for_the_record_gives_a_deferred_call_up(tmp_path: Path) -> None:
    model = ScriptedModel([WRITE, Say("ok")])
    settings = command_settings("PreToolUse", DEFER)
    async with session_for(tmp_path, model, settings=settings) as session:
        await session.send(user("go"))
        await until_result(session)
        await session.send(user("by the way") | {"shouldQuery": False})
        await session.send(user("go on"))
        await until_result(session)
    assert_valid_history(model)
    assert not note(tmp_path).exists()


# frames about hooks


async def test_runs_of_settings_hooks_are_shown_and_callbacks_are_not(tmp_path: Path) -> None:
    async def look(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        return {}

    hooks: Any = {"PreToolUse": [HookMatcher(hooks=[look])]}
    command = "echo out; echo err >&2; exit 2"
    frames = await written(tmp_path, command, include_hook_events=True, hooks=hooks)
    started, ended = [frame for frame in frames if frame["type"] == "system" and frame["subtype"].startswith("hook_")]
    expected = {"hook_id": started["hook_id"], "hook_name": "PreToolUse:Write", "hook_event": "PreToolUse"}
    assert started.items() >= ({"subtype": "hook_started"} | expected).items()
    told = {"output": "out\nerr\n", "stdout": "out\n", "stderr": "err\n", "exit_code": 2, "outcome": "error"}
    assert ended.items() >= ({"subtype": "hook_response"} | expected | told).items()


async def test_runs_are_not_shown_unless_asked_for_and_outputs_may_be_suppressed(tmp_path: Path) -> None:
    command = "echo '{\"suppressOutput\": true}'"
    assert not [frame for frame in await written(tmp_path, command) if str(frame.get("subtype")).startswith("hook_")]
    frames = await written(tmp_path, command, include_hook_events=True)
    (ended,) = [frame for frame in frames if frame.get("subtype") == "hook_response"]
    assert (ended["outcome"], ended["stdout"], ended["output"]) == ("success", "", "")


async def test_hooks_at_the_start_are_always_shown(tmp_path: Path) -> None:
    frames = await play(tmp_path, ScriptedModel([Say("ok")]), settings=command_settings("SessionStart", "true"))
    shown = [(frame["subtype"], frame["hook_name"]) for frame in frames if str(frame.get("subtype")).startswith("hook_")]
    assert shown == [("hook_started", "SessionStart:startup"), ("hook_response", "SessionStart:startup")]


async def test_a_hook_that_takes_too_long_is_shown_as_cancelled(tmp_path: Path) -> None:
    frames = await written(tmp_path, {"type": "command", "command": "sleep 1000", "timeout": 0.2}, include_hook_events=True)
    (ended,) = [frame for frame in frames if frame.get("subtype") == "hook_response"]
    assert (ended["outcome"], "did not answer" in ended["stderr"]) == ("cancelled", True)
