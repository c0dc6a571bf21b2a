"""Clients, adapters and tracers by others hold whole conversations with our runtime, twenty times each, so that a race shows.

Each has a program in `clients/`, run in a process of its own: with the published SDK and our command, in process under the
original's names (`python -m toolwright.drop_in`), and twice with the runtime that the published package brings along. What they
see of ours, spans included, is what they see of the original, except for the rows of `DIFFERENCES`.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest
from npm_peers import node, sdk
from published import MODEL
from side_by_side import COMMANDS, QUIET, json_answer, side_answer

from toolwright.testing import ModelServer, ReceivedRequest, ToolCall, answer
from toolwright.testing.steps import Step

CLIENTS = Path(__file__).with_name("clients")
DOCUMENT = Path(__file__).parents[2] / "docs" / "compatibility.md"
TIMES = 20
TIMES_OF_THE_ORIGINAL = 2
AT_A_TIME = 2
MAX_LENGTH = 400.0
PYTHON = ("python_sdk", "opentelemetry", "openinference", "logfire", "langsmith", "agent_framework", "ag_ui")
TYPESCRIPT = "typescript_sdk"
WAYS = [*((name, way) for name in PYTHON for way in ("ours", "in process")), (TYPESCRIPT, "ours")]

OUR_FIELDS = re.compile(r"""["']exitCode["']: ?0, |, ?["']exitCode["']: ?0""")
"""Row "Structured results" of docs/compatibility.md: fields that the original does not have."""
NOT_SERVED = ("initialize", "notifications/initialized", "tools/list", "tools/call get_weather")
"""What a tool server is asked over JSON-RPC; in process it is called."""

DIFFERENCES: dict[str, tuple[str, ...]] = {
    "Progress notices": ('ag_ui * | - CUSTOM {"name": "system:status"}',),
    "Absent or null": (
        "python_sdk * | - UserMessage ToolResultBlock {'tool_use_id': 'toolu_1'",
        "python_sdk * | + UserMessage ToolResultBlock {'tool_use_id': 'toolu_1'",
        'typescript_sdk * | - user {"content":"hello","is_error":false,',
        'typescript_sdk * | + user {"content":"hello",',
        "python_sdk * | - hook Stop UUID",
        "python_sdk * | + hook Stop None",
    ),
    "Tracers in process: servers": tuple(
        f"logfire in process | - {start}{name} " for name in NOT_SERVED for start in ("", "span ")
    ),
    "Tracers in process: context": (
        "opentelemetry in process | + span execute_tool ",
        "opentelemetry in process | + execute_tool ",
    ),
}

Held = dict[tuple[str, str], list[list[str]]]


# the model


def forecast(request: ReceivedRequest) -> Step:
    """Bash first, then the client's own tool, then an answer; a word of thanks gets one at once."""
    if "count_tokens" in request.path:
        return json_answer({"input_tokens": 10})
    if not request.json.get("stream"):
        return side_answer(request)
    content = [message for message in request.json["messages"] if message["role"] == "user"][-1]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    answered = {block.get("tool_use_id") for block in blocks}
    if "toolu_1" in answered:
        (name,) = [tool["name"] for tool in request.json["tools"] if tool["name"].endswith("__get_weather")]
        return answer("Now the weather.", ToolCall(name, {"city": "Oslo"}, "toolu_2"), model=MODEL)
    if "toolu_2" in answered:
        return answer("It is sunny.", model=MODEL)
    if any("Thank you." in block.get("text", "") for block in blocks):
        return answer("You are welcome.", model=MODEL)
    return answer("I look.", ToolCall("Bash", {"command": "echo hello", "description": "d"}, "toolu_1"), model=MODEL)


# the runs


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Future[list[list[str]]]]]:
    """Every client with every runtime, a few at a time: what each conversation looked like."""
    packages = sdk()
    with ModelServer(forecast, keep=100) as server, ThreadPoolExecutor(AT_A_TIME) as pool:
        names = (*PYTHON, TYPESCRIPT)
        work = [each for name in names for each in ((name, "theirs"), *(way for way in WAYS if way[0] == name))]
        folders = {each: tmp_path_factory.mktemp("-".join(each).replace(" ", "-")) for each in work}
        yield {each: pool.submit(conversations, *each, folders[each], server.url, packages) for each in work}


def conversations(name: str, way: str, folder: Path, url: str, packages: Path) -> list[list[str]]:
    workspace, home = folder / "workspace", folder / "home"
    workspace.mkdir()
    home.mkdir()
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CLAUDE", "ANTHROPIC", "OTEL", "LANG"))}
    env |= {**QUIET, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "ENABLE_TOOL_SEARCH": "false"}
    env |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test-key"}
    if way != "in process":
        env["CLIENT_COMMAND"] = str(COMMANDS[way])
    times = TIMES_OF_THE_ORIGINAL if way == "theirs" else TIMES
    command = [*program(name, way, folder, packages), str(times)]
    done = subprocess.run(command, cwd=workspace, env=env, capture_output=True, text=True, timeout=MAX_LENGTH, check=False)
    assert done.returncode == 0, f"{name}, {way}: {done.stderr[-3000:]}"
    lines: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
    assert len(lines) == times
    return lines


def program(name: str, way: str, folder: Path, packages: Path) -> list[str]:
    if name != TYPESCRIPT:
        return [
            sys.executable,
            *(("-m", "toolwright.drop_in") if way == "in process" else ()),
            str(CLIENTS / f"with_{name}.py"),
        ]
    (folder / "node_modules").symlink_to(packages)
    here = folder / "program.mjs"
    here.write_text((CLIENTS / f"with_{name}.mjs").read_text())
    return [node(), str(here)]


# what they saw


def compared(theirs: list[str], ours: list[str]) -> list[str]:
    own = [OUR_FIELDS.sub("", line) for line in ours]
    return [line for line in ndiff(theirs, own) if line[:2] in ("- ", "+ ")]


def explains(row: str, name: str, way: str, line: str) -> bool:
    where, _, start = row.partition(" | ")
    return where in (f"{name} *", f"{name} {way}") and line.startswith(start)


def unexplained(name: str, way: str, lines: list[str]) -> list[str]:
    rows = [row for rows in DIFFERENCES.values() for row in rows]
    return [line for line in lines if not any(explains(row, name, way, line) for row in rows)]


@pytest.mark.parametrize(("name", "way"), WAYS, ids=[f"{name}, {way}" for name, way in WAYS])
def test_twenty_conversations_look_like_those_of_the_original(name: str, way: str, held: Any) -> None:
    theirs, *again = held[name, "theirs"].result()
    assert len(theirs) >= 6
    assert again == [theirs] * (TIMES_OF_THE_ORIGINAL - 1)
    ours = held[name, way].result()
    assert [line for one in ours for line in ndiff(ours[0], one) if line[:2] in ("- ", "+ ")] == []
    assert unexplained(name, way, compared(theirs, ours[0])) == []


def test_every_row_of_the_table_was_needed(held: Any) -> None:
    seen = [
        (name, way, line)
        for name, way in WAYS
        for line in compared(held[name, "theirs"].result()[0], held[name, way].result()[0])
    ]
    rows = [row for rows in DIFFERENCES.values() for row in rows]
    assert [row for row in rows if not any(explains(row, *each) for each in seen)] == []


def test_the_rows_are_in_the_document() -> None:
    text = DOCUMENT.read_text()
    assert [name for name in (*DIFFERENCES, "Structured results") if f"| **{name}** |" not in text] == []
