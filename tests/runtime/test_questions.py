"""AskUserQuestion: the model's questions always reach the person, and only the person answers."""

from pathlib import Path
from typing import Any

import pytest

from support_asking import Person
from support_runtime import play, results, text_of
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.types import PermissionResultAllow, PermissionResultDeny

pytestmark = pytest.mark.anyio


def question(text: str = "Which database?", **more: Any) -> dict[str, Any]:
    options = [{"label": "sqlite", "description": "one file"}, {"label": "postgres", "description": "a server"}]
    return {"question": text, "header": "Database", "options": options, "multiSelect": False, **more}


def ask(*questions: dict[str, Any], **more: Any) -> Call:
    return Call("AskUserQuestion", {"questions": list(questions), **more})


def answering(**more: Any) -> Any:
    return lambda given: PermissionResultAllow(updated_input={**given, **more})


async def answer_to(folder: Path, call: Call, person: Person | None, **more: Any) -> tuple[str, Any, bool]:
    frames = await play(folder, ScriptedModel([call, Say("ok")]), can_use_tool=person, **more)
    (told,) = [frame for frame in frames if frame["type"] == "user"]
    return text_of(results(frames)[0]), told.get("tool_use_result"), bool(results(frames)[0].get("is_error"))


async def test_the_answer_comes_back_to_the_model(tmp_path: Path) -> None:
    person = Person(answering(answers={"Which database?": "sqlite"}))
    text, structured, failed = await answer_to(tmp_path, ask(question()), person)
    assert not failed
    assert text == "The person answered:\n- Which database?: sqlite"
    assert structured == {"questions": [question()], "answers": {"Which database?": "sqlite"}}
    (context,) = person.contexts
    assert context.title == "The model asks:\nWhich database?\n  - sqlite: one file\n  - postgres: a server"
    assert getattr(context, "requires_user_interaction", False) is True


async def test_several_questions_several_choices_and_own_words(tmp_path: Path) -> None:
    two = ask(question("A?", multiSelect=True), question("B?"))
    person = Person(answering(answers={"A?": ["sqlite", "postgres"]}, response="B does not matter"))
    text, structured, _ = await answer_to(tmp_path, two, person)
    assert text.splitlines() == [
        "The person answered:",
        "- A?: sqlite, postgres",
        "- B?: (not answered)",
        "They also said: B does not matter",
    ]
    assert structured["response"] == "B does not matter"


@pytest.mark.filterwarnings("ignore::toolwright.types.errors.CanUseToolShadowedWarning")
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "bypassPermissions", "auto"])
async def test_it_reaches_the_person_in_every_mode_and_under_every_rule(mode: str, tmp_path: Path) -> None:
    person = Person(answering(answers={"Which database?": "sqlite"}))
    rules = ["AskUserQuestion"]
    await answer_to(tmp_path, ask(question()), person, permission_mode=mode, allowed_tools=rules, env={"IS_SANDBOX": "1"})
    assert person.names == ["AskUserQuestion"]


async def test_the_model_cannot_answer_itself(tmp_path: Path) -> None:
    person = Person()
    text, _, failed = await answer_to(tmp_path, ask(question(), answers={"Which database?": "sqlite"}), person)
    assert failed
    assert "`answers`" in text
    assert person.asked == []


async def test_a_question_that_was_only_let_through_has_no_answer(tmp_path: Path) -> None:
    text, _, failed = await answer_to(tmp_path, ask(question()), Person(PermissionResultAllow()))
    assert failed
    assert "no answer came" in text


async def test_the_person_may_refuse_to_answer(tmp_path: Path) -> None:
    text, _, failed = await answer_to(tmp_path, ask(question()), Person(PermissionResultDeny(message="Later.")))
    assert (text, failed) == ("Later.", True)


@pytest.mark.parametrize("mode", ["default", "dontAsk"])
async def test_without_a_person_it_is_an_error_that_says_so(mode: str, tmp_path: Path) -> None:
    text, _, failed = await answer_to(tmp_path, ask(question()), None, tools=["AskUserQuestion"], permission_mode=mode)
    assert failed
    assert "person's answer" in text


async def test_an_answer_of_another_shape_is_an_error_that_shows_the_right_one(tmp_path: Path) -> None:
    text, _, failed = await answer_to(tmp_path, ask(question()), Person(answering(answers=["sqlite"])))
    assert failed
    assert "answers: {question: label}" in text


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [question(str(number)) for number in range(5)],
        [question(options=[{"label": "only"}])],
        [question(options=[{"label": str(number)} for number in range(5)])],
        [question(header="thirteen chars")],
        [question(), question()],
        [{"question": "no options", "header": "h"}],
    ],
)
async def test_questions_that_cannot_be_shown_are_refused(bad: list[dict[str, Any]], tmp_path: Path) -> None:
    person = Person()
    text, _, failed = await answer_to(tmp_path, ask(*bad), person)
    assert failed
    assert "InputValidationError" in text
    assert person.asked == []
