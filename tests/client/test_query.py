import gc
import json
import warnings
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_client import children, fake_cli, fake_transport, nothing_left, texts
from toolwright.client import query
from toolwright.mcp.author.server import create_sdk_mcp_server
from toolwright.types import (
    ClaudeAgentOptions,
    CLIConnectionError,
    CLINotFoundError,
    HookMatcher,
    Message,
    OptionsError,
    PermissionResult,
    PermissionResultAllow,
    ProcessError,
    ResultError,
    ToolPermissionContext,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., ClaudeAgentOptions]:
    path = fake_cli(tmp_path)
    return lambda **fields: ClaudeAgentOptions(cli_path=path, **fields)


Program = Callable[..., ClaudeAgentOptions]


async def said(*prompts: str, pause: float = 0.0) -> AsyncIterator[dict[str, Any]]:
    for prompt in prompts:
        yield {"type": "user", "message": {"role": "user", "content": prompt}}
        await anyio.sleep(pause)


async def collected(messages: list[Message], stream: AsyncIterator[Message]) -> None:
    """Into the list, so that what came before an error can be looked at."""
    async for message in stream:
        messages.append(message)


async def allow(name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
    return PermissionResultAllow()


async def test_a_prompt_gives_messages_up_to_its_result(program: Program) -> None:
    async with nothing_left():
        messages = [message async for message in query(prompt="say hello", options=program())]
    assert texts(messages) == ["<init>", "hello", "[success]"]


async def test_a_custom_transport_is_used_as_it_is() -> None:
    async with nothing_left(), fake_transport() as transport:
        messages = [message async for message in query(prompt="say hello", transport=transport)]
    assert texts(messages) == ["<init>", "hello", "[success]"]


async def test_streamed_prompts_are_answered_one_after_the_other(program: Program) -> None:
    async with nothing_left():
        messages = [message async for message in query(prompt=said("say one", "say two"), options=program())]
    assert texts(messages) == ["<init>", "one", "[success]", "<init>", "two", "[success]"]


async def test_callbacks_hooks_and_tools_are_reached_through_the_program(program: Program) -> None:
    async def hook(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        return {"systemMessage": f"saw {payload['hook_event_name']}"}

    def double(number: int) -> str:
        """Twice the number."""
        return str(2 * number)

    options = program(
        can_use_tool=allow,
        hooks={"Stop": [HookMatcher(hooks=[hook])]},
        mcp_servers={"calc": create_sdk_mcp_server("calc", tools=[double])},
    )
    call = 'tool calc {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"double","arguments":{"number":21}}}'
    async with nothing_left():
        messages = [message async for message in query(prompt=said("ask", "hook hook_0", call), options=options)]
    answers = [text for text in texts(messages) if text.startswith("{")]
    assert answers[0] == '{"behavior": "allow", "updatedInput": {"command": "ls"}}'
    assert answers[1] == '{"systemMessage": "saw Stop"}'
    assert '"text": "42"' in answers[2]


async def test_prompts_that_must_be_taken_as_they_are_say_so() -> None:
    async def seen(verbatim: bool) -> list[dict[str, Any]]:
        frames: list[dict[str, Any]] = []
        async with fake_transport() as transport:
            write = transport.write

            async def noted(data: str) -> None:
                frames.append(json.loads(data))
                await write(data)

            transport.write = noted  # type: ignore[method-assign]  # a tap on the wire
            options = ClaudeAgentOptions(verbatim_prompts=verbatim)
            async for _ in query(prompt="say /clear", options=options, transport=transport):
                pass
        return [frame for frame in frames if frame["type"] == "user"]

    plain = {"type": "user", "message": {"role": "user", "content": "say /clear"}, "parent_tool_use_id": None, "session_id": ""}
    assert await seen(False) == [plain]
    assert await seen(True) == [{**plain, "client_composed": True}]


async def test_an_error_result_is_yielded_and_then_raised(program: Program) -> None:
    messages: list[Message] = []
    async with nothing_left():
        with pytest.raises(ResultError, match="toolwright returned an error result: out of luck") as caught:
            await collected(messages, query(prompt="fail out of luck", options=program()))
    assert texts(messages) == ["<init>", "[error_during_execution]"]
    assert caught.value.subtype == "error_during_execution"
    assert caught.value.errors == ["out of luck"]
    assert caught.value.session_id == "s"


async def test_only_the_last_result_decides_whether_a_run_failed(program: Program) -> None:
    messages = [message async for message in query(prompt=said("fail once", "say fine"), options=program())]
    assert texts(messages)[-2:] == ["fine", "[success]"]


async def test_a_program_that_dies_in_the_middle_is_a_typed_error(program: Program) -> None:
    async with nothing_left():
        with pytest.raises(ProcessError, match="last words"):
            async for _ in query(prompt="die", options=program()):
                pass
        with pytest.raises(CLIConnectionError, match="without an answer"):
            async for _ in query(prompt="vanish", options=program()):
                pass


async def test_noise_and_unknown_frames_are_passed_over(program: Program) -> None:
    unknown = '{"type": "from_the_future", "field": 1}'
    for line in ("just some noise", unknown):
        messages = [message async for message in query(prompt=f"raw {line}", options=program())]
        assert texts(messages) == ["<init>", "[success]"]


async def test_a_frame_of_thirty_megabytes_passes(program: Program) -> None:
    messages = [message async for message in query(prompt="big 30000000", options=program())]
    assert [len(text) for text in texts(messages)] == [6, 30_000_000, 9]


@pytest.mark.parametrize("prompt", [None, ["say hello"], b"say hello", 7, iter(())])
async def test_a_prompt_of_another_kind_is_refused_with_a_hint(prompt: Any) -> None:
    with pytest.raises(OptionsError, match="prompt must be a string, or an async iterable"):
        async for _ in query(prompt=prompt, options=ClaudeAgentOptions(cli_path="/nowhere")):
            pass


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"cli_path": "/nowhere/agent"}, CLINotFoundError, "/nowhere/agent"),
        ({"cli_path": "/bin/true", "cwd": "/nowhere"}, CLIConnectionError, "Working directory does not exist: /nowhere"),
        ({"cli_path": "/bin/true", "can_use_tool": allow, "permission_prompt_tool_name": "x"}, OptionsError, "can_use_tool"),
        ({"cli_path": "/bin/true", "resume": "7" * 8, "continue_conversation": True}, OptionsError, "resume"),
    ],
)
async def test_options_that_cannot_work_are_typed_errors(fields: dict[str, Any], error: type[Exception], text: str) -> None:
    async with nothing_left():
        with pytest.raises(error, match=text):
            async for _ in query(prompt="hi", options=ClaudeAgentOptions(**fields)):
                pass


async def test_options_of_another_class_are_refused() -> None:
    with pytest.raises(OptionsError, match="ClaudeAgentOptions"):
        async for _ in query(prompt="hi", options={"model": "x"}):  # type: ignore[arg-type]  # the point of the test
            pass


async def test_what_the_prompt_stream_raises_comes_out_of_the_query(program: Program) -> None:
    async def broken() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": "wait"}}
        raise LookupError("no more prompts")

    async with nothing_left():
        with pytest.raises(LookupError, match="no more prompts"):
            async for _ in query(prompt=broken(), options=program()):
                pass


async def test_a_prompt_stream_of_something_else_than_messages_is_refused(program: Program) -> None:
    async def words() -> AsyncIterator[Any]:
        yield "say hello"

    async with nothing_left():
        with pytest.raises(OptionsError, match=r"must yield dicts.*not str"):
            async for _ in query(prompt=words(), options=program()):
                pass


async def test_a_run_with_no_prompts_ends_without_messages(program: Program) -> None:
    async with nothing_left():
        assert [message async for message in query(prompt=said(), options=program(can_use_tool=allow))] == []


# leaving early


async def test_leaving_the_loop_and_closing_leaves_nothing(program: Program) -> None:
    async with nothing_left():
        stream = query(prompt="wait", options=program())
        async for _ in stream:
            break
        await stream.aclose()  # type: ignore[attr-defined]  # a generator


async def test_a_query_that_never_began_costs_nothing(program: Program) -> None:
    async with nothing_left():
        stream = query(prompt="wait", options=program())
        await stream.aclose()  # type: ignore[attr-defined]  # a generator


async def test_a_query_may_be_closed_by_another_task(program: Program) -> None:
    async with nothing_left():
        stream = query(prompt="wait", options=program())
        assert await anext(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(stream.aclose)  # type: ignore[attr-defined]  # a generator


async def test_a_query_may_be_read_by_one_task_after_another(program: Program) -> None:
    messages: list[Message] = []
    stream = query(prompt="say hello", options=program())

    async def read_one() -> None:
        messages.append(await anext(stream))

    async with nothing_left():
        for _ in range(3):
            async with anyio.create_task_group() as group:
                group.start_soon(read_one)
        await stream.aclose()  # type: ignore[attr-defined]  # a generator
    assert texts(messages) == ["<init>", "hello", "[success]"]


async def test_cancelling_a_query_leaves_nothing(program: Program) -> None:
    async with nothing_left():
        with anyio.move_on_after(0.3) as scope:
            async for _ in query(prompt=said("wait"), options=program(can_use_tool=allow)):
                pass
        assert scope.cancelled_caught


async def test_cancelling_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "silent"
    path.write_text("#!/bin/sh\nread line\nread line\n")
    path.chmod(0o755)
    async with nothing_left():
        with anyio.move_on_after(0.2) as scope:
            async for _ in query(prompt="hi", options=ClaudeAgentOptions(cli_path=path)):
                pass
        assert scope.cancelled_caught


async def test_a_query_that_is_dropped_and_collected_leaves_nothing(program: Program) -> None:
    async with nothing_left():
        stream: AsyncIterator[Message] | None = query(prompt="wait", options=program())
        assert stream is not None
        assert await anext(stream)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # trio says that one should have closed it, and is right
            stream = None
            gc.collect()
            await anyio.sleep(0.01)


async def test_many_queries_at_once_do_not_mix(program: Program) -> None:
    answers: dict[int, list[str]] = {}

    async def ask(number: int) -> None:
        answers[number] = texts([message async for message in query(prompt=f"say {number}", options=program())])

    async with nothing_left(), anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(ask, number)
    assert answers == {number: ["<init>", str(number), "[success]"] for number in range(12)}


def test_a_loop_that_ends_with_an_open_query_leaves_no_process(tmp_path: Path) -> None:
    options = ClaudeAgentOptions(cli_path=fake_cli(tmp_path))
    kept: list[Any] = []

    async def main() -> None:
        stream = query(prompt="wait", options=options)
        await anext(stream)
        kept.append(stream)

    anyio.run(main)
    assert not children()


async def test_wrong_options_are_told_without_the_way_through_our_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "TOOLWRIGHT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(OptionsError, match="There is no key for the model") as told:
        async for _ in query(prompt="Hi", options=ClaudeAgentOptions(model="claude-x")):
            pass
    assert [frame.name for frame in told.traceback][1:] == ["query", "start"]
    assert told.value.__suppress_context__
