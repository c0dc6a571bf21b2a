"""Repositories made to run something on a mere look, in real sessions: nothing ran, but would without the gate."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support_hostile_repositories import TRAPS, Builder, Trap
from support_runtime import play, results, text_of
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


def _seven_writes(evil: str, pointer: bool) -> list[tuple[str, str]]:
    files = [
        ("config", evil),
        ("objects/about.txt", "x"),
        ("refs/about.txt", "x"),
        ("hooks/post-index-change", "#!/bin/sh\n"),
        ("commondir", ".\n"),
        ("HEAD", "ref: refs/heads/main\n"),
    ]
    folder = "theme" if pointer else "docs"
    last = ("docs/.git", "gitdir: ../theme\n") if pointer else ("docs/index.md", "x\n")
    return [*((f"{folder}/{name}", text) for name, text in files), last]


@pytest.mark.parametrize("pointer", [False, True])
async def test_accepted_edits_make_no_repository(tmp_path: Path, pointer: bool) -> None:
    """GT-04."""
    made = Builder(tmp_path)
    writes = _seven_writes(made.evil_config("worktree = ."), pointer)
    calls = [
        *(Call("Write", {"file_path": path, "content": text}) for path, text in writes),
        Call("Bash", {"command": "cd docs && git status"}),
    ]
    frames = await play(tmp_path, ScriptedModel([*calls, Say("done")]), permission_mode="acceptEdits")
    assert not made.canary.exists()
    refused = [path for (path, _), result in zip(writes, results(frames), strict=False) if result.get("is_error")]
    folder = "theme" if pointer else "docs"
    assert refused == [f"{folder}/commondir", f"{folder}/HEAD", *(["docs/.git"] if pointer else [])]
    assert not (made.folder / "docs" / ".git").exists()
    assert not (made.folder / folder / "HEAD").exists()


async def test_beside_a_head_accepted_edits_complete_no_repository(tmp_path: Path) -> None:
    made = Builder(tmp_path)
    made.write("docs/HEAD", "ref: refs/heads/main\n")
    calls = [
        Call("Write", {"file_path": "docs/config", "content": made.evil_config("worktree = .")}),
        Call("Bash", {"command": "mkdir -p docs/objects docs/refs"}),
        Call("Bash", {"command": "cp file.txt docs/config"}),
        Call("Bash", {"command": "touch docs/hooks/post-index-change"}),
        Call("Write", {"file_path": "docs/page.md", "content": "x"}),
    ]
    frames = await play(tmp_path, ScriptedModel([*calls, Say("done")]), permission_mode="acceptEdits")
    assert [bool(result.get("is_error")) for result in results(frames)] == [True, True, True, True, False], [
        text_of(result) for result in results(frames)
    ]
    assert sorted(path.name for path in (made.folder / "docs").iterdir()) == ["HEAD", "page.md"]


@pytest.mark.parametrize("name", [None, "fsmonitor", "hooks-path"])
async def test_repositories_that_run_nothing_in_the_cage_are_looked_at_unasked(tmp_path: Path, name: str | None) -> None:
    trap = Builder(tmp_path).trap() if name is None else TRAPS[name](tmp_path)
    frames = await play(tmp_path, ScriptedModel([Call("Bash", {"command": "git status --short"}), Say("done")]))
    said = text_of(results(frames)[0])
    if "no cage works here" in said:
        pytest.skip("no cage works here")
    assert said.strip() == "M file.txt"
    assert not trap.canary.exists()
