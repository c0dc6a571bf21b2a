"""`toolwright permissions explain`, typed as a person would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.cli.main import main


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of whoever runs the tests must not count."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(folder)
    return folder


def explained(capfd: pytest.CaptureFixture[str], tool: str, given: dict[str, Any], *more: str) -> dict[str, Any]:
    assert main(["permissions", "explain", tool, json.dumps(given), "--json", *more]) == 0
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    return found


def test_the_example_of_the_help(capfd: pytest.CaptureFixture[str]) -> None:
    found = explained(capfd, "Bash", {"command": "git log | head"}, "--allow", "Bash(git log:*)")
    assert set(found) == {"decision", "reason", "rule", "considered", "commands", "cage", "caged", "granted"}
    assert (found["decision"], found["rule"]) == ("allow", "Bash(git log:*)")
    assert [entry["command"] for entry in found["commands"]] == ["git log", "head"]


def test_deny_and_ask_and_mode(capfd: pytest.CaptureFixture[str]) -> None:
    command = {"command": "npm test; rm x"}
    assert explained(capfd, "Bash", command, "--allow", "Bash", "--deny", "Bash(rm:*)")["decision"] == "deny"
    assert explained(capfd, "Bash", command, "--allow", "Bash", "--ask", "Bash(rm:*)")["decision"] == "ask"
    assert explained(capfd, "Bash", command, "--mode", "bypassPermissions")["decision"] == "allow"
    assert explained(capfd, "Bash", command, "--mode", "dontAsk")["decision"] == "deny"


def test_what_a_yes_opens_outside_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (work / "link").symlink_to(outside)
    call, where = {"file_path": str(work / "link/note.txt")}, ("--cwd", str(work))
    real = str(outside / "note.txt")
    asked = explained(capfd, "Read", call, "--deny", "Bash", *where)
    assert (asked["decision"], asked["granted"]) == ("ask", [])
    assert f"{work}/link/note.txt really leads to {real}, which is outside the working folders." in asked["reason"]
    for allowing in (("--allow", "Read"), ("--allow", f"Read(/{outside}/**)"), ("--mode", "bypassPermissions")):
        assert explained(capfd, "Read", call, *allowing, *where)["granted"] == [real]
    assert explained(capfd, "Read", call, "--allow", "Read", "--deny", f"Read(/{outside}/**)", *where)["granted"] == []
    assert main(["permissions", "explain", "Read", json.dumps(call), "--allow", "Read", *where]) == 0
    assert f"opens, also outside the working folders: {real}" in capfd.readouterr().out


def test_a_strict_boundary_opens_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "work/.claude").mkdir(parents=True)
    (tmp_path / "work/.claude/settings.json").write_text('{"boundary": "strict"}')
    call = {"file_path": str(tmp_path / "note.txt")}
    found = explained(capfd, "Read", call, "--mode", "bypassPermissions", "--cwd", str(tmp_path / "work"))
    assert found["granted"] == []
    assert "The boundary is strict" in explained(capfd, "Read", call, "--cwd", str(tmp_path / "work"))["reason"]


def test_other_tools(capfd: pytest.CaptureFixture[str]) -> None:
    assert explained(capfd, "Read", {"file_path": "a"})["decision"] == "allow"
    assert explained(capfd, "Write", {"file_path": "a", "content": ""}, "--allow", "Edit(a)")["rule"] == "Edit(a)"
    assert explained(capfd, "Write", {"file_path": "a"}, "--allow", "Edit(a)")["decision"] == "allow"
    assert explained(capfd, "mcp__calc__add", {"a": 1}, "--allow", "mcp__calc")["decision"] == "allow"
    assert (
        explained(capfd, "WebFetch", {"url": "https://a.example/x"}, "--allow", "WebFetch(domain:a.example)")["decision"]
        == "allow"
    )


def test_without_rules_the_settings_in_force_are_used(capfd: pytest.CaptureFixture[str], own_home: Path) -> None:
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash(npm:*)"]}}')
    found = explained(capfd, "Bash", {"command": "npm test"})
    assert (found["decision"], found["rule"]) == ("deny", "Bash(npm:*)")
    assert explained(capfd, "Bash", {"command": "npm test"}, "--allow", "Bash(npm:*)")["decision"] == "allow"


def test_a_rule_that_cannot_work_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    found = explained(capfd, "Bash", {"command": "env touch x"}, "--allow", "Bash(env:*)")
    assert found["decision"] == "ask"
    assert found["considered"][-1]["said"] == "cannot work"
    assert main(["permissions", "explain", "Bash", "{}", "--deny", "Write(x)"]) == 1
    assert "Edit(x) covers it" in capfd.readouterr().err


def test_for_people(capfd: pytest.CaptureFixture[str]) -> None:
    command = {"command": "timeout 5 npm test > out; X=1 ls"}
    assert main(["permissions", "explain", "Bash", json.dumps(command), "--allow", "Bash(npm:*)", "--deny", "Bash(rm:*)"]) == 0
    text = capfd.readouterr().out
    for piece in (
        "ask: Writing out",
        "allow Bash(npm:*)",
        "deny  Bash(rm:*)",
        "wrapped by: timeout 5",
        "sets: X",
        "only looks",
    ):
        assert piece in text


def test_what_is_typed_wrongly_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["permissions", "explain", "Bash", "ls"]) == 2
    assert "not JSON" in capfd.readouterr().err
    assert main(["permissions", "explain", "Bash", "[]"]) == 2
    assert main(["permissions", "explain", "Bash"]) == 2
    assert main(["permissions", "explain", "Bash", "{}", "--cwd", "/no/such/folder"]) == 2
    assert main(["permissions", "--help"]) == 0


def test_a_rule_that_a_folder_may_not_set_is_named_with_the_reason(capfd: pytest.CaptureFixture[str], own_home: Path) -> None:
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(touch:*)"]}}')
    found = explained(capfd, "Bash", {"command": "touch x"})
    assert found["decision"] == "ask"
    [note] = found["considered"]
    assert note["said"] == "note"
    assert "settings.json:1: permissions.allow 'Bash(touch:*)' has no effect: this folder is not trusted" in note["rule"]
    assert main(["permissions", "explain", "Bash", '{"command": "touch x"}']) == 0
    assert "this folder is not trusted" in capfd.readouterr().out


def test_a_sandbox_in_the_settings_is_named(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"sandbox": {"enabled": true}}')
    assert "turn the sandbox on" in explained(capfd, "Bash", {"command": "touch x"})["considered"][0]["rule"]
    assert explained(capfd, "Read", {"file_path": "x"})["considered"] == []


def test_the_folder_of_the_users_own_settings_is_protected(
    capfd: pytest.CaptureFixture[str], own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(own_home / "kept"))
    given = {"file_path": "kept/settings.json", "content": ""}
    for more in ((), ("--allow", "Edit(**)")):
        assert explained(capfd, "Write", given, "--mode", "acceptEdits", *more)["decision"] == "ask"
