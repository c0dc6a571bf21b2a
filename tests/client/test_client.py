import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_client import fake_cli, fake_transport, nothing_left, texts
from toolwright.client import ClaudeSDKClient
from toolwright.mcp.author.server import create_sdk_mcp_server
from toolwright.mcp.author.tool import tool
from toolwright.protocol.memory import memory_transport_pair
from toolwright.types import (
    ClaudeAgentOptions,
    CLIConnectionError,
    ControlError,
    HookJSONOutput,
    HookMatcher,
    OptionsError,
    PermissionResult,
    PermissionResultAllow,
    ProcessError,
    ToolPermissionContext,
)

pytestmark = pytest.mark.anyio

Program = Callable[..., ClaudeAgentOptions]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    path = fake_cli(tmp_path)
    return lambda **fields: ClaudeAgentOptions(cli_path=path, **fields)


async def said(*prompts: str) -> AsyncIterator[dict[str, Any]]:
    for prompt in prompts:
        yield {"type": "user", "message": {"role": "user", "content": prompt}}


async def response(client: ClaudeSDKClient) -> list[str]:
    return texts([message async for message in client.receive_response()])


async def test_turn_follows_turn_in_one_session(program: Program) -> None:
    async with nothing_left(), ClaudeSDKClient(program()) as client:
        await client.query("say one")
        assert await response(client) == ["<init>", "one", "[success]"]
        await client.query("say two")
        assert await response(client) == ["<init>", "two", "[success]"]


async def test_an_error_result_does_not_raise_and_the_session_goes_on(program: Program) -> None:
    async with nothing_left(), ClaudeSDKClient(program()) as client:
        await client.query("fail")
        assert await response(client) == ["<init>", "[error_during_execution]"]
        await client.query("say still here")
        assert await response(client) == ["<init>", "still here", "[success]"]


async def test_messages_may_be_sent_while_a_turn_runs() -> None:
    async with fake_transport() as transport, ClaudeSDKClient(transport=transport) as client:
        await client.query("wait")
        await client.query(said("say next", "say last"), session_id="other")
        await client.interrupt()
        assert await response(client) == ["<init>", "waiting", "[error_during_execution]"]
        assert await response(client) == ["<init>", "next", "[success]"]
        assert await response(client) == ["<init>", "last", "[success]"]


async def test_connecting_with_a_text_sends_it(program: Program) -> None:
    client = ClaudeSDKClient(program())
    async with nothing_left():
        await client.connect("say hello")
        assert await response(client) == ["<init>", "hello", "[success]"]
        await client.query("say more")
        assert await response(client) == ["<init>", "more", "[success]"]
        await client.disconnect()


async def test_connecting_with_a_stream_ends_when_the_stream_does(program: Program) -> None:
    client = ClaudeSDKClient(program())
    async with nothing_left():
        await client.connect(said("say one", "say two"))
        heard = texts([message async for message in client.receive_messages()])
        assert heard == ["<init>", "one", "[success]", "<init>", "two", "[success]"]
        await client.disconnect()


async def test_what_a_connected_stream_raises_is_raised_to_the_reader(program: Program) -> None:
    async def broken() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": "wait"}}
        raise LookupError("no more prompts")

    client = ClaudeSDKClient(program())
    async with nothing_left():
        await client.connect(broken())
        with pytest.raises(LookupError, match="no more prompts"):
            async for _ in client.receive_messages():
                pass
        await client.disconnect()


async def test_every_control_goes_over_the_wire_in_its_own_words() -> None:
    sent: list[dict[str, Any]] = []
    transport, peer = memory_transport_pair()

    async def answer() -> None:
        async for frame in peer.frames():
            sent.append(frame["request"])
            success = {"subtype": "success", "request_id": frame["request_id"], "response": {"number": len(sent)}}
            await peer.write({"type": "control_response", "response": success})

    async with anyio.create_task_group() as group:
        group.start_soon(answer)
        async with ClaudeSDKClient(transport=transport) as client:
            assert await client.get_server_info() == {"number": 1}
            await client.interrupt()
            await client.set_permission_mode("plan")
            await client.set_model("m")
            await client.set_model()
            await client.rewind_files("u1")
            assert dict(await client.get_mcp_status()) == {"number": 7}
            assert dict(await client.get_context_usage()) == {"number": 8}
            await client.reconnect_mcp_server("s")
            await client.toggle_mcp_server("s", False)
            await client.stop_task("t1")
    assert sent == [
        {"subtype": "initialize", "hooks": None},
        {"subtype": "interrupt"},
        {"subtype": "set_permission_mode", "mode": "plan"},
        {"subtype": "set_model", "model": "m"},
        {"subtype": "set_model", "model": None},
        {"subtype": "rewind_files", "user_message_id": "u1"},
        {"subtype": "mcp_status"},
        {"subtype": "get_context_usage"},
        {"subtype": "mcp_reconnect", "serverName": "s"},
        {"subtype": "mcp_toggle", "serverName": "s", "enabled": False},
        {"subtype": "stop_task", "task_id": "t1"},
    ]


async def test_a_refused_control_leaves_the_session_usable(program: Program) -> None:
    async with ClaudeSDKClient(program()) as client:
        with pytest.raises(ControlError, match="no such model"):
            await client.set_model("bad")
        await client.query("say fine")
        assert await response(client) == ["<init>", "fine", "[success]"]


async def test_nothing_works_before_connect_or_after_disconnect(program: Program) -> None:
    client = ClaudeSDKClient(program())

    async def everything_refuses() -> None:
        for call in (
            client.query("hi"),
            client.interrupt(),
            client.set_model("m"),
            client.get_server_info(),
            client.get_mcp_status(),
            anext(client.receive_messages()),
            anext(client.receive_response()),
        ):
            with pytest.raises(CLIConnectionError, match=r"^Not connected\. Call connect\(\) first\.$"):
                await call

    await everything_refuses()
    await client.connect()
    await client.disconnect()
    await client.disconnect()
    await everything_refuses()


async def test_connecting_again_starts_afresh_and_leaves_the_first_nowhere(program: Program) -> None:
    client = ClaudeSDKClient(program())
    async with nothing_left():
        await client.connect()
        first = await client.get_server_info()
        await client.connect()
        second = await client.get_server_info()
        assert first is not None
        assert second is not None
        assert first["pid"] != second["pid"]
        await client.disconnect()


@pytest.mark.parametrize("prompt", [["say hello"], 7])
async def test_a_prompt_of_another_kind_is_refused(prompt: Any, program: Program) -> None:
    client = ClaudeSDKClient(program())
    with pytest.raises(OptionsError, match="prompt must be"):
        await client.connect(prompt)
    async with client:
        with pytest.raises(OptionsError, match="prompt must be"):
            await client.query(prompt)
        with pytest.raises(OptionsError, match="prompt must be"):
            await client.query(None)  # type: ignore[arg-type]  # the point of the test


async def test_a_program_that_dies_is_a_typed_error_for_reader_and_sender(program: Program) -> None:
    async with nothing_left(), ClaudeSDKClient(program()) as client:
        await client.query("die")
        with pytest.raises(ProcessError, match="last words"):
            await response(client)
        with pytest.raises(ProcessError, match="last words"):
            await client.query("anyone there?")
        with pytest.raises(ProcessError, match="last words"):
            await client.interrupt()


async def test_leaving_the_block_while_a_turn_runs_leaves_nothing(program: Program) -> None:
    async with nothing_left(), ClaudeSDKClient(program()) as client:
        await client.query("wait")
        async for _ in client.receive_messages():
            break


async def test_a_cancelled_task_leaves_nothing(program: Program) -> None:
    async with nothing_left():
        with anyio.move_on_after(0.3) as scope:
            async with ClaudeSDKClient(program()) as client:
                await client.query("wait")
                async for _ in client.receive_messages():
                    pass
        assert scope.cancelled_caught


async def test_one_task_may_read_while_another_writes_and_a_third_disconnects(program: Program) -> None:
    client = ClaudeSDKClient(program())
    heard: list[str] = []
    enough = anyio.Event()

    async def read() -> None:
        async for message in client.receive_messages():
            heard.extend(texts([message]))
            if heard[-2:] == ["two", "[success]"]:
                enough.set()

    async def write() -> None:
        await client.query("say one")
        await client.query("say two")

    async with nothing_left():
        await client.connect()
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(write)
            await enough.wait()
            await client.disconnect()
    assert heard == ["<init>", "one", "[success]", "<init>", "two", "[success]"]


async def test_a_client_may_be_disconnected_from_its_own_callback(program: Program) -> None:
    async def leave(name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        await client.disconnect()
        return PermissionResultAllow()

    client = ClaudeSDKClient(program(can_use_tool=leave))
    async with nothing_left():
        await client.connect("ask")
        with anyio.fail_after(10):
            assert texts([message async for message in client.receive_messages()]) == ["<init>"]


def test_a_client_is_small_and_takes_attributes_of_others() -> None:
    client = ClaudeSDKClient()
    assert sys.getsizeof(client) + sys.getsizeof(vars(client)) < 500
    client.span = "an instrument's"  # type: ignore[attr-defined]  # instrumentation hangs its own things on clients
    assert client.span == "an instrument's"  # type: ignore[attr-defined]


async def test_stderr_of_the_program_reaches_the_callback(program: Program) -> None:
    lines: list[str] = []
    async with ClaudeSDKClient(program(stderr=lines.append)) as client:
        await client.query("grumble 3")
        await response(client)
    assert lines == ["line 0", "line 1", "line 2"]


async def test_a_stream_of_a_session_in_this_process_may_be_left_without_closing_it(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"steps": [{"text": "one"}, {"text": "two"}]}')
    options = ClaudeAgentOptions(model=f"scripted:{script}", cwd=tmp_path, env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")})
    async with nothing_left(), ClaudeSDKClient(options) as client:
        await client.query("first")
        async for _ in client.receive_messages():
            break
        assert await response(client) == ["one", "[success]"]
        await client.query("second")
        assert await response(client) == ["<init>", "two", "[success]"]


async def test_a_client_takes_attributes_of_tracers() -> None:
    client = ClaudeSDKClient()
    client._tracer_state = "theirs"  # type: ignore[attr-defined]  # as instrumentation does
    assert vars(client)["_tracer_state"] == "theirs"


async def test_who_replaces_receive_messages_hears_every_response(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tracers do. The generator that takes its place is closed with the response, in the task that reads it."""
    heard: list[str] = []
    original = ClaudeSDKClient.receive_messages

    async def traced(self: ClaudeSDKClient) -> AsyncIterator[Any]:
        try:
            async for message in original(self):
                heard.append(type(message).__name__)
                yield message
        finally:
            heard.append("closed")

    monkeypatch.setattr(ClaudeSDKClient, "receive_messages", traced)
    async with nothing_left(), ClaudeSDKClient(program()) as client:
        for word in ("one", "two"):
            await client.query(f"say {word}")
            assert await response(client) == ["<init>", word, "[success]"]
    assert heard == [*["SystemMessage", "AssistantMessage", "ResultMessage", "closed"] * 2]


@pytest.mark.parametrize("setting", ["2", "0"])
async def test_a_reader_in_this_process_sees_a_call_before_anybody_is_asked_about_it(setting: str, tmp_path: Path) -> None:
    events: list[str] = []

    async def hook(payload: Any, tool_use_id: str | None, context: Any) -> HookJSONOutput:
        events.append(payload["hook_event_name"])
        return {}

    @tool("add", "Adds", {"a": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        events.append("handler")
        return {"content": [{"type": "text", "text": "1"}]}

    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": [{"tool": "mcp__sums__add", "input": {"a": 1}}, {"text": "done"}]}))
    options = ClaudeAgentOptions(
        model=f"scripted:{script}",
        cwd=tmp_path,
        setting_sources=[],
        env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "TOOLWRIGHT_CALLBACK_PAUSE_MS": setting},
        mcp_servers={"sums": create_sdk_mcp_server("sums", tools=[add])},
        allowed_tools=["mcp__sums__add"],
        hooks={event: [HookMatcher(hooks=[hook])] for event in ("PreToolUse", "Stop")},
    )
    async with nothing_left(), ClaudeSDKClient(options) as client:
        await client.query("go")
        async for message in client.receive_response():
            events.append(type(message).__name__)
    in_order = ["SystemMessage", "AssistantMessage", "PreToolUse", "handler", "UserMessage", "AssistantMessage", "Stop"]
    assert (events == [*in_order, "ResultMessage"]) is (setting == "2")
