from typing import Any

import pytest

from toolwright.client.completion import CEILING_SECONDS, QUIET_SECONDS, RunEnd

USER: dict[str, Any] = {"type": "user"}
RESULT: dict[str, Any] = {"type": "result"}
INIT: dict[str, Any] = {"type": "system", "subtype": "init"}


def state(name: str) -> dict[str, Any]:
    return {"type": "system", "subtype": "session_state_changed", "state": name}


def task(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "task_id": "t1", **fields}


def after(*events: dict[str, Any] | str) -> RunEnd:
    """A run in which these frames were seen; "sent" is a message of ours."""
    run = RunEnd()
    for event in events:
        if isinstance(event, str):
            run.sent(USER)
        else:
            run.saw(event)
    return run


AGENT = task("task_started", task_type="local_agent")


@pytest.mark.parametrize(
    ("events", "patience"),
    [
        ((), 0.0),
        (("sent",), None),
        (("sent", INIT, RESULT), 0.0),
        (("sent", state("running"), RESULT), None),
        (("sent", state("running"), RESULT, state("idle")), 0.0),
        (("sent", state("running"), RESULT, state("idle"), "sent"), None),
        (("sent", state("running"), "sent", RESULT, state("idle")), QUIET_SECONDS),
        (("sent", state("running"), "sent", RESULT, state("idle"), state("running")), None),
        (("sent", "sent", RESULT), QUIET_SECONDS),
        (("sent", "sent", RESULT, INIT), None),
        (("sent", "sent", RESULT, INIT, RESULT), 0.0),
        (("sent", AGENT, RESULT), CEILING_SECONDS),
        (("sent", AGENT, RESULT, task("task_notification")), None),
        (("sent", AGENT, RESULT, task("task_notification"), INIT, RESULT), 0.0),
        (("sent", AGENT, task("task_updated", patch={"status": "killed"}), RESULT), 0.0),
        (("sent", AGENT, task("task_updated", patch={"status": "running"}), RESULT), CEILING_SECONDS),
        (("sent", task("task_started", task_type="local_bash"), RESULT), 0.0),
        (("sent", state("running"), AGENT, RESULT, state("idle")), 0.0),
    ],
)
def test_how_long_silence_must_last_before_the_input_may_close(events: tuple[Any, ...], patience: float | None) -> None:
    assert after(*events).patience() == patience


def test_a_message_for_the_record_only_is_not_waited_for() -> None:
    run = RunEnd()
    run.sent({"type": "user", "shouldQuery": False})
    assert run.patience() == 0.0
    assert not run.unanswered


def test_a_message_after_the_last_result_is_unanswered() -> None:
    assert after("sent").unanswered
    assert not after("sent", RESULT).unanswered
    assert after("sent", RESULT, "sent").unanswered
