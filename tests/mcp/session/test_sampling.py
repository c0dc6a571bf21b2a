"""Sampling: what a server gets of the session's model, who must allow it, and where it ends."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_mcp import TIMEOUT, entry, eventually
from support_runtime import Frame, play, results, session_for, text_of, until_result, user
from toolwright.models.scripted import Call, Fail, Say, ScriptedModel, Turn, WaitFor
from toolwright.types import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

pytestmark = pytest.mark.anyio

USAGE = {"input_tokens": 10, "output_tokens": 5}
HELLO = {"role": "user", "content": {"type": "text", "text": "Say hello."}}
ASKED = {"messages": [HELLO], "systemPrompt": "Be short.", "maxTokens": 100}
SAMPLE = Call("mcp__fault__sample_with", ASKED)
ANSWER = Turn([Say("Hello.")], usage=USAGE, model="the-model")
PIXEL = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}


def scripted(steps: list[Any]) -> ScriptedModel:
    """One sequence of answers for the conversation and for the server."""
    return ScriptedModel(steps, shared=True)


class Person:
    """Answers every question in the same way, and remembers them."""

    def __init__(self, answer: PermissionResultAllow | PermissionResultDeny | None = None) -> None:
        self.answer = answer or PermissionResultAllow()
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(
        self, name: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        self.asked.append((name, given))
        return self.answer


def setting(person: Person | None, *mode: str, requests: int = 5, tokens: int = 1000, **more: Any) -> dict[str, Any]:
    budget = {"maxRequests": requests, "maxTokens": tokens}
    servers = {"fault": entry(*mode, sampling=budget)}
    return {"mcp_servers": servers, "allowed_tools": ["mcp__fault__*"], "tools": [], "can_use_tool": person, **more}


def said(frames: list[Frame]) -> list[Any]:
    """What the server heard, call by call."""
    return [json.loads(text_of(result)) for result in results(frames)]


async def test_an_allowed_request_is_answered_by_the_sessions_model_and_counted(tmp_path: Path) -> None:
    model, person = scripted([SAMPLE, ANSWER, Turn([Say("done")], usage=USAGE, model="the-model")]), Person()
    frames = await play(tmp_path, model, **setting(person))
    assert person.asked == [("McpSampling", {"server": "fault", **ASKED})]
    content = {"type": "text", "text": "Hello."}
    expected = {"role": "assistant", "content": content, "model": "the-model", "stopReason": "endTurn"}
    assert said(frames)[0]["result"] == expected
    request = model.requests[1]
    assert (request.system, request.tools, request.max_tokens) == ("Be short.", (), 100)
    assert [message.content for message in request.messages] == [[{"type": "text", "text": "Say hello."}]]
    assert frames[-1]["modelUsage"]["the-model"]["outputTokens"] == 10


async def test_the_conversation_holds_nothing_of_it(tmp_path: Path) -> None:
    model = scripted([SAMPLE, ANSWER, Say("done")])
    await play(tmp_path, model, **setting(Person()))
    assert [message.role for message in model.requests[2].messages] == ["user", "assistant", "user"]
    assert "Be short." not in model.requests[2].system


@pytest.mark.filterwarnings("ignore::toolwright.types.errors.CanUseToolShadowedWarning")
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
async def test_a_denied_request_reaches_no_model_in_any_mode(tmp_path: Path, mode: str) -> None:
    model, person = scripted([SAMPLE, Say("done")]), Person(PermissionResultDeny())
    frames = await play(tmp_path, model, **setting(person, permission_mode=mode, env={"IS_SANDBOX": "1"}))
    assert said(frames)[0]["error"] == {"code": -1, "message": "The person did not allow this sampling request."}
    assert (len(person.asked), len(model.requests)) == (1, 2)


async def test_a_person_may_change_what_goes_out(tmp_path: Path) -> None:
    model = scripted([SAMPLE, ANSWER, Say("done")])
    await play(tmp_path, model, **setting(Person(PermissionResultAllow(updated_input={"systemPrompt": "Mine."}))))
    assert (model.requests[1].system, model.requests[1].max_tokens) == ("Mine.", 100)


async def test_it_is_not_offered_where_nobody_can_be_asked(tmp_path: Path) -> None:
    model = scripted([Call("mcp__fault__abilities"), SAMPLE, Say("done")])
    abilities, answer = said(await play(tmp_path, model, **setting(None)))
    assert "sampling" not in abilities
    assert answer["error"]["code"] == -32601


async def test_it_is_not_offered_to_a_server_without_a_budget(tmp_path: Path) -> None:
    model, person = scripted([Call("mcp__fault__abilities"), SAMPLE, Say("done")]), Person()
    more = setting(person) | {"mcp_servers": {"fault": entry()}}
    abilities, answer = said(await play(tmp_path, model, **more))
    assert ("sampling" in abilities, "elicitation" in abilities) == (False, True)
    assert (answer["error"]["code"], person.asked) == (-32601, [])


async def test_it_is_announced_to_a_server_with_a_budget(tmp_path: Path) -> None:
    (abilities,) = said(await play(tmp_path, scripted([Call("mcp__fault__abilities"), Say("done")]), **setting(Person())))
    assert abilities["sampling"] == {}


@pytest.mark.parametrize("answer", [PermissionResultAllow(), PermissionResultDeny()])
async def test_the_number_of_requests_is_limited_also_of_denied_ones(
    tmp_path: Path, answer: PermissionResultAllow | PermissionResultDeny
) -> None:
    answers = [ANSWER] if isinstance(answer, PermissionResultAllow) else []
    model, person = scripted([SAMPLE, *answers, SAMPLE, Say("done")]), Person(answer)
    frames = await play(tmp_path, model, **setting(person, requests=1))
    expected = {"code": -32000, "message": "Sampling budget exhausted: 1 requests were made."}
    assert (said(frames)[1]["error"], len(person.asked)) == (expected, 1)


async def test_connecting_again_does_not_fill_up_the_budget(tmp_path: Path) -> None:
    model = scripted([SAMPLE, ANSWER, Say("first"), SAMPLE, Say("second")])
    async with session_for(tmp_path, model, **setting(Person(), requests=1)) as session:
        await session.send(user("go"))
        await until_result(session)
        await session.control({"subtype": "mcp_reconnect", "serverName": "fault"})
        await session.send(user("again"))
        assert "exhausted" in said(await until_result(session))[0]["error"]["message"]


async def test_answers_get_shorter_with_what_is_left_of_the_tokens_and_then_end(tmp_path: Path) -> None:
    wordy = Turn([Say("Hello.")], stop_reason="max_tokens", usage={"input_tokens": 10, "output_tokens": 20})
    model, person = scripted([SAMPLE, wordy, SAMPLE, wordy, SAMPLE, Say("done")]), Person()
    first, second, third = said(await play(tmp_path, model, **setting(person, tokens=40)))
    assert (first["result"]["stopReason"], second["result"]["stopReason"]) == ("maxTokens", "maxTokens")
    assert (model.requests[1].max_tokens, model.requests[3].max_tokens) == (35, 5)  # the request itself is about five
    assert "Sampling budget exhausted: 60 of 40 tokens were used" in third["error"]["message"]
    assert len(person.asked) == 2


async def test_a_request_that_alone_is_over_the_budget_is_not_even_asked_about(tmp_path: Path) -> None:
    long = {"messages": [{"role": "user", "content": {"type": "text", "text": "x" * 4000}}], "maxTokens": 1}
    model, person = scripted([Call("mcp__fault__sample_with", long), Say("done")]), Person()
    (answer,) = said(await play(tmp_path, model, **setting(person)))
    assert "this request has about 1000" in answer["error"]["message"]
    assert person.asked == []


async def test_a_session_over_its_money_answers_no_server(tmp_path: Path) -> None:
    person = Person()
    async with session_for(tmp_path, scripted([]), **setting(person, max_budget_usd=1.0)) as session:
        conversation = session.started.conversation
        conversation.ledger.add("unknown", USAGE)  # no price is known: a budget could not be kept
        toolbox = conversation.toolbox
        await toolbox.settle(TIMEOUT)
        answer = await toolbox.connections["fault"].server.call_tool("sample_with", ASKED)
    assert "budget does not allow sampling" in text_of(answer)
    assert person.asked == []


async def test_a_model_that_fails_is_an_error_and_the_session_goes_on(tmp_path: Path) -> None:
    model = scripted([SAMPLE, Fail(kind="overloaded"), Say("done")])
    frames = await play(tmp_path, model, **setting(Person()))
    assert said(frames)[0]["error"]["message"] == "The model did not answer: overloaded"
    assert frames[-1]["result"] == "done"


async def test_images_go_with_the_request(tmp_path: Path) -> None:
    asked = {"messages": [{"role": "user", "content": [HELLO["content"], PIXEL]}], "maxTokens": 5}
    model = scripted([Call("mcp__fault__sample_with", asked), ANSWER, Say("done")])
    await play(tmp_path, model, **setting(Person(), tokens=5000))
    source = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
    assert model.requests[1].messages[0].content[1] == {"type": "image", "source": source}


@pytest.mark.parametrize(
    ("changed", "needed"),
    [
        ({"messages": []}, '"messages"'),
        ({"messages": ["hello"]}, '"role"'),
        ({"messages": [{"role": "system", "content": HELLO["content"]}]}, '"role"'),
        (
            {"messages": [{"role": "user", "content": {"type": "audio", "data": "", "mimeType": "audio/wav"}}]},
            "text, or an image",
        ),
        ({"messages": [{"role": "user", "content": PIXEL | {"mimeType": "image/x"}}]}, "text, or an image"),
        ({"maxTokens": 0}, '"maxTokens"'),
        ({"maxTokens": True}, '"maxTokens"'),
        ({"systemPrompt": 7}, '"systemPrompt"'),
        ({"tools": [{"name": "rm"}]}, 'no "tools"'),
    ],
)
async def test_a_request_that_is_none_is_refused_before_anybody_is_asked(
    tmp_path: Path, changed: dict[str, Any], needed: str
) -> None:
    model, person = scripted([Call("mcp__fault__sample_with", ASKED | changed), Say("done")]), Person()
    (answer,) = said(await play(tmp_path, model, **setting(person)))
    assert answer["error"]["code"] == -32602
    assert needed in answer["error"]["message"]
    assert person.asked == []


async def test_it_works_without_a_handshake_too(tmp_path: Path) -> None:
    model, person = scripted([SAMPLE, ANSWER, SAMPLE, Say("done")]), Person()
    first, second = results(await play(tmp_path, model, **setting(person, "stateless", requests=1)))
    assert json.loads(text_of(first))["mine"]["content"]["text"] == "Hello."
    assert "Sampling budget exhausted" in text_of(second)


class Held:
    """An answer of the model that does not come before it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.ended = anyio.Event(), anyio.Event()

    async def wait(self) -> None:
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()


async def test_it_ends_with_the_call_that_it_was_asked_in(tmp_path: Path) -> None:
    held = Held()
    model = scripted([Call("mcp__fault__sample_and_stop", ASKED), Turn([WaitFor(held.wait)]), Say("never")])
    async with session_for(tmp_path, model, **setting(Person())) as session:
        await session.send(user("go"))
        with anyio.fail_after(TIMEOUT):
            await held.begun.wait()
            await session.control({"subtype": "interrupt"})
            await held.ended.wait()
            await until_result(session)
        server = session.started.conversation.toolbox.connections["fault"].server
        with anyio.fail_after(TIMEOUT):
            while (answer := json.loads(text_of(await server.call_tool("last_answer", {})))) is None:
                await anyio.sleep(0.01)
    assert answer["error"]["message"] == "The call that this was asked for was given up."


async def test_it_ends_with_the_last_of_several_calls(tmp_path: Path) -> None:
    held = Held()
    async with session_for(tmp_path, scripted([Turn([WaitFor(held.wait)])]), **setting(Person())) as session:
        toolbox = session.started.conversation.toolbox
        await toolbox.settle(TIMEOUT)
        server = toolbox.connections["fault"].server
        async with anyio.create_task_group() as group:
            group.start_soon(server.call_tool, "slow", {})
            group.start_soon(server.call_tool, "sample_and_stop", ASKED)
            await eventually(held.begun.is_set)
            group.cancel_scope.cancel()
        await eventually(held.ended.is_set)


async def test_a_server_may_take_its_request_back(tmp_path: Path) -> None:
    held = Held()
    model = scripted([Turn([WaitFor(held.wait)])])
    async with session_for(tmp_path, model, **setting(Person())) as session, anyio.create_task_group() as group:
        toolbox = session.started.conversation.toolbox
        await toolbox.settle(TIMEOUT)
        server = toolbox.connections["fault"].server
        group.start_soon(server.call_tool, "sample_and_stop", ASKED)
        await eventually(held.begun.is_set)
        await server.call_tool("stop_sampling", {})
        await eventually(held.ended.is_set)
        assert text_of(await server.call_tool("last_answer", {})) == "null"
        group.cancel_scope.cancel()
