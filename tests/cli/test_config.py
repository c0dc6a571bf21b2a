"""`toolwright config`: what is in force, and which file said it."""

import json
from pathlib import Path

import pytest

from support_cli import command
from toolwright.cli.config import config_command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    user, project = tmp_path / "config", tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    user.mkdir()
    own = {"model": "opus", "permissions": {"allow": ["Bash(ls)"]}, "env": {"MY_TOKEN": "s3cret", "COLOUR": "blue"}}
    (user / "settings.json").write_text(json.dumps(own))
    theirs = {"permissions": {"allow": ["Bash"], "deny": ["Read(secret)"]}}
    (project / ".claude/settings.json").write_text(json.dumps(theirs))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(user))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-private")
    return project


def test_each_setting_is_shown_with_its_file(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert config_command([str(folder), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    user, project = str(folder.parent / "config/settings.json"), str(folder / ".claude/settings.json")
    sources = {f"{row['what']} {row['value']}": row["source"].partition(":")[0] for row in found["settings"]}
    assert sources == {
        "deny Read(secret)": project,
        "allow Bash(ls)": user,
        "model opus": user,
        "variable COLOUR blue": user,
        "variable MY_TOKEN (set; not shown)": user,
    }
    assert [file["path"] for file in found["files"]] == [project, user]
    assert found["trusted"] is False


def test_a_strict_boundary_is_shown_with_its_file(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = folder / ".claude/settings.json"
    path.write_text(json.dumps({"boundary": "strict"}))
    assert config_command([str(folder)]) == 0
    assert f"  boundary strict   [{path}]" in capfd.readouterr().out


def test_a_person_reads_the_same_and_no_secret(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert config_command([str(folder)]) == 0
    shown = capfd.readouterr().out
    assert f"  model opus   [{folder.parent}/config/settings.json" in shown
    assert "ANTHROPIC_API_KEY=(set; not shown)" in shown
    assert "not trusted" in shown
    assert "s3cret" not in shown
    assert "sk-private" not in shown


def test_settings_that_cannot_be_read_are_told_in_a_line(folder: Path) -> None:
    (folder / ".claude/settings.json").write_text("{")
    done = command("config", str(folder), env={"CLAUDE_CONFIG_DIR": str(folder.parent / "config")})
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
