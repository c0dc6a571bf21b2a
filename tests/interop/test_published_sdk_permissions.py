"""`can_use_tool` of the published SDK, asked by our runtime: who may do what."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import (
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultError,
    ToolPermissionContext,
    create_sdk_mcp_server,
    tool,
)
from claude_agent_sdk.types import PermissionRuleValue
from published import (
    ON_ASYNCIO,
    Place,
    answer_of,
    ask,
    bash,
    call,
    client_of,
    content_text,
    kinds,
    prompts,
    result,
    results,
    say,
    texts,
)

pytestmark = ON_ASYNCIO


class Person:
    """Answers from a list, the last answer for ever, and remembers what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.contexts: list[ToolPermissionContext] = []

    async def __call__(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        self.asked.append((name, given))
        self.contexts.append(context)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


TOUCH = bash("touch x", description="Make a file", id="t1")


@pytest.mark.parametrize("prompt", ["go", None], ids=["text", "iterable"])
async def test_allowed(prompt: str | None, place: Place) -> None:
    person = Person(PermissionResultAllow())
    messages = await ask(place.options(TOUCH, say("done"), can_use_tool=person), prompt or prompts("go"))
    assert person.asked == [("Bash", {"command": "touch x", "description": "Make a file"})]
    (context,) = person.contexts
    assert (context.tool_use_id, context.display_name, context.description) == ("t1", "Bash", "Make a file")
    assert [update.type for update in context.suggestions][:1] == ["addRules"]
    assert place.names() == ["x"]
    assert (result(messages).permission_denials, result(messages).result) == ([], "done")


async def test_denied_with_exactly_the_message(place: Place) -> None:
    messages = await ask(place.options(TOUCH, say("I see."), can_use_tool=Person(PermissionResultDeny(message="Not today."))))
    (block,) = results(messages)
    assert (block.content, block.is_error) == ("Not today.", True)
    assert result(messages).permission_denials == [
        {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "touch x", "description": "Make a file"}}
    ]
    assert (result(messages).subtype, texts(messages), place.names()) == ("success", ["I see."], [])


async def test_denied_with_interrupt_ends_the_turn_and_the_session_goes_on(place: Place) -> None:
    person = Person(PermissionResultDeny(message="Stop.", interrupt=True))
    async with client_of(place.options(TOUCH, say("back"), can_use_tool=person)) as client:
        messages = await answer_of(client)
        assert kinds(messages) == ["init", "tool_use", "tool_result", "user text", "error_during_execution"]
        ended = result(messages)
        assert (ended.is_error, ended.terminal_reason, ended.num_turns) == (True, "aborted_tools", 3)
        assert [denial["tool_use_id"] for denial in ended.permission_denials] == ["t1"]
        assert texts(await answer_of(client, "go on")) == ["back"]


async def test_denied_with_interrupt_raises_from_a_query(place: Place) -> None:
    person = Person(PermissionResultDeny(message="Stop.", interrupt=True))
    with pytest.raises(ResultError) as caught:
        await ask(place.options(TOUCH, say("never"), can_use_tool=person))
    assert (caught.value.subtype, caught.value.terminal_reason) == ("error_during_execution", "aborted_tools")


async def test_the_input_may_be_changed(place: Place) -> None:
    person = Person(PermissionResultAllow(updated_input={"command": "touch y"}))
    await ask(place.options(TOUCH, say("done"), can_use_tool=person))
    assert place.names() == ["y"]


async def test_a_changed_input_that_does_not_fit_is_an_error_result(place: Place) -> None:
    person = Person(PermissionResultAllow(updated_input={"no": "command"}))
    messages = await ask(place.options(TOUCH, say("I see."), can_use_tool=person))
    (block,) = results(messages)
    assert block.is_error is True
    assert "command" in content_text(block)
    assert place.names() == []


@pytest.mark.parametrize("suggested", [False, True], ids=["own rule", "the suggestion"])
async def test_permissions_may_be_changed_for_the_session(suggested: bool, place: Place) -> None:
    rule = PermissionUpdate(
        type="addRules", rules=[PermissionRuleValue("Bash", "touch:*")], behavior="allow", destination="session"
    )
    asked: list[str] = []

    async def person(name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        asked.append(given["command"])
        return PermissionResultAllow(updated_permissions=context.suggestions[:1] if suggested else [rule])

    await ask(place.options(bash("touch x"), bash("touch x"), say("done"), can_use_tool=person))
    assert asked == ["touch x"]


async def test_a_mode_may_be_set_by_an_answer(place: Place) -> None:
    person = Person(
        PermissionResultAllow(updated_permissions=[PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")])
    )
    steps = [call("Write", file_path=f"{name}.txt", content=name) for name in ("a", "b")]
    await ask(place.options(*steps, say("done"), can_use_tool=person))
    assert [given["file_path"] for _, given in person.asked] == [str(place.workspace / "a.txt")]
    assert place.names() == ["a.txt", "b.txt"]


async def test_a_person_who_raises_denies_that_one_call(place: Place) -> None:
    person = Person(RuntimeError("no idea"), PermissionResultAllow())
    messages = await ask(place.options(bash("touch x"), bash("touch y"), say("done"), can_use_tool=person))
    assert ["no idea" in content_text(block) for block in results(messages)] == [True, False]
    assert place.names() == ["y"]
    assert len(result(messages).permission_denials) == 1


async def test_nobody_to_ask_denies_and_says_so(place: Place) -> None:
    messages = await ask(place.options(TOUCH, say("I see.")))
    assert kinds(messages) == ["init", "tool_use", "permission_denied", "tool_result", "text", "success"]
    assert results(messages)[0].is_error is True
    assert len(result(messages).permission_denials) == 1


@pytest.mark.filterwarnings("ignore::claude_agent_sdk.CanUseToolShadowedWarning")
@pytest.mark.parametrize(
    ("options", "step", "asked"),
    [
        ({"allowed_tools": ["Bash"]}, TOUCH, False),
        ({"allowed_tools": ["Bash(touch:*)"]}, TOUCH, False),
        ({"allowed_tools": ["Bash(touch:*)"]}, bash("touch x && rm x"), True),
        ({}, call("Read", file_path="none"), False),
        ({}, call("Read", file_path="/etc/hostname"), True),
        ({"permission_mode": "acceptEdits"}, call("Write", file_path="x", content=""), False),
        ({"permission_mode": "acceptEdits"}, bash("curl -s http://127.0.0.1:9"), True),
        ({"permission_mode": "plan"}, call("Write", file_path="x", content=""), True),
        ({"permission_mode": "bypassPermissions", "env": {"IS_SANDBOX": "1"}}, TOUCH, False),
        ({"permission_mode": "dontAsk"}, TOUCH, False),
    ],
)
async def test_who_is_asked(options: dict[str, Any], step: dict[str, Any], asked: bool, place: Place) -> None:
    person = Person(PermissionResultDeny(message="no"))
    await ask(place.options(step, say("done"), can_use_tool=person, **options))
    assert bool(person.asked) == asked


async def test_dont_ask_denies_what_no_rule_allows(place: Place) -> None:
    messages = await ask(place.options(TOUCH, say("done"), permission_mode="dontAsk"))
    assert len(result(messages).permission_denials) == 1
    assert place.names() == []


async def test_deny_rules_stand_against_everything(place: Place) -> None:
    bypass = {"permission_mode": "bypassPermissions", "env": {"IS_SANDBOX": "1"}}
    await ask(place.options(bash("echo hi && touch x"), say("done"), disallowed_tools=["Bash(touch:*)"], **bypass))
    assert place.names() == []


async def test_python_tools_are_asked_about_too(place: Place) -> None:
    @tool("add", "Add", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    person = Person(PermissionResultAllow(updated_input={"a": 40, "b": 2}))
    server = {"calc": create_sdk_mcp_server("calc", tools=[add])}
    messages = await ask(place.options(call("mcp__calc__add", a=1, b=1), say("done"), can_use_tool=person, mcp_servers=server))
    assert person.asked == [("mcp__calc__add", {"a": 1, "b": 1})]
    assert content_text(results(messages)[0]) == "42"


async def test_a_person_may_take_their_time(place: Place) -> None:
    async def slow(name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        await anyio.sleep(0.3)
        return PermissionResultAllow()

    await ask(place.options(TOUCH, say("done"), can_use_tool=slow))
    assert place.names() == ["x"]
