"""Repositories made to run something on a mere look, in real sessions: nothing ran, but would without the gate."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support_hostile_repositories import TRAPS, Trap
from support_runtime import play
from toolwright.models.scripted import Call, Say, ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")]


@pytest.fixture(params=TRAPS)
def trap(request: pytest.FixtureRequest, tmp_path: Path) -> Trap:
    return TRAPS[request.param](tmp_path)


def test_the_trap_springs_on_a_bare_machine(trap: Trap) -> None:
    assert trap.springs()


async def test_nothing_of_the_repository_runs_unasked(trap: Trap, tmp_path: Path) -> None:
    trap.reset()
    calls = [Call("Bash", {"command": command}) for command in trap.commands]
    await play(tmp_path, ScriptedModel([*calls, Say("done")]))
    assert not trap.canary.exists()
