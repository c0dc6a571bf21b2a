"""A person at a terminal is shown what would run, and answers by a key, a number or in words."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from support_cli import Caught, bare_environment, catching
from toolwright.cli.prompt_user import TerminalPerson, chosen, told
from toolwright.cli.terminal import Terminal
from toolwright.types import (
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRuleValue,
    PermissionUpdate,
    ToolPermissionContext,
)

pytestmark = pytest.mark.anyio

RULE = PermissionUpdate(
    "addRules", rules=[PermissionRuleValue("Bash", "npm run *")], behavior="allow", destination="localSettings"
)
FOLDER = PermissionUpdate("addDirectories", directories=["/data"], destination="session")
QUESTION = {"question": "Which?", "header": "H", "options": [{"label": "A", "description": "first"}, {"label": "B"}]}


@pytest.fixture
async def caught(tmp_path: Path) -> AsyncIterator[Caught]:
    with catching(tmp_path) as place:
        yield place


async def answer(caught: Caught, typed: str, name: str = "Bash", given: Any = None, **context: Any) -> PermissionResult:
    """What becomes of a question when this is typed, and then the input ends."""
    reading, writing = os.pipe()
    os.write(writing, typed.encode())
    os.close(writing)
    try:
        person = TerminalPerson(reading, Terminal(caught.descriptor, {}))
        return await person(name, given or {}, ToolPermissionContext(**context))
    finally:
        os.close(reading)


@pytest.mark.parametrize("typed", ["y\n", "YES\n", "\n\ny\n", "9\ny\n"])
async def test_yes(typed: str, caught: Caught) -> None:
    assert await answer(caught, typed) == PermissionResultAllow()


@pytest.mark.parametrize("typed", ["n\n", "No\n", "", "\n", "y"])
async def test_no_and_the_end_of_input(typed: str, caught: Caught) -> None:
    result = await answer(caught, typed)
    assert isinstance(result, PermissionResultDeny)
    assert "said no" in result.message


async def test_words_are_told_to_the_model(caught: Caught) -> None:
    assert await answer(caught, "Use sqlite instead.\n") == PermissionResultDeny(message="Use sqlite instead.")


async def test_a_number_takes_a_suggestion_over(caught: Caught) -> None:
    result = await answer(caught, "2\n", suggestions=[RULE, FOLDER], title="Run npm run build", decision_reason="No rule.")
    assert result == PermissionResultAllow(updated_permissions=[FOLDER])
    for line in (
        "  Run npm run build",
        "  No rule.",
        "  1  yes, and always allow Bash(npm run *) in this folder, for you",
        "  2  yes, and work in /data too, in this session",
    ):
        assert line in caught.text.splitlines()


async def test_nothing_that_is_shown_moves_the_cursor(caught: Caught) -> None:
    await answer(caught, "n\n", title="Run ls \x1b[2K", description="\x1b]0;x\x07", decision_reason="\u202e")
    assert "\x1b" not in caught.text
    assert "\u202e" not in caught.text


async def test_an_approved_plan_may_accept_edits(caught: Caught) -> None:
    result = await answer(caught, "1\n", "ExitPlanMode", title="Carry out this plan?\n# Plan")
    assert isinstance(result, PermissionResultAllow)
    assert [update.mode for update in result.updated_permissions or ()] == ["acceptEdits"]


@pytest.mark.parametrize(("typed", "said"), [("2\n", "B"), ("1\n", "A"), ("neither\n", "neither"), ("\n7\n", "7")])
async def test_a_question_is_answered_by_a_number_or_in_words(typed: str, said: str, caught: Caught) -> None:
    given = {"questions": [QUESTION]}
    result = await answer(caught, typed, "AskUserQuestion", given)
    assert result == PermissionResultAllow(updated_input={**given, "answers": {"Which?": said}})
    assert "  1  A: first" in caught.text.splitlines()


async def test_a_question_without_an_answer_is_denied(caught: Caught) -> None:
    assert isinstance(await answer(caught, "", "AskUserQuestion", {"questions": [QUESTION]}), PermissionResultDeny)


def test_several_numbers_are_several_labels() -> None:
    assert chosen("1, 2", ["A", "B"]) == "A, B"
    assert chosen("1, 3", ["A", "B"]) == "1, 3"


def test_a_mode_is_told_in_words() -> None:
    assert (
        told(PermissionUpdate("setMode", mode="acceptEdits", destination="session"))
        == "change to mode acceptEdits in this session"
    )


# the whole command


TOUCH = {"tool": "Bash", "input": {"command": "touch made"}}


def at_a_terminal(folder: Path, typed: str, *flags: str, calls: Sequence[Any] = (TOUCH,), program: Sequence[str] = ()) -> str:
    """Run the command on a terminal with this typed at its first question; what it showed."""
    script = folder / "script.json"
    steps = [{"content": [{"text": "Let me try."}, calls[0]]}, *calls[1:], {"text": "Finished."}]
    script.write_text(json.dumps({"steps": steps}))
    env = {**bare_environment(), "TOOLWRIGHT_MODEL": f"scripted:{script}", "CLAUDE_CONFIG_DIR": str(folder / "config")}
    master, slave = pty.openpty()
    command = program or [sys.executable, "-m", "toolwright.cli", *flags, "go"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env={**env, "TERM": "dumb"}, cwd=folder)
    os.close(slave)
    shown, end = b"", time.monotonic() + 60
    try:
        while time.monotonic() < end:
            if select.select([master], [], [], 1)[0]:
                try:
                    shown += os.read(master, 4096)
                except OSError:
                    break
            if typed and b"instead: " in shown:
                os.write(master, typed.encode())
                typed = ""
        assert process.wait(30) is not None
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return shown.decode()


def test_the_command_asks_at_a_terminal(tmp_path: Path) -> None:
    shown = at_a_terminal(tmp_path, "y\n")
    assert "Run touch made" in shown
    assert (tmp_path / "made").exists()
    parts = ("Let me try.", "◆ Bash  touch made", "say what to do instead: ", "└ ok", "Finished.", "Done in ")
    assert [part for part in parts if shown.count(part) != 1] == []
    assert sorted(parts, key=shown.index) == list(parts)


@pytest.mark.parametrize("call", ["Edit", "Write"])
def test_an_edit_is_asked_about_as_a_change(tmp_path: Path, call: str) -> None:
    (tmp_path / "a").write_text("one\ntwo\n" + "more\n" * 40)
    given = {"old_string": "two", "new_string": "2"} if call == "Edit" else {"content": "one\n2\n" + "more\n" * 40}
    path = {"file_path": str(tmp_path / "a")}
    calls = [{"tool": "Read", "input": path}, {"tool": call, "input": {**path, **given}}]
    shown = at_a_terminal(tmp_path, "n\n", calls=calls)
    lines = [line.strip() for line in shown.splitlines()]
    assert [line for line in lines if line in ("- two", "+ 2")] == ["- two", "+ 2"]
    assert ("… 35 lines stay as they are" in lines) == (call == "Write")
    assert lines.count("more") <= 6
    assert (tmp_path / "a").read_text().startswith("one\ntwo\n")


def test_what_is_asked_for_elsewhere_gets_the_answer_alone(tmp_path: Path) -> None:
    (tmp_path / "run").write_text(f"{sys.executable} -m toolwright.cli go > answer")
    shown = at_a_terminal(tmp_path, "y\n", program=["sh", "run"])
    assert "Run touch made" in shown
    assert "Finished." not in shown
    assert (tmp_path / "answer").read_text() == "Finished.\n"


def test_with_p_nobody_is_asked(tmp_path: Path) -> None:
    shown = at_a_terminal(tmp_path, "", "-p")
    assert "instead: " not in shown
    assert "not allowed: Bash" in shown
    assert not (tmp_path / "made").exists()
