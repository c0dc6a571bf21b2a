"""One call, judged by three: the live gate, the condition of a hook, `permissions explain`. They must agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_hooks import command_settings
from support_runtime import play
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.permissions.session.explain import HypotheticalCall, answer

pytestmark = pytest.mark.anyio

CASES: list[tuple[str, str, dict[str, Any], bool]] = [
    ("Read(.env)", "Bash", {"command": "cat .env"}, True),
    ("Read(.env)", "Bash", {"command": "cat link"}, True),
    ("Read(.env)", "Bash", {"command": "cat .e*"}, True),
    ("Read(.env)", "Bash", {"command": "cat note.txt"}, False),
    ("Read(.env)", "Read", {"file_path": "link"}, True),
    ("Read(.env)", "Grep", {"pattern": "x", "path": "note.txt"}, False),
    ("Read(sub/**)", "Bash", {"command": "cd sub && cat inner.txt"}, True),
    ("Edit(*.txt)", "Write", {"file_path": "new.txt", "content": "x"}, True),
    ("Edit(*.txt)", "Bash", {"command": "echo x > sub/new.txt"}, True),
    ("Edit(*.txt)", "Write", {"file_path": "new.md", "content": "x"}, False),
    ("Bash(rm:*)", "Bash", {"command": "true; command rm note.txt"}, True),
    ("Bash(rm:*)", "Bash", {"command": "echo rm note.txt"}, False),
    ("TodoWrite", "TodoWrite", {"todos": []}, True),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "sub").mkdir(parents=True)
    for name in (".env", "note.txt", "sub/inner.txt"):
        (folder / name).write_text("x\n")
    (folder / "link").symlink_to(".env")
    return folder


@pytest.mark.parametrize(("rule", "tool", "given", "concerned"), CASES)
async def test_a_hooks_condition_and_explain_judge_as_the_gate_does(
    tmp_path: Path, work: Path, rule: str, tool: str, given: dict[str, Any], concerned: bool
) -> None:
    model = ScriptedModel([Call(tool, given), Say("ok")])
    denied = (await play(tmp_path, model, disallowed_tools=[rule]))[-1]["permission_denials"]
    assert explained(work, rule, tool, given) == ("deny" if concerned else "other")
    guard = {"type": "command", "command": "touch asked", "if": rule}
    await play(tmp_path, ScriptedModel([Call(tool, given), Say("ok")]), settings=command_settings("PreToolUse", guard))
    assert (work / "asked").exists() is concerned
    if concerned:
        assert denied, "the gate let it through"


def explained(work: Path, rule: str, tool: str, given: dict[str, Any]) -> str:
    found = answer(HypotheticalCall(tool, given, str(work), {"deny": [rule]})).explanation.decision
    return "deny" if found.behavior == "deny" else "other"
