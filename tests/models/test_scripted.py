"""The scripted model: what it streams, how it fails, and scripts from files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import HistoryMessage, Model, ModelError, ModelRequest
from toolwright.models.script_file import load_script
from toolwright.models.scripted import Block, BreakOff, Call, Fail, Say, ScriptedModel, Step, Think, Turn, Wait, WaitFor
from toolwright.types.errors import OptionsError

pytestmark = pytest.mark.anyio


def ask(words: str = "hi", session: str = "s") -> ModelRequest:
    return ModelRequest("scripted", [HistoryMessage("user", [{"type": "text", "text": words}])], session_id=session)


async def stream(model: Model, request: ModelRequest | None = None, seen: list[Any] | None = None) -> list[Any]:
    events: list[Any] = [] if seen is None else seen
    async with aclosing(model.stream(request or ask())) as answer:
        async for event in answer:
            events.append(event)
    return events


async def blocks(model: Model, request: ModelRequest | None = None) -> list[dict[str, Any]]:
    assembler = MessageAssembler()
    return [block for event in await stream(model, request) if (block := assembler.feed(event)) is not None]


async def text(model: Model, request: ModelRequest | None = None) -> str:
    return "".join(block.get("text", "") for block in await blocks(model, request))


async def test_a_turn_comes_as_a_whole_stream_of_events() -> None:
    long = "A text that is long enough to come in more than one piece."
    turn = Turn(
        [Think("Hm, what now?"), Say(long), Call("Read", {"file_path": "/tmp/a/long/path"}, "call_1")],
        usage={"output_tokens": 9},
    )
    events = await stream(ScriptedModel([turn]))
    assembler = MessageAssembler()
    assert [block for event in events if (block := assembler.feed(event)) is not None] == [
        {"type": "thinking", "thinking": "Hm, what now?", "signature": "scripted"},
        {"type": "text", "text": long},
        {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "/tmp/a/long/path"}},
    ]
    assert (assembler.stop_reason, assembler.usage["output_tokens"], assembler.model) == ("tool_use", 9, "scripted")
    kinds = [event.get("delta", {}).get("type") for event in events]
    assert kinds.count("text_delta") > 1
    assert kinds.count("input_json_delta") > 1
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]


@pytest.mark.parametrize("step", ["hello", Say("hello"), [Say("hel"), Say("lo")], Turn([Say("hello")]), lambda _: "hello"])
async def test_a_step_can_be_written_in_many_ways(step: Step) -> None:
    assert await text(ScriptedModel([step])) == "hello"


async def test_a_step_may_look_at_the_request() -> None:
    async def echo(request: ModelRequest) -> Step:
        return Say(request.messages[-1].content[0]["text"].upper())

    assert await text(ScriptedModel([echo]), ask("loud")) == "LOUD"  # type: ignore[list-item]  # the outcome is a Step too


async def test_every_conversation_goes_through_the_script_on_its_own() -> None:
    model = ScriptedModel(["one", "two"])
    assert [await text(model, ask(session=name)) for name in ("a", "b", "a", "b")] == ["one", "one", "two", "two"]


async def test_a_shared_script_is_one_sequence() -> None:
    model = ScriptedModel(["one", "two"], shared=True)
    assert [await text(model, ask(session=name)) for name in ("a", "b")] == ["one", "two"]


async def test_a_script_that_is_over_says_how_long_it_was() -> None:
    model = ScriptedModel(["one"], model="mine")
    await stream(model)
    with pytest.raises(ModelError, match=r"'mine' is over: it has 1 step, and this is request 2\.") as caught:
        await stream(model)
    assert not caught.value.retryable


async def test_a_repeating_script_never_ends() -> None:
    model = ScriptedModel(["one", "two"], repeat=True)
    assert [await text(model) for _ in range(3)] == ["one", "two", "one"]


async def test_it_remembers_what_it_was_asked_as_it_was_then() -> None:
    model = ScriptedModel(["one", "two"])
    history = [HistoryMessage("user", [{"type": "text", "text": "first"}])]
    await stream(model, ModelRequest("m", history))
    history.append(HistoryMessage("assistant", [{"type": "text", "text": "one"}]))
    await stream(model, ModelRequest("m", history))
    assert [len(request.messages) for request in model.requests] == [1, 2]


async def test_ids_are_the_same_in_every_run_and_different_in_one() -> None:
    async def run() -> list[str]:
        model = ScriptedModel([[Call("A"), Call("A")], Call("A")])
        return [block["id"] for _ in range(2) for block in await blocks(model)]

    first = await run()
    assert first == await run()
    assert len(set(first)) == 3


async def test_input_that_is_no_json_and_an_empty_id_are_sent_as_they_are() -> None:
    events = await stream(ScriptedModel([Call("Read", '{"half": ', "")]))
    assembler = MessageAssembler()
    (call,) = [block for event in events if (block := assembler.feed(event)) is not None]
    assert call["id"] == ""
    assert list(assembler.invalid_inputs) == [""]


async def test_any_block_can_be_sent() -> None:
    block = {"type": "redacted_thinking", "data": "xyz"}
    assert await blocks(ScriptedModel([Block(block)])) == [block]


async def test_a_failure_is_an_error_of_its_kind() -> None:
    model = ScriptedModel([Fail("too busy", "overloaded", 529, retry_after=3), "better"])
    with pytest.raises(ModelError, match="too busy") as caught:
        await stream(model)
    error = caught.value
    assert (error.kind, error.status, error.retryable, error.retry_after) == ("overloaded", 529, True, 3)
    assert await text(model) == "better"


@pytest.mark.parametrize(("after", "expected"), [(0, 0), (1, 1), (4, 4), (99, 6)])
async def test_a_failure_can_come_in_the_middle_and_never_after_the_end(after: int, expected: int) -> None:
    seen: list[Any] = []
    turn = Turn([Say("some text for it")])
    for step in (Fail("lost", "connection", during=turn, after_events=after), BreakOff(turn, after)):
        seen.clear()
        with pytest.raises(ModelError):
            await stream(ScriptedModel([step]), seen=seen)
        assert len(seen) == expected
        assert all(event["type"] != "message_stop" for event in seen)


@pytest.mark.parametrize(("after", "retryable"), [(0, True), (1, True), (2, False)])
async def test_a_stream_that_breaks_off_is_truncated(after: int, retryable: bool) -> None:
    with pytest.raises(ModelError) as caught:
        await stream(ScriptedModel([BreakOff(Turn([Say("x")]), after)]))
    assert (caught.value.kind, caught.value.retryable) == ("truncated", retryable)


async def test_an_answer_can_be_held_until_something_happens() -> None:
    go = anyio.Event()
    seen: list[Any] = []
    model = ScriptedModel([[Say("before"), WaitFor(go.wait), Wait(0), Say("after")]], pace=0.0001)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: stream(model, seen=seen))
        with anyio.fail_after(5):
            while not any(event["type"] == "content_block_stop" for event in seen):
                await anyio.lowlevel.checkpoint()
        assert seen[-1] == {"type": "content_block_stop", "index": 0}
        go.set()
    assert seen[-1]["type"] == "message_stop"


async def test_a_delay_comes_before_everything() -> None:
    with anyio.move_on_after(0.05) as scope:
        seen: list[Any] = []
        await stream(ScriptedModel([Turn([Say("late")], delay=60)]), seen=seen)
    assert scope.cancelled_caught
    assert not seen


async def test_a_thousand_conversations_at_once() -> None:
    model = ScriptedModel([Call("Read"), "done"], record=False)
    answers: list[str] = []

    async def one(name: str) -> None:
        await stream(model, ask(session=name))
        answers.append(await text(model, ask(session=name)))

    async with anyio.create_task_group() as group:
        for number in range(1000):
            group.start_soon(one, str(number))
    assert answers == ["done"] * 1000
    assert not model.requests


# scripts from files

SCRIPT: Mapping[str, Any] = {
    "model": "from-file",
    "steps": [
        {"text": "I look.", "tool": "Read", "input": {"file_path": "/x"}, "id": "call_1", "usage": {"output_tokens": 3}},
        {
            "content": [{"thinking": "Hm"}, {"tool": "A"}, {"wait": 0}, {"tool": "B", "input": "no json"}],
            "stop_reason": "max_tokens",
        },
        {"error": {"kind": "overloaded", "status": 529, "message": "busy"}},
        {"text": "half", "cut": {"after_events": 2}, "delay": 0},
        {"text": "end", "id": None},
    ],
}


def write(folder: Path, content: Any, name: str = "script.json") -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else msgspec.json.encode(content))
    return file


async def test_a_script_from_a_file(tmp_path: Path) -> None:
    model = load_script(write(tmp_path, SCRIPT))
    assert model.model == "from-file"
    said, call = await blocks(model)
    assert said["text"] == "I look."
    assert call == {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "/x"}}
    assert [block["type"] for block in await blocks(model)] == ["thinking", "tool_use", "tool_use"]
    for kind in ("overloaded", "truncated"):
        with pytest.raises(ModelError) as caught:
            await stream(model)
        assert caught.value.kind == kind
    assert await text(model) == "end"


async def test_a_script_in_yaml(tmp_path: Path) -> None:
    content = b"model: y\nrepeat: true\nsteps:\n  - text: |\n      two\n      lines\n  - {tool: Read, input: {a: 1}}\n"
    model = load_script(write(tmp_path, content, "script.yaml"))
    assert await text(model) == "two\nlines\n"
    assert (await blocks(model))[0]["input"] == {"a": 1}


async def test_without_pyyaml_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(OptionsError, match=r"toolwright\[yaml\]"):
        load_script(write(tmp_path, b"steps: []", "script.yml"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON.*line 1"),
        (b"\xff\xfe", "cannot be read"),
        ([], "must be an object with model, steps.*not a list"),
        ({}, "no 'steps'"),
        ({"steps": {}}, "'steps' must be a list, not an object"),
        ({"steps": [], "modle": "x"}, "no field 'modle'"),
        ({"steps": ["x"]}, "step 1: it must be an object"),
        ({"steps": [{"text": "a"}, {"text": 5}]}, "step 2: the field 'text' must be a text, not a number"),
        ({"steps": [{"txt": "a"}]}, "step 1: there is no field 'txt'; there are"),
        ({"steps": [{}]}, "step 1: it does nothing"),
        ({"steps": [{"input": {}}]}, "step 1: 'input' and 'id' belong to a 'tool'"),
        ({"steps": [{"tool": "A", "input": []}]}, "'input' must be an object or a text, not a list"),
        ({"steps": [{"content": [{"text": "a"}, {"tool": 1}]}]}, "step 1, content 2: the field 'tool' must be a text"),
        ({"steps": [{"content": [{}]}]}, "step 1, content 1: it needs one of"),
        (
            {"steps": [{"error": {"kind": "bad luck"}}]},
            "step 1, error: there is no kind 'bad luck'; there are authentication_failed",
        ),
        ({"steps": [{"error": {"status": True}}]}, "'status' must be a number, not true or false"),
        ({"steps": [{"text": "a", "cut": {"after": 1}}]}, "step 1, cut: there is no field 'after'"),
    ],
)
async def test_a_bad_script_is_refused_with_the_place(tmp_path: Path, content: Any, message: str) -> None:
    file = write(tmp_path, content)
    with pytest.raises(OptionsError, match=message) as caught:
        load_script(file)
    assert str(file) in str(caught.value)


async def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="cannot be read"):
        load_script(tmp_path / "nothing.json")


async def test_bad_yaml_is_refused_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"(?s)not YAML.*line 2"):
        load_script(write(tmp_path, b"steps:\n  - {", "script.yaml"))
