"""What reaches a terminal of what others wrote: nothing that it would obey. Real pseudo-terminals, every way to write."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support_cli import command
from support_hostile_text import EVERYTHING, HOSTILE, IN_ARGUMENTS, OBEYED, Screen, at_terminal, obeyed
from toolwright.cli.frame_io import FrameOutput
from toolwright.cli.plain_output import TerminalErrors, harmless, harmless_json, write_now
from toolwright.cli.render import Renderer
from toolwright.cli.stdio import Output
from toolwright.cli.terminal import Terminal

texts = pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))


def nothing() -> None:
    """For outputs that are never closed."""


# one text at a time


@texts
def test_every_character_that_a_terminal_obeys_is_spelled_out(text: str) -> None:
    assert OBEYED.search(harmless(text)) is None
    assert harmless(f"a\tb\n{text}").startswith("a\tb\n")
    assert harmless(harmless(text)) == harmless(text)


@texts
def test_a_line_of_json_says_the_same_and_holds_nothing_that_is_obeyed(text: str) -> None:
    line = json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
    made = harmless_json(line)
    assert OBEYED.search(made.decode()) is None
    assert json.loads(made) == {"text": text}


def test_ordinary_text_of_any_language_stays_as_it_is() -> None:
    text = "naïve 日本語 العربية می‌خواهم 👩‍👩‍👧 ✓\tx\n" + "é" * 3
    assert harmless(text) == text


@texts
def test_write_now_is_harmless_at_a_terminal(text: str) -> None:
    screen = Screen()
    write_now(screen.slave, f"<{text}>\n")
    shown = screen.read_to_end().decode()
    assert obeyed(shown) == ""
    assert shown == f"<{harmless(text)}>\n"


def show_card(terminal: Terminal, text: str) -> None:
    renderer = Renderer(terminal, "/project")
    calls = [{"type": "tool_use", "id": "t", "name": text, "input": {text: text}}, {"type": "text", "text": text}]
    renderer.show({"type": "stream_event", "event": {"type": "content_block_start", "content_block": calls[0]}})
    renderer.tick()
    for block in calls:
        renderer.show({"type": "assistant", "message": {"content": [block]}})
        renderer.tick()
    result = {"type": "tool_result", "tool_use_id": "t", "content": text}
    renderer.show({"type": "user", "message": {"content": [result]}})
    renderer.show({"type": "system", "subtype": "informational", "content": text})
    renderer.show({"type": "system", "subtype": "api_retry", "error": text})
    terminal.close()


DRAWN: dict[str, Callable[[Terminal, str], None]] = {
    "line": Terminal.line,
    "write": Terminal.write,
    "status": Terminal.status,
    "paint": lambda terminal, text: terminal.line(terminal.paint(text, "bold", "red")),
    "card": show_card,
}


@texts
@pytest.mark.parametrize("draw", DRAWN.values(), ids=list(DRAWN))
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_terminal_draws_only_what_is_ours(term: str, draw: Callable[[Terminal, str], None], text: str) -> None:
    screen = Screen()
    draw(Terminal(screen.slave, {"TERM": term}), text)
    shown = screen.read_to_end().decode()
    assert obeyed(shown) == ""


@texts
def test_standard_error_of_python_itself_is_harmless(text: str) -> None:
    screen = Screen()
    print(text, file=TerminalErrors(screen.slave))
    assert obeyed(screen.read_to_end().decode()) == ""


@texts
@pytest.mark.anyio
async def test_frames_and_answers_are_harmless_at_a_terminal_and_whole_in_a_pipe(text: str) -> None:
    screen, (reading, writing) = Screen(), os.pipe()
    for descriptor in (screen.slave, writing):
        output = FrameOutput(descriptor, nothing)
        await output.write({"text": text})
        await output.write_text(f"{text}\n")
        await Output(descriptor).write(json.dumps([text], ensure_ascii=False).encode() + b"\n")
    shown = screen.read_to_end().decode()
    assert obeyed(shown) == ""
    assert json.loads(shown.split("\n")[0]) == {"text": text}
    os.close(writing)
    with open(reading, "rb") as pipe:
        piped = pipe.read()
    assert f"\n{text}\n".encode() in piped
    assert json.dumps([text], ensure_ascii=False).encode() in piped


# the command, with everything at once


def script(folder: Path, *steps: dict[str, Any]) -> tuple[str, str]:
    path = folder / "script.json"
    path.write_text(json.dumps({"steps": list(steps)}))
    return "--model", f"scripted:{path}"


def arguments_for(folder: Path) -> dict[str, tuple[str, ...]]:
    """Ways to have the command show what others wrote."""
    (folder / "hostile.txt").write_text(EVERYTHING)
    (folder / "dir").mkdir()
    name = IN_ARGUMENTS.replace("/", "").encode()[:200].decode("utf-8", "ignore")
    (folder / "dir" / name).write_text("x")
    answers = script(folder, {"text": EVERYTHING})
    return {
        "text": ("-p", "hi", *answers),
        "json": ("-p", "hi", "--output-format", "json", *answers),
        "frames": ("-p", "hi", "--output-format", "stream-json", "--verbose", *answers),
        "pieces": ("-p", "hi", "--output-format", "stream-json", "--verbose", "--include-partial-messages", *answers),
        "attended": ("hi", *answers),
        "usage": (f"--no-such{IN_ARGUMENTS}",),
        "model": ("-p", "hi", "--model", f"x{IN_ARGUMENTS}"),
        "resume": ("-p", "hi", "--resume", f"x{IN_ARGUMENTS}", *answers),
        "explain": (
            "permissions",
            "explain",
            "Bash",
            json.dumps({"command": f"echo {EVERYTHING}"}),
            "--deny",
            f"Read({IN_ARGUMENTS})",
        ),
        "explain a name": ("permissions", "explain", f"x{IN_ARGUMENTS}", "{}"),
        "trust": ("trust", f"x{IN_ARGUMENTS}"),
        "doctor": ("doctor", "--mechanism", IN_ARGUMENTS),
        "mcp": ("mcp", "get", f"x{IN_ARGUMENTS}"),
        "debug": ("-p", "hi", "--debug", "--mcp-config", IN_ARGUMENTS, *answers),
    }


CHANNELS = [
    *(
        "text",
        "json",
        "frames",
        "pieces",
        "attended",
        "usage",
        "model",
        "resume",
        "explain",
        "explain a name",
        "trust",
        "doctor",
    ),
    *("mcp", "debug"),
]


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_command_shows_a_terminal_nothing_that_it_obeys(channel: str, tmp_path: Path) -> None:
    _, shown = at_terminal(*arguments_for(tmp_path)[channel], cwd=tmp_path)
    assert shown.strip()
    assert obeyed(shown) == ""


STEPS: dict[str, list[dict[str, Any]]] = {
    "tool output": [{"tool": "Bash", "input": {"command": "cat hostile.txt"}}, {"text": "done"}],
    "file": [{"tool": "Read", "input": {"file_path": "hostile.txt"}}, {"text": "done"}],
    "file names": [{"tool": "LS", "input": {"path": "dir"}}, {"tool": "Glob", "input": {"pattern": "**/*"}}, {"text": "done"}],
    "denied tool": [{"tool": "Write", "input": {"file_path": f"a{EVERYTHING}", "content": EVERYTHING}}, {"text": "done"}],
    "tool name": [{"tool": f"Tool{EVERYTHING}", "input": {}}, {"text": "done"}],
    "error": [{"error": {"kind": "invalid_request", "status": 400, "message": EVERYTHING}}],
    "retry": [{"error": {"kind": "overloaded", "status": 529, "message": EVERYTHING, "retry_after": 0}}, {"text": "done"}],
}


@pytest.mark.parametrize("output_format", ["text", "stream-json"])
@pytest.mark.parametrize("steps", STEPS.values(), ids=list(STEPS))
def test_what_tools_files_and_errors_say_is_harmless(steps: list[dict[str, Any]], output_format: str, tmp_path: Path) -> None:
    arguments_for(tmp_path)
    model = script(tmp_path, *steps)
    _, shown = at_terminal("-p", "hi", "--output-format", output_format, "--verbose", *model, cwd=tmp_path)
    assert shown.strip()
    assert obeyed(shown) == ""


def test_an_allowed_command_cannot_write_to_the_terminal_beside_us(tmp_path: Path) -> None:
    steps = ({"tool": "Bash", "input": {"command": "printf '\\033]0;owned\\007' > /dev/tty"}}, {"text": "done"})
    _, shown = at_terminal("-p", "hi", "--allowed-tools", "Bash", *script(tmp_path, *steps), cwd=tmp_path)
    assert "done" in shown
    assert obeyed(shown) == ""


SERVER = """
import json, sys
said = open("hostile.txt").read()
sys.stderr.write(said + "\\n")
sys.stderr.flush()
if "fail" in sys.argv:
    sys.exit(said.replace("\\n", ""))
for line in sys.stdin:
    message = json.loads(line)
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "instructions": said,
            "serverInfo": {"name": said, "version": said}},
        "tools/list": {"tools": [{"name": "good", "description": said, "inputSchema": {"type": "object"}},
            {"name": said, "description": said, "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": said}]},
    }
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answers.get(message["method"], {})}), flush=True)
"""


@pytest.mark.parametrize("arguments", [("list",), ("get", "evil"), ("test", "evil"), ("test", "broken"), ("test",)])
def test_what_servers_say_is_harmless(arguments: tuple[str, ...], tmp_path: Path) -> None:
    arguments_for(tmp_path)
    (tmp_path / "server.py").write_text(SERVER)
    own = {"command": sys.executable, "args": ["server.py", IN_ARGUMENTS], "env": {"X": IN_ARGUMENTS}}
    servers = {"evil": own, "broken": {"command": sys.executable, "args": ["server.py", "fail"]}, f"x{EVERYTHING}": own}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    (tmp_path / "config" / "settings.json").write_text(json.dumps({"mcpServers": servers}))
    _, shown = at_terminal("mcp", *arguments, cwd=tmp_path, env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")})
    assert shown.strip()
    assert obeyed(shown) == ""


def test_what_a_folder_s_settings_say_is_harmless(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".claude"
    folder.mkdir(parents=True)
    said = {"permissions": {"allow": [f"Bash({IN_ARGUMENTS})"]}, "env": {"X": EVERYTHING}, "model": EVERYTHING, EVERYTHING: 1}
    (folder / "settings.json").write_text(json.dumps(said))
    for arguments in (("trust", "--show", "project"), ("-p", "hi", "--model", "nonsense")):
        _, shown = at_terminal(*arguments, cwd=tmp_path if arguments[0] == "trust" else tmp_path / "project")
        assert shown.strip()
        assert obeyed(shown) == ""


# pipes


def test_a_pipe_gets_the_answer_byte_for_byte(tmp_path: Path) -> None:
    done = command("-p", "hi", *script(tmp_path, {"text": EVERYTHING}), cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert done.stdout == f"{EVERYTHING}\n".encode()


def test_a_pipe_gets_an_error_byte_for_byte(tmp_path: Path) -> None:
    steps = {"error": {"kind": "invalid_request", "status": 400, "message": EVERYTHING}}
    done = command("-p", "hi", *script(tmp_path, steps), cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert EVERYTHING.encode() in done.stderr


def test_only_the_stream_that_is_a_terminal_is_changed() -> None:
    screen, (reading, writing) = Screen(), os.pipe()
    write_now(screen.slave, "\x1b[2J")
    write_now(writing, "\x1b[2J")
    os.close(writing)
    assert screen.read_to_end() == b"\\x1b[2J"
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"\x1b[2J"
