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
    await said(tmp_path, "git status")  # in the cage, where there is one
    assert "needs permission" in await said(tmp_path, "ours; git status", allowed_tools=["Bash(ours)"])
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


# what looked harmless and was not


def repository(folder: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q")
    (folder / "tracked").write_text("x\n")
    git(folder, "add", "tracked")
    git(folder, "commit", "-qm", "x")


def git(folder: Path, *arguments: str) -> str:
    words = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


async def test_git_does_not_show_a_tracked_file_that_a_rule_hides(tmp_path: Path, work: Path) -> None:
    repository(work)
    assert "+x" in await said(tmp_path, "git log -p", disallowed_tools=["Read(.env)"])
    (work / ".env").write_text("KEY=treasure\n")
    git(work, "add", ".env")
    git(work, "commit", "-qm", "y")
    for command in ("git log -p", "git show HEAD", "git diff HEAD~1", "git show HEAD:.env", "git stash show -p"):
        assert "treasure" not in await said(tmp_path, command, disallowed_tools=["Read(.env)"])
    assert "treasure" in await said(tmp_path, "git log -p")


async def test_a_missing_object_is_not_fetched_by_a_program_of_the_repository(tmp_path: Path, work: Path) -> None:
    repository(work)
    blob = git(work, "rev-parse", "HEAD:tracked")
    (work / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with (work / ".git" / "config").open("a") as config:
        config.write('[remote "o"]\n\turl = .\n\tpromisor = true\n\tuploadpack = touch CANARY; git-upload-pack\n')
    await said(tmp_path, "git log -p")
    assert not (work / "CANARY").exists()


async def test_a_submodule_that_lies_unpacked_in_the_folder_runs_nothing(tmp_path: Path, work: Path) -> None:
    repository(work)
    repository(work / "sub")
    git(work, "add", "sub")
    assert "Changes to be committed" in await said(tmp_path, "git status")
    git(work / "sub", "config", "core.fsmonitor", f"touch {work}/CANARY; false")
    await said(tmp_path, "git status")  # in the cage, where there is one
    assert "needs permission" in await said(tmp_path, "ours; git status", allowed_tools=["Bash(ours)"])
    assert not (work / "CANARY").exists()


async def test_a_sham_repository_does_not_stand_for_the_one_above_it(tmp_path: Path, work: Path) -> None:
    repository(work)
    git(work, "config", "core.fsmonitor", f"touch {work}/CANARY; false")
    (work / "sub" / ".git").mkdir(parents=True)
    (work / "sub" / ".git" / "config").write_text("[core]\n\tbare = false\n")
    await said(tmp_path, "cd sub && git status")
    assert not (work / "CANARY").exists()


@pytest.mark.parametrize("command", ["uniq n*", "xxd n*", "sort -t *", "find . -not -name *", "[ -z * ]"])
async def test_names_of_files_do_not_become_arguments_that_act(tmp_path: Path, work: Path, command: str) -> None:
    names = ("n1", "n2", "-", "-1", "-delete", "-o", "-oVICTIM", "-v", "x[$(touch CANARY)]")
    for name in names:
        (work / name).write_text("kept\n")
    await said(tmp_path, command)
    assert {path.name for path in work.iterdir()} == {"note.txt", *names}
    assert all((work / name).read_text() == "kept\n" for name in names)


async def test_links_and_lists_of_arguments_do_not_lead_outside(tmp_path: Path, work: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("treasure")
    (tmp_path / "outside" / "treasure").touch()
    for folder in ("a", "b"):
        (work / folder).mkdir()
    (work / "b" / "link").symlink_to(tmp_path / "outside" / "secret")
    (work / "c").mkdir()
    (work / "c" / "deep").symlink_to(tmp_path / "outside")
    (work / "-R").touch()
    for command in ("diff -N a b", f"strings @{tmp_path}/outside/secret", "grep trea *", "tree -l"):
        assert "treasure" not in await said(tmp_path, command), command


async def test_a_folder_is_not_compared_past_a_rule_that_hides_a_file(tmp_path: Path, work: Path) -> None:
    (work / "empty").mkdir()
    (work / ".env").write_text("treasure")
    for command in ("diff -N empty .", "grep -d recurse treasur ."):
        assert "treasure" not in await said(tmp_path, command, disallowed_tools=["Read(.env)"])


@pytest.mark.parametrize(
    "command",
    [
        "cp kit/.mc* .",
        "cp kit/* .",
        "mv kit/CL* .",
        "cp -rT kit .",
        "cp -t . kit/.mc*",
        "sed -i.md p CLAUDE",
        "sed --in-place=.json p .mcp",
        "cp -bS .md note.txt CLAUDE",
        "mv --suffix=.json note.txt .mcp",
    ],
)
@pytest.mark.parametrize("rules", [[], ["Bash(cp:*)", "Bash(mv:*)"]], ids=["mode", "rules"])
async def test_protected_names_do_not_come_by_a_detour(tmp_path: Path, work: Path, command: str, rules: list[str]) -> None:
    (work / "kit").mkdir()
    for name in ("kit/.mcp.json", "kit/CLAUDE.md", "CLAUDE", ".mcp"):
        (work / name).write_text("trust me")
    await said(tmp_path, command, permission_mode="acceptEdits", allowed_tools=rules)
    assert not (work / ".mcp.json").exists()
    assert not (work / "CLAUDE.md").exists()


@pytest.mark.parametrize(
    "command",
    [
        "git mv kit/mcp .mcp.json",
        "git mv kit/CLAUDE.md .",
        "git mv kit/CL* .",
        "git --no-pager mv kit/mcp .claude/settings.json",
    ],
)
async def test_git_moves_nothing_to_a_protected_name_unseen(tmp_path: Path, work: Path, command: str) -> None:
    repository(work)
    (work / "kit").mkdir()
    (work / ".claude").mkdir()
    for name in ("mcp", "CLAUDE.md"):
        (work / "kit" / name).write_text("trust me")
    git(work, "add", "kit")
    await said(tmp_path, command, permission_mode="acceptEdits", allowed_tools=["Bash(git:*)", "Bash(git mv:*)", "Edit(**)"])
    assert not any((work / name).exists() for name in (".mcp.json", "CLAUDE.md", ".claude/settings.json"))
    await said(tmp_path, "git mv kit/mcp plain.txt && git rm -q --cached plain.txt", allowed_tools=["Bash(git:*)"])
    assert (work / "plain.txt").exists()


async def test_git_takes_no_protected_file_back_unseen(tmp_path: Path, work: Path) -> None:
    repository(work)
    (work / "CLAUDE.md").write_text("old\n")
    git(work, "add", "CLAUDE.md")
    git(work, "commit", "-qm", "y")
    (work / "CLAUDE.md").write_text("new\n")
    for command in (
        "git checkout -- CLAUDE.md",
        "git restore CLAUDE.md",
        "git rm -qf CLAUDE.md",
        "git checkout HEAD -- CLAUDE.md",
    ):
        await said(tmp_path, command, allowed_tools=["Bash(git:*)"])
        assert (work / "CLAUDE.md").read_text() == "new\n"


async def test_ordinary_copies_by_a_pattern_run_in_accept_edits(tmp_path: Path, work: Path) -> None:
    await said(tmp_path, "mkdir out && cp n*.txt out/ && sed -i.old s/hello/bye/ out/note.txt", permission_mode="acceptEdits")
    assert (work / "out" / "note.txt").read_text() == "bye\n"
    assert (work / "out" / "note.txt.old").read_text() == "hello\n"


async def test_printf_sets_no_variable_for_the_commands_after_it(tmp_path: Path, work: Path) -> None:
    (work / "5").mkdir()
    planted = work / "5" / "ls"
    planted.write_text("#!/bin/sh\n: > CANARY\n")
    planted.chmod(0o755)
    await said(tmp_path, "printf 'xxxxx%n' PATH; ls")
    assert not (work / "CANARY").exists()
