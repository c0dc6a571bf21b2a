"""No program that a session starts gets a key of ours to see: not in its command line, not in its environment.

Judged by what the kernel was told: strace writes down every program that is run, with its arguments and variables.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support_cli import bare_environment
from support_sandbox import need, visible_folder

SERVER = str(Path(__file__).parents[1] / "support_mcp_server.py")
COMMAND = str(Path(sys.executable).with_name("toolwright"))
LIBRARY = """
import anyio, json, sys
from toolwright import ClaudeAgentOptions, query

async def main(given):
    async for message in query(prompt="go", options=ClaudeAgentOptions(**given)):
        print(message)

anyio.run(main, json.loads(sys.stdin.read()))
"""
_RUN = re.compile(r'^\d+ +execve\("(?P<program>[^"]*)", \[(?P<arguments>.*)\], \[(?P<variables>.*)\]\) += 0$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """A program that was run."""

    program: str
    arguments: str
    variables: str


@dataclass(frozen=True, slots=True)
class Keys:
    """Three keys, each known in another way."""

    environment: str
    options: str
    settings: str

    def in_(self, text: str) -> list[str]:
        return [name for name in self.__slots__ if getattr(self, name) in text]


@pytest.fixture
def keys() -> Keys:
    return Keys(*(f"sk-ant-{secrets.token_hex(16)}" for _ in range(3)))


def traced(argv: list[str], folder: Path, *, stdin: str, env: dict[str, str]) -> list[Run]:
    """Run `argv` in `folder`; the answer is every program that was run on the way, itself the first."""
    if shutil.which("strace") is None:
        if os.environ.get("CI"):
            pytest.fail("strace is missing: .ci/run installs it")
        pytest.skip("strace is not installed")
    log = folder.parent / "runs"
    tracer = ["strace", "-f", "-v", "-s", "65536", "-e", "trace=execve", "-e", "signal=none", "-qq", "-o", str(log)]
    done = subprocess.run([*tracer, *argv], cwd=folder, input=stdin, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "All done." in done.stdout, done.stdout
    text = re.sub(r"(?m)^(\d+ +execve\(.*) <unfinished \.\.\.>$", r"\1) = 0", log.read_text(errors="replace"))
    return [Run(*found.groups()) for found in _RUN.finditer(text)]


def write_script(folder: Path) -> str:
    def call(tool: str, **fields: object) -> dict[str, object]:
        return {"tool": tool, "input": fields}

    steps = [
        call("Bash", command="ls >&2 | cat"),
        call("Bash", command="true", run_in_background=True),
        call("Grep", pattern="word", path=str(folder)),
        call("mcp__near__echo", words="x"),
        {"text": "All done."},
        {"text": "Yes, I heard that."},  # where the command in the background ends late
    ]
    script = folder.parent / "script.json"
    script.write_text(json.dumps({"steps": steps}))
    return f"scripted:{script}"


def settings_with(key: str) -> dict[str, object]:
    hook = {"matcher": "*", "hooks": [{"type": "command", "command": "cat >/dev/null"}]}
    return {"env": {"ANTHROPIC_AUTH_TOKEN": key}, "hooks": {"PreToolUse": [hook]}}


def options_with(folder: Path, keys: Keys, **more: object) -> dict[str, object]:
    return {
        "cwd": str(folder),
        "model": write_script(folder),
        "env": {"OPENAI_API_KEY": keys.options, "CLAUDE_CONFIG_DIR": str(folder.parent / "config")},
        "settings": json.dumps(settings_with(keys.settings)),
        "mcp_servers": {"near": {"type": "stdio", "command": sys.executable, "args": [SERVER]}},
        "allowed_tools": ["Bash", "Grep", "mcp__near"],
        **more,
    }


def names(runs: list[Run]) -> set[str]:
    return {os.path.basename(run.program) for run in runs}


def work_folder(base: Path) -> Path:
    folder = base / "work"
    folder.mkdir()
    (folder / "file").write_text("word\n")
    return folder


def nothing_known(runs: list[Run], keys: Keys) -> None:
    for run in runs:
        assert keys.in_(run.arguments) == [], run
        assert keys.in_(run.variables) == [], run


@pytest.mark.parametrize("sandbox", [False, True])
def test_no_child_of_a_session_in_this_process_gets_a_key(sandbox: bool, keys: Keys) -> None:
    if sandbox:
        need("bubblewrap")
    environment = {**bare_environment(), "ANTHROPIC_API_KEY": keys.environment}
    enclosing = {"sandbox": {"enabled": True, "network": {"allowedDomains": ["example.com"]}}} if sandbox else {}
    with visible_folder() as base:
        folder = work_folder(base)
        given = json.dumps(options_with(folder, keys, **enclosing))
        host, *children = traced([sys.executable, "-c", LIBRARY], folder, stdin=given, env=environment)
    assert keys.in_(host.variables) == ["environment"]
    assert {"bash", "rg", "shfmt", Path(sys.executable).name} <= names(children)
    assert ({"bwrap", "nsenter"} <= names(children)) == sandbox
    assert any(SERVER in run.arguments for run in children)
    assert any("toolwright-watchdog" in run.arguments for run in children)
    nothing_known(children, keys)


def test_no_child_of_the_command_gets_a_key(tmp_path: Path, keys: Keys) -> None:
    folder = work_folder(tmp_path)
    (tmp_path / "settings.json").write_text(json.dumps(settings_with(keys.settings)))
    (tmp_path / "servers.json").write_text(
        json.dumps({"mcpServers": {"near": {"type": "stdio", "command": sys.executable, "args": [SERVER]}}})
    )
    chosen = ["--model", write_script(folder), "--allowedTools", "Bash,Grep,mcp__near"]
    files = ["--settings", str(tmp_path / "settings.json"), "--mcp-config", str(tmp_path / "servers.json")]
    environment = {
        **bare_environment(),
        **{
            "ANTHROPIC_API_KEY": keys.environment,
            "OPENAI_API_KEY": keys.options,
            "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
        },
    }
    _, *children = traced([COMMAND, "-p", "go", *chosen, *files], folder, stdin="", env=environment)
    assert {"bash", "rg"} <= names(children)
    assert any(SERVER in run.arguments for run in children)
    nothing_known(children, keys)


def test_a_client_puts_no_key_into_the_command_line_of_the_program_it_drives(tmp_path: Path, keys: Keys) -> None:
    folder = work_folder(tmp_path)
    token = secrets.token_hex(16)
    given = options_with(folder, keys, cli_path=COMMAND)
    given["mcp_servers"] = {
        "near": {"type": "stdio", "command": sys.executable, "args": [SERVER], "env": {"OWN": token}},
    }
    environment = {**bare_environment(), "ANTHROPIC_API_KEY": keys.environment}
    _, driven, *children = traced([sys.executable, "-c", LIBRARY], folder, stdin=json.dumps(given), env=environment)
    assert driven.program == COMMAND
    assert "--settings" in driven.arguments
    assert keys.in_(driven.arguments) == []
    assert keys.in_(driven.variables) == ["environment", "options"]  # it is the runtime: it needs them
    assert {"bash", "rg"} <= names(children)
    nothing_known(children, keys)
    assert [SERVER in run.arguments for run in (driven, *children) if token in run.arguments + run.variables] == [True]
