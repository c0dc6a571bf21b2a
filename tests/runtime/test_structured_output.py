"""Structured output: the answer as data of the caller's shape."""

from pathlib import Path

import pytest

from support_runtime import assert_valid_history, play, results, session_for, text_of, until_result, user
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.types import OptionsError

pytestmark = pytest.mark.anyio

FORMAT = {
    "type": "json_schema",
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False},
}


async def test_one_valid_call_ends_the_run_at_once(tmp_path: Path) -> None:
    model = ScriptedModel([[Say("Here."), Call("StructuredOutput", {"n": 7})], Say("never")])
    frames = await play(tmp_path, model, tools=[], output_format=FORMAT)
    assert frames[-1]["structured_output"] == {"n": 7}
    assert frames[-1]["result"] == '{"n":7}'
    assert frames[-1]["stop_reason"] == "tool_use"
    assert len(model.requests) == 1
    assert model.requests[0].tools[-1].input_schema == FORMAT["schema"]


async def test_every_turn_wants_an_answer_of_its_own(tmp_path: Path) -> None:
    model = ScriptedModel([Call("StructuredOutput", {"n": 1}), Call("StructuredOutput", {"n": 2})])
    async with session_for(tmp_path, model, tools=[], output_format=FORMAT) as session:
        for number in (1, 2):
            await session.send(user("?"))
            assert (await until_result(session))[-1]["structured_output"] == {"n": number}


async def test_an_invalid_answer_is_explained_and_may_be_tried_again(tmp_path: Path) -> None:
    model = ScriptedModel([Call("StructuredOutput", {"n": "seven"}), Call("StructuredOutput", {"n": 7})])
    frames = await play(tmp_path, model, tools=[], output_format=FORMAT)
    assert "n:" in text_of(results(frames)[0])
    assert frames[-1]["structured_output"] == {"n": 7}
    assert_valid_history(model)


async def test_five_invalid_answers_end_the_run_with_an_error(tmp_path: Path) -> None:
    model = ScriptedModel([Call("StructuredOutput", {"x": 1})], repeat=True)
    frames = await play(tmp_path, model, tools=[], output_format=FORMAT)
    assert frames[-1]["subtype"] == "error_max_structured_output_retries"
    assert len(model.requests) == 5


async def test_a_plain_answer_brings_one_reminder_and_then_ends_without_data(tmp_path: Path) -> None:
    model = ScriptedModel([Say("seven"), Say("I said seven")])
    frames = await play(tmp_path, model, tools=[], output_format=FORMAT)
    assert "structured_output" not in frames[-1]
    assert frames[-1]["result"] == "I said seven"
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"type": "object", "properties": 7}, {"type": "object", "required": "n"}]
)
async def test_an_invalid_schema_fails_at_the_start(schema: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="output_format"):
        await play(tmp_path, ScriptedModel([]), tools=[], output_format={"type": "json_schema", "schema": schema})
