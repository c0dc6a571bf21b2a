"""What commands and web addresses say: exit codes, JSON, plain words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.hooks import EVENTS
from toolwright.hooks.answers import MAX_CHARACTERS, REFUSED, capped, of_exit, said
from toolwright.hooks.outcome import HookOutcome, merge, read_answer

REFUSABLE = {
    "PreModelSwitch",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "ConfigChange",
    "TaskCreated",
    "TaskCompleted",
    "TeammateIdle",
    "Elicitation",
    "ElicitationResult",
}


def outcome_of(event: str, exit_code: int, stdout: str = "", stderr: str = "") -> HookOutcome:
    reply = of_exit(event, exit_code, stdout=stdout, stderr=stderr)
    return merge(event, [read_answer(event, reply.output)])


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("exit_code", [0, 1, 2, 126, 127, 139, 255])
def test_only_exit_code_2_refuses_and_only_at_events_that_know_a_refusal(event: str, exit_code: int) -> None:
    outcome = outcome_of(event, exit_code, stderr="because")
    refuses = exit_code == 2 and event in REFUSABLE
    denies = event in ("PreToolUse", "PermissionRequest")
    assert outcome.block is (refuses and event != "PermissionRequest")
    assert outcome.decision == ("deny" if refuses and denies else None)
    assert outcome.reason == ("because" if refuses else "")
    problem = of_exit(event, exit_code, stdout="", stderr="because").problem
    assert bool(problem) is (exit_code != 0 and not refuses)


@pytest.mark.parametrize("exit_code", [1, 2, 127])
def test_what_is_printed_beside_a_failure_or_refusal_is_not_an_answer(exit_code: int) -> None:
    allowing = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}'
    assert outcome_of("PreToolUse", exit_code, allowing).decision == ("deny" if exit_code == 2 else None)


def test_a_refusal_without_words_has_words() -> None:
    assert outcome_of("PreToolUse", 2, stderr=" \n").reason == REFUSED
    assert outcome_of("PermissionRequest", 2).reason == REFUSED


@pytest.mark.parametrize("event", EVENTS)
def test_plain_words_are_for_the_model_only_where_a_prompt_or_session_begins(event: str) -> None:
    expected = ("mind the gap",) if event in ("SessionStart", "UserPromptSubmit", "UserPromptExpansion") else ()
    assert outcome_of(event, 0, "mind the gap\n").additional_context == expected


@pytest.mark.parametrize("text", ['{"decision": "block"', '{"a": 1} trailing', "[1]", '"block"', "{" * 100_000])
def test_what_is_no_json_object_is_plain_words(text: str) -> None:
    assert said("PreToolUse", text) is None
    assert said("SessionStart", text) == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": capped(text)}
    }


def test_every_text_of_an_answer_is_cut_and_says_so() -> None:
    long = "x" * (MAX_CHARACTERS + 5)
    names = ("reason", "systemMessage", "stopReason")
    specific = {"additionalContext": long, "permissionDecisionReason": long, "updatedInput": {"content": long}}
    cut = said("PreToolUse", json.dumps({**dict.fromkeys(names, long), "hookSpecificOutput": specific}))
    assert cut is not None
    for text in (*(cut[name] for name in names), cut["hookSpecificOutput"]["additionalContext"]):
        assert text.endswith("[cut: the first 10,000 of 10,005 characters]")
    assert cut["hookSpecificOutput"]["updatedInput"] == {"content": long}
    assert outcome_of("PreToolUse", 2, stderr=long).reason == capped(long)
    assert of_exit("Stop", 0, stdout=long, stderr=long).stdout == capped(long)
    assert capped("x" * MAX_CHARACTERS) == "x" * MAX_CHARACTERS


DECISIONS = ("deny", "defer", "ask", "allow")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*DECISIONS, None]), max_size=8), st.randoms(use_true_random=False))
def test_the_strongest_decision_stands_whatever_the_order(decisions: list[str | None], random: Any) -> None:
    expected = next((decision for decision in DECISIONS if decision in decisions), None)
    outputs = [
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": each, "permissionDecisionReason": each}}
        for each in decisions
    ]
    random.shuffle(outputs)
    outcome = merge("PreToolUse", [read_answer("PreToolUse", output) for output in outputs])
    assert outcome.decision == expected
    assert set(outcome.reason.split()) == ({expected} if expected else set())


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=50), st.integers(0, 255), st.sampled_from(sorted(EVENTS)))
def test_any_output_with_any_exit_code_is_understood_somehow(text: str, exit_code: int, event: str) -> None:
    reply = of_exit(event, exit_code, stdout=text, stderr=text)
    assert (reply.stdout, reply.stderr, reply.exit_code) == (text, text, exit_code)
