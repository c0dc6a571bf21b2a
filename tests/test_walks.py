"""The walks of ARCHITECTURE.md are true: a traced call reaches every named function, in the named order."""

import asyncio
import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from support_sandbox import need, visible_folder
from toolwright import ClaudeAgentOptions, query
from toolwright.testing import Call, Say, ScriptedModel

ROOT = Path(__file__).parent.parent
SECTION = (ROOT / "ARCHITECTURE.md").read_text().partition("## Two walks")[2].partition("\n## ")[0]
WALKS = {
    name: re.findall(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", text, re.MULTILINE)
    for name, text in re.findall(r"^\*\*(?:An?) (Edit|Bash)[^\n]*\n\n(.*?)\n(?=\n\*\*|\Z)", SECTION, re.MULTILINE | re.DOTALL)
}
MAX_FILES = {"Edit": 30, "Bash": 45}


def trace(folder: Path, call: Call, **options: Any) -> list[tuple[str, str]]:
    """Every function of ours that is called while a session holds this call, in order."""
    file = folder / "a.txt"
    file.write_text("one\ntwo\n")
    called: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        _, ours, path = frame.f_code.co_filename.rpartition("/src/toolwright/")
        if event == "call" and ours:
            called.append((path, frame.f_code.co_qualname))

    async def hold() -> None:
        model = ScriptedModel([Call("Read", {"file_path": str(file)}), call, Say("ok")])
        own = {"CLAUDE_CONFIG_DIR": str(folder / "config")}
        given = ClaudeAgentOptions(
            model=model, cwd=folder, env=own, setting_sources=[], permission_mode="acceptEdits", **options
        )
        async for _ in query(prompt="x", options=given):
            pass

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        asyncio.run(hold())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called


def missing(walk: list[tuple[str, str]], called: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The steps that are not reached after those before them."""
    rest = iter(called)
    for number, step in enumerate(walk):
        if not any(each == step for each in rest):
            return walk[number:]
    return []


def test_both_walks_are_short() -> None:
    assert {name: len({file for file, _ in walk}) <= MAX_FILES[name] for name, walk in WALKS.items()} == {
        "Edit": True,
        "Bash": True,
    }
    assert all(len(walk) > 20 for walk in WALKS.values())


def test_an_edit_goes_this_way(tmp_path: Path) -> None:
    call = Call("Edit", {"file_path": str(tmp_path / "a.txt"), "old_string": "two", "new_string": "2"})
    assert missing(WALKS["Edit"], trace(tmp_path, call)) == []


def test_a_sandboxed_command_goes_this_way() -> None:
    need("bubblewrap")
    with visible_folder() as folder:
        called = trace(Path(folder), Call("Bash", {"command": "touch x"}), sandbox={"enabled": True})
    walk = [step for step in WALKS["Bash"] if step != ("processes/cgroups.py", "make_group")]  # not where nothing may be made
    assert missing(walk, called) == []


@pytest.mark.parametrize("name", ["Edit", "Bash"])
def test_what_is_not_reached_is_noticed(name: str) -> None:
    walk = WALKS[name]
    assert missing(walk, walk) == []
    assert missing(walk, walk[:5] + walk[6:]) == walk[5:]
    assert missing(walk, [*walk[1:], walk[0]]) == walk[1:]
