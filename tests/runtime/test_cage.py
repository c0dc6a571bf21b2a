"""Commands in real sessions that nobody is asked about: they run in the cage; what a person allowed does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support_asking import Person
from support_runtime import Frame, play, results, text_of
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.sandbox.cage import selection as cage_choice
from toolwright.types import HookMatcher, PermissionResultAllow

pytestmark = pytest.mark.anyio

WRITER = "x=-o; sort $x CANARY /etc/os-release"
"""Taken for a program that looks; what it is told to do is write."""
HOLES = json.loads((Path(__file__).parents[1] / "permissions" / "data" / "reader_cases.json").read_text())["cases"]


@pytest.fixture
def anyio_backend() -> str:
    """What a command does is not a matter of the event loop."""
    return "asyncio"


def canary(folder: Path) -> Path:
    return folder / "workspace" / "CANARY"


async def run(folder: Path, *commands: str, **more: Any) -> list[Frame]:
    calls = [Call("Bash", {"command": command}) for command in commands]
    return results(await play(folder, ScriptedModel([*calls, Say("done")]), **more))


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk", "acceptEdits"])
@pytest.mark.usefixtures("mechanism")
async def test_what_only_looks_runs_unasked_and_writes_nothing(tmp_path: Path, mode: str) -> None:
    person = Person()
    [looked, tried] = await run(tmp_path, "echo $((1 + 1)) *", WRITER, permission_mode=mode, can_use_tool=person)
    assert text_of(looked) == "2 *"
    assert "needs permission to write" in text_of(tried)
    assert not canary(tmp_path).exists()
    assert person.asked == []


@pytest.mark.usefixtures("mechanism")
async def test_a_wildcard_rule_for_a_program_that_looks_cages_it_too(tmp_path: Path) -> None:
    [tried] = await run(tmp_path, 'awk \'BEGIN {print "x" > "CANARY"}\'', allowed_tools=["Bash(awk:*)"])
    assert "needs permission" in text_of(tried)
    assert not canary(tmp_path).exists()


@pytest.mark.usefixtures("mechanism")
async def test_the_same_call_again_is_put_to_the_person_and_then_runs_free(tmp_path: Path) -> None:
    person = Person(PermissionResultAllow())
    [_, again] = await run(tmp_path, WRITER, WRITER, can_use_tool=person)
    assert person.asked == [("Bash", {"command": WRITER})]
    assert again.get("is_error") is None, text_of(again)
    assert canary(tmp_path).exists()


@pytest.mark.usefixtures("mechanism")
async def test_a_rule_that_names_the_command_lets_it_run_free(tmp_path: Path) -> None:
    await run(tmp_path, WRITER, allowed_tools=[f"Bash({WRITER})"])
    assert canary(tmp_path).exists()


@pytest.mark.parametrize(("mode", "is_free"), [("default", True), ("plan", False)])
@pytest.mark.usefixtures("mechanism")
async def test_a_hook_that_allows_is_a_yes_except_in_plan_mode(tmp_path: Path, mode: str, is_free: bool) -> None:
    async def allow(given: Any, tool_use_id: Any, context: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}

    await run(tmp_path, WRITER, permission_mode=mode, hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[allow])]})
    assert canary(tmp_path).exists() is is_free


async def test_without_a_mechanism_only_plain_commands_run_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cage_choice.VARIABLE, "none")
    found = await run(tmp_path, "echo plain", "echo $((1 + 1))", WRITER, "git status")
    assert [text_of(found[0]), *(result.get("is_error") for result in found[1:])] == ["plain", True, True, True]
    assert not canary(tmp_path).exists()


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk"])
@pytest.mark.parametrize("mechanism", ["Landlock", "none"], indirect=True)
async def test_lines_that_two_readers_see_differently_have_no_effect(tmp_path: Path, mechanism: str, mode: str) -> None:
    commands = [case["command"] for case in HOLES]
    assert len(commands) > 10
    await run(tmp_path, *commands, permission_mode=mode)
    assert not canary(tmp_path).exists()


@pytest.mark.usefixtures("mechanism")
async def test_what_a_rule_hides_cannot_be_read_by_a_caged_command(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / ".env").write_text("KEY=hidden-from-all\n")
    (folder / "a.txt").write_text("shown\n")
    lines = ["grep -rs . .", "git grep --no-index -h .", "find . -type f | xargs cat", "cat .e*"]
    found = await run(tmp_path, *lines, disallowed_tools=["Read(.env)"])
    assert "shown" in text_of(found[0])
    assert not any("hidden-from-all" in text_of(result) for result in found)


@pytest.mark.usefixtures("mechanism")
async def test_the_system_can_be_read_unasked_and_not_written(tmp_path: Path) -> None:
    calls = [
        Call("Read", {"file_path": "/etc/os-release"}),
        Call("LS", {"path": "/usr"}),
        Call("Glob", {"pattern": "os-rel*", "path": "/usr/lib"}),
        Call("Grep", {"pattern": "^ID=", "path": "/usr/lib/os-release", "output_mode": "content"}),
        Call("Bash", {"command": "cat /etc/os-release; ls /usr"}),
        Call("Read", {"file_path": "/etc/shadow"}),
        Call("Write", {"file_path": "/usr/lib/CANARY", "content": "x"}),
    ]
    found = results(await play(tmp_path, ScriptedModel([*calls, Say("done")]), permission_mode="acceptEdits"))
    assert [result.get("is_error") for result in found] == [None] * 5 + [True, True], [text_of(each)[:200] for each in found]
    assert "ID=" in text_of(found[3])
    assert not Path("/usr/lib/CANARY").exists()
