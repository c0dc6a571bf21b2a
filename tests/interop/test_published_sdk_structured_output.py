"""`output_format` of the published SDK with our command."""

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ResultError
from published import ON_ASYNCIO, Place, answer_of, ask, call, client_of, init, kinds, result, results, say

pytestmark = ON_ASYNCIO

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "ages": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
    "required": ["name", "ages"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "schema": SCHEMA}
GOOD = {"name": "Ada", "ages": [36]}


def output(**given: Any) -> dict[str, Any]:
    return call("StructuredOutput", **given)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_a_valid_answer_ends_the_run(place: Place) -> None:
    messages = await ask(place.options(output(**GOOD), say("never"), output_format=FORMAT))
    assert "StructuredOutput" in init(messages)["tools"]
    assert kinds(messages) == ["init", "tool_use", "tool_result", "success"]
    ended = result(messages)
    assert (ended.structured_output, ended.result, ended.stop_reason) == (GOOD, '{"name":"Ada","ages":[36]}', "tool_use")


async def test_an_invalid_answer_may_be_corrected(place: Place) -> None:
    messages = await ask(place.options(output(name="Ada"), output(**GOOD), output_format=FORMAT))
    assert [block.is_error for block in results(messages)] == [True, None]
    assert "ages" in str(results(messages)[0].content)
    assert (result(messages).structured_output, result(messages).num_turns) == (GOOD, 3)


async def test_attempts_come_to_an_end(place: Place) -> None:
    with pytest.raises(ResultError) as caught:
        await ask(place.options(*[output(name=7)] * 6, output_format=FORMAT))
    error = caught.value
    assert error.subtype == "error_max_structured_output_retries"
    assert (error.terminal_reason, error.data["num_turns"]) == ("structured_output_retry_exhausted", 6)


async def test_a_plain_text_brings_one_reminder(place: Place) -> None:
    messages = await ask(place.options(say("Ada is 36."), output(**GOOD), output_format=FORMAT))
    assert kinds(messages) == ["init", "text", "user text", "tool_use", "tool_result", "success"]
    assert result(messages).structured_output == GOOD


async def test_only_text_is_a_success_without_structured_output(place: Place) -> None:
    messages = await ask(place.options(say("Ada is 36."), say("As I said."), output_format=FORMAT))
    assert (result(messages).subtype, result(messages).structured_output) == ("success", None)
    assert result(messages).result == "As I said."


async def test_other_tools_come_first(place: Place) -> None:
    place.write("ada.txt", "36\n")
    messages = await ask(place.options(call("Read", file_path="ada.txt"), output(**GOOD), output_format=FORMAT))
    assert kinds(messages) == ["init", *["tool_use", "tool_result"] * 2, "success"]


async def test_every_turn_has_its_own_answer(place: Place) -> None:
    second = {"name": "Grace", "ages": [85]}
    async with client_of(place.options(output(**GOOD), output(**second), output_format=FORMAT)) as client:
        answers = [result(await answer_of(client)).structured_output for _ in range(2)]
    assert answers == [GOOD, second]


async def test_a_schema_that_is_none_is_refused_at_the_start(place: Place) -> None:
    with pytest.raises(ResultError, match="output_format"):
        await ask(place.options(say("never"), output_format={"type": "json_schema", "schema": {"type": "nonsense"}}))
