"""Commands of a whole session, judged by what is on the disk afterwards. Nobody is there to be asked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support_runtime import play, results, text_of
from toolwright.models.scripted import Call, Say, ScriptedModel

pytestmark = pytest.mark.anyio


async def said(tmp_path: Path, command: str, **options: Any) -> str:
    model = ScriptedModel([Call("Bash", {"command": command}), Say("done")])
    return text_of(results(await play(tmp_path, model, **options))[0])


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder that the session works in."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "note.txt").write_text("hello\n")
    return folder


async def test_a_command_that_only_looks_runs_unasked(tmp_path: Path, work: Path) -> None:
    assert await said(tmp_path, "cat note.txt | head -1") == "hello"
    assert "hello" in await said(tmp_path, "grep -rn 'hel' . && echo \"$(wc -l < note.txt) line\"", permission_mode="plan")


async def test_a_link_out_of_the_folder_is_not_followed_unasked(tmp_path: Path, work: Path) -> None:
    (tmp_path / "secret").write_text("treasure")
    (work / "link").symlink_to(tmp_path / "secret")
    for command in ("cat link", "cat l*", "cat < link", "cd . && cat ./link", "cat ../secret", "grep -r x link"):
        assert "treasure" not in await said(tmp_path, command)


async def test_a_repository_that_names_a_program_is_not_looked_at_unasked(tmp_path: Path, work: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", "."], cwd=work, check=True)
    assert "nothing added" in await said(tmp_path, "git status")
    subprocess.run(["git", "config", "core.fsmonitor", "touch CANARY; false"], cwd=work, check=True)
    assert "needs permission" in await said(tmp_path, "git status")
    assert not (work / "CANARY").exists()


async def test_a_write_after_cd_is_judged_where_it_lands(tmp_path: Path, work: Path) -> None:
    (work / ".claude").mkdir()
    for command in (
        "cd .claude && echo x > settings.json",
        "(cd .claude; echo x > settings.json)",
        "pushd .claude; echo x > settings.json",
    ):
        await said(tmp_path, command, permission_mode="acceptEdits", allowed_tools=["Bash"])
    assert list((work / ".claude").iterdir()) == []
    await said(tmp_path, "mkdir sub && cd sub && echo x > new.txt", permission_mode="acceptEdits")
    assert (work / "sub" / "new.txt").exists()


async def test_five_thousand_commands_hide_nothing(tmp_path: Path, work: Path) -> None:
    command = "; ".join(["true"] * 5000) + "; touch CANARY"
    assert "denied by the rule" in await said(tmp_path, command, allowed_tools=["Bash"], disallowed_tools=["Bash(touch:*)"])
    assert not (work / "CANARY").exists()
