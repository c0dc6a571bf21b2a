"""Tool servers of the command line and of settings files, in whole runs of the command."""

import json
from pathlib import Path
from typing import Any

import pytest

from support_cli import command
from support_mcp import entry

CALLS = [{"tool": f"mcp__{name}__env", "input": {}} for name in ("of_file", "of_text", "of_user")]


def run(folder: Path, *flags: str) -> list[dict[str, Any]]:
    """The frames of a run with a server in a file, one in a text, and one in the user's settings."""
    (folder / "config").mkdir()
    (folder / "config" / "settings.json").write_text(json.dumps({"mcpServers": {"of_user": entry()}}))
    of_file = entry(env={"GREETING": "${GREETING:-hello}", "NAMED": "${NAMED}"})
    (folder / "servers.json").write_text(json.dumps({"mcpServers": {"of_file": of_file}}))
    (folder / "script.json").write_text(json.dumps({"steps": [*CALLS, {"text": "done"}]}))
    done = command(
        *("-p", "go", "--output-format", "stream-json", "--verbose", "--model", f"scripted:{folder / 'script.json'}"),
        *("--mcp-config", str(folder / "servers.json"), "--mcp-config", json.dumps({"mcpServers": {"of_text": entry()}})),
        *("--allowedTools", "mcp__of_file__*,mcp__of_text__*,mcp__of_user__*", *flags),
        env={"CLAUDE_CONFIG_DIR": str(folder / "config"), "NAMED": "from outside", "TOOLWRIGHT_MCP_WAIT": "30000"},
        cwd=folder,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


def results(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for frame in frames if frame["type"] == "user" for block in frame["message"]["content"]]


def text_of(result: dict[str, Any]) -> str:
    content = result["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


@pytest.mark.parametrize(
    ("flags", "names"), [((), ["of_file", "of_text", "of_user"]), (("--strict-mcp-config",), ["of_file", "of_text"])]
)
def test_servers_of_flags_and_settings_answer_in_the_first_turn(
    tmp_path: Path, flags: tuple[str, ...], names: list[str]
) -> None:
    frames = run(tmp_path, *flags)
    assert [(row["name"], row["status"]) for row in frames[0]["mcp_servers"]] == [(name, "connected") for name in names]
    of_file, of_text, of_user = results(frames)
    environment = json.loads(text_of(of_file))
    assert (environment["GREETING"], environment["NAMED"]) == ("hello", "from outside")
    assert "NAMED" not in json.loads(text_of(of_text)), "nothing but what its own entry says"
    assert bool(of_user.get("is_error")) is (len(names) == 2)
