"""The fields of an initialize request: what each does to the session, and what is said about the others."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support_runtime import options_for, play
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.runtime.initialization import initialized, notes_on
from toolwright.runtime.wire_session import serve
from toolwright.types import ClaudeAgentOptions, OptionsError

pytestmark = pytest.mark.anyio

Frame = dict[str, Any]
PRESET: Any = {"type": "preset", "preset": "claude_code"}
GO: Frame = {"type": "user", "message": {"role": "user", "content": "go"}}
TOOL = {
    "name": "get",
    "description": "The weather",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
SERVER: dict[str, Frame] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}},
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "sunny"}]},
}


def initialize(**fields: Any) -> Frame:
    return {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", **fields}}


async def conversation(options: ClaudeAgentOptions, *frames: Frame) -> tuple[int, list[Frame]]:
    """Serve a session to a client that has one tool server; its exit code and what it sent."""
    from toolwright.base.concurrency import Channel

    to_session: Channel[Frame] = Channel()
    for frame in frames:
        to_session.put_now(frame)
    sent: list[Frame] = []

    async def read() -> AsyncIterator[Frame]:
        async for frame in to_session:
            yield frame

    async def write(frame: Frame) -> None:
        sent.append(frame)
        if frame["type"] == "control_request":
            message = frame["request"]["message"]
            reply = {"jsonrpc": "2.0", "id": message.get("id"), "result": SERVER.get(message["method"], {})}
            answer = {"subtype": "success", "request_id": frame["request_id"], "response": {"mcp_response": reply}}
            to_session.put_now({"type": "control_response", "response": answer})
        if frame["type"] == "result":
            to_session.close()

    return await serve(options, read(), write), sent


async def test_tool_servers_named_in_the_request_are_there(tmp_path: Path) -> None:
    model = ScriptedModel([Call("mcp___w__get", {"city": "Oslo"}), Say("done")])
    options = options_for(tmp_path, model, allowed_tools=["mcp___w__get"])
    code, sent = await conversation(options, initialize(sdkMcpServers=["_w"], sdkMcpServerManifests={"_w": {}}), GO)
    assert code == 0
    assert "sunny" in str(model.requests[1].messages[-1])
    (init,) = [frame for frame in sent if frame.get("subtype") == "init"]
    assert init["mcp_servers"] == [{"name": "_w", "status": "connected", "source": "sdk"}]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"systemPrompt": ["You are a cat."]}, "You are a cat."),
        ({"systemPrompt": "You are a cat."}, "You are a cat."),
        ({"systemPrompt": ["One.", "", "Two."], "appendSystemPrompt": "Three."}, "One.\n\nTwo.\n\nThree."),
    ],
)
async def test_the_system_prompt_of_the_request_is_the_models(tmp_path: Path, fields: Frame, expected: str) -> None:
    model = ScriptedModel([Say("done")])
    await conversation(options_for(tmp_path, model, system_prompt=PRESET), initialize(**fields), GO)
    assert model.requests[0].system.startswith(f"{expected}\n\nWorking directory")


async def test_an_appended_prompt_stands_behind_our_own(tmp_path: Path) -> None:
    model = ScriptedModel([Say("done")])
    await conversation(options_for(tmp_path, model, system_prompt=PRESET), initialize(appendSystemPrompt="Be a cat."), GO)
    assert "Working directory" in model.requests[0].system
    assert "Be a cat." in model.requests[0].system


def prompt_of(before: Any, **fields: Any) -> Any:
    return initialized(ClaudeAgentOptions(system_prompt=before), fields).system_prompt


def test_forms_of_system_prompts() -> None:
    assert prompt_of(PRESET, systemPrompt=[""]) is None
    assert prompt_of("A.", appendSystemPrompt="B.") == "A.\n\nB."
    assert prompt_of({**PRESET, "append": "A."}, appendSystemPrompt="B.") == {**PRESET, "append": "A.\n\nB."}
    assert prompt_of({"type": "custom", "prompt": "A."}, appendSystemPrompt="B.") == {"type": "custom", "prompt": "A.\n\nB."}
    assert prompt_of(PRESET, excludeDynamicSections=True, systemPromptSnapshot=False) == {
        **PRESET,
        "exclude_dynamic_sections": True,
        "snapshot": False,
    }
    assert prompt_of("A.") == "A."
    with pytest.raises(OptionsError, match="appendSystemPrompt cannot be added to --system-prompt-file"):
        prompt_of({"type": "file", "path": "x"}, appendSystemPrompt="B.")


def test_the_other_fields_are_options() -> None:
    agent = {"description": "d", "prompt": "p", "maxTurns": 3, "criticalSystemReminder_EXPERIMENTAL": "x"}
    options = initialized(
        ClaudeAgentOptions(),
        {"jsonSchema": {"type": "object"}, "agents": {"a": agent}, "skills": ["s"], "forwardSubagentText": True},
    )
    assert options.output_format == {"type": "json_schema", "schema": {"type": "object"}}
    assert options.agents is not None
    assert (options.agents["a"].prompt, options.agents["a"].maxTurns) == ("p", 3)
    assert (options.skills, options.forward_subagent_text) == (["s"], True)


@pytest.mark.parametrize(
    "fields",
    [
        {"systemPrompt": 1},
        {"agents": []},
        {"agents": {"a": {}}},
        {"skills": "s"},
        {"toolAliases": {"a": 1}},
        {"jsonSchema": []},
    ],
)
def test_a_field_of_the_wrong_kind_is_named(fields: Frame) -> None:
    with pytest.raises(OptionsError, match=f"initialize: {next(iter(fields))}"):
        initialized(ClaudeAgentOptions(), fields)


async def test_servers_and_hooks_of_the_wrong_kind_are_refused_in_a_result(tmp_path: Path) -> None:
    for fields in ({"sdkMcpServers": "w"}, {"hooks": ["x"]}):
        code, sent = await conversation(options_for(tmp_path, ScriptedModel([])), initialize(**fields))
        assert code == 1
        assert next(iter(fields)) in sent[-1]["errors"][0]


async def test_an_unknown_field_is_named_in_the_diagnostics(tmp_path: Path) -> None:
    said: list[str] = []
    options = options_for(tmp_path, ScriptedModel([Say("done")]), stderr=said.append)
    await conversation(options, initialize(timeTravel=True, title="T", hooks=None, promptSuggestions=False), GO)
    assert said == [
        "toolwright: initialize: the field timeTravel is not known and has no effect",
        "toolwright: initialize: the field title has no effect in this version",
    ]
    assert list(notes_on({"subtype": "initialize", "systemPrompt": "x", "sdkMcpServers": [], "supportedDialogKinds": []})) == []


async def test_calls_are_redirected_by_aliases_and_judged_as_what_they_become(tmp_path: Path) -> None:
    model = ScriptedModel([Call("Bash", {"command": "touch ran"}), Say("done")])
    options = options_for(tmp_path, model, allowed_tools=["Bash"])
    await conversation(options, initialize(sdkMcpServers=["w"], toolAliases={"Bash": "mcp__w__get"}), GO)
    assert not (tmp_path / "workspace" / "ran").exists()
    assert "sunny" not in str(model.requests[1].messages[-1]), "a rule for Bash does not allow the tool that is called instead"


async def test_an_alias_without_a_target_runs_nothing(tmp_path: Path) -> None:
    model = ScriptedModel([Call("Bash", {"command": "touch ran"}), Say("done")])
    options = options_for(tmp_path, model, allowed_tools=["Bash"])
    await conversation(options, initialize(toolAliases={"Bash": "mcp__gone__bash"}), GO)
    assert not (tmp_path / "workspace" / "ran").exists()
    assert "No such tool available" in str(model.requests[1].messages[-1])


async def test_plan_mode_takes_the_hosts_instructions(tmp_path: Path) -> None:
    model = ScriptedModel([Say("done")])
    options = options_for(tmp_path, model, permission_mode="plan")
    await conversation(options, initialize(planModeInstructions="Draw a map first."), GO)
    assert "Draw a map first, then give your plan" in str(model.requests[0].messages)
    assert "only look" in str(model.requests[0].messages)


async def test_with_await_initialize_messages_wait_for_the_request(tmp_path: Path) -> None:
    model = ScriptedModel([Say("done")])
    options = options_for(tmp_path, model, extra_args={"await-initialize": None})
    code, sent = await conversation(options, GO, initialize(systemPrompt=["You are a cat."]))
    assert (code, sent[-1]["type"]) == (0, "system")
    assert "You are a cat." in model.requests[0].system


async def test_with_await_initialize_an_end_without_the_request_is_a_failure(tmp_path: Path) -> None:
    said: list[str] = []

    async def read() -> AsyncIterator[Frame]:
        yield GO

    async def write(frame: Frame) -> None:
        raise AssertionError(frame)

    options = options_for(tmp_path, ScriptedModel([]), extra_args={"await-initialize": None}, stderr=said.append)
    assert await serve(options, read(), write) == 1
    assert said == ["toolwright: input ended without the initialize request that --await-initialize waits for"]


async def test_an_agent_can_hold_the_conversation(tmp_path: Path) -> None:
    model = ScriptedModel([Say("done")])
    agents = {"cat": {"description": "d", "prompt": "You are a cat.", "tools": ["Read", "mcp__w__get"]}}
    options = options_for(tmp_path, model, extra_args={"agent": "cat"})
    code, sent = await conversation(options, initialize(agents=agents), GO)
    assert code == 0
    assert "You are a cat." in model.requests[0].system
    assert [spec.name for spec in model.requests[0].tools] == ["Read"]
    code, sent = await conversation(options, initialize(agents={}), GO)
    assert (code, sent[-1]["errors"]) == (1, ["agent: there is no agent 'cat'; known are: none"])


async def test_a_session_that_is_not_to_be_kept_writes_no_transcript(tmp_path: Path) -> None:
    for flags, written in (({}, 1), ({"no-session-persistence": None}, 0)):
        folder = tmp_path / str(written)
        folder.mkdir()
        await play(folder, ScriptedModel([Say("done")]), extra_args=flags)
        assert len(list(folder.glob("config/projects/*/*.jsonl"))) == written


async def test_the_policy_of_the_starting_program_holds(tmp_path: Path) -> None:
    policy = '{"permissions": {"deny": ["Bash"]}}'
    model = ScriptedModel([Call("Bash", {"command": "touch ran"}), Say("done")])
    options = options_for(tmp_path, model, permission_mode="bypassPermissions", extra_args={"managed-settings": policy})
    await conversation(options, initialize(), GO)
    assert not (tmp_path / "workspace" / "ran").exists()


async def test_project_settings_come_from_the_folder_that_is_named(tmp_path: Path) -> None:
    options = options_for(tmp_path, ScriptedModel([Say("x")]), extra_args={"project-config-root": "relative"})
    code, sent = await conversation(options, initialize(), GO)
    assert code == 1
    assert "project-config-root must be the absolute path of a folder" in sent[-1]["errors"][0]
    root = tmp_path / "trusted"
    (root / ".claude").mkdir(parents=True)
    (root / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash"]}}')
    model = ScriptedModel([Call("Bash", {"command": "touch ran"}), Say("done")])
    flags = {"project-config-root": str(root)}
    await conversation(options_for(tmp_path, model, allowed_tools=["Bash"], extra_args=flags), initialize(), GO)
    assert not (tmp_path / "workspace" / "ran").exists()
