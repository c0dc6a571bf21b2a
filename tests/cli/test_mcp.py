"""`toolwright mcp`: servers added, shown, tested and taken out, and our own tools served to the published `mcp` client."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support_cli import bare_environment, command
from support_mcp import SERVER
from toolwright.cli.main import main

PROGRAM = [sys.executable, "-m", "toolwright.cli", "mcp", "serve"]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capfd)


class Done(NamedTuple):
    """What became of a command."""

    returncode: int
    stdout: str
    stderr: str


class Person:
    """Somebody with a home and a folder to work in. What they type runs here: a process for each line would take long."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self.work, self.config = folder / "work", folder / "config"
        self.work.mkdir()
        self.env = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(self.config)}
        self._captured = captured
        for name in os.environ.keys() - bare_environment().keys():
            patch.delenv(name)
        for name, value in self.env.items():
            patch.setenv(name, value)
        patch.chdir(self.work)

    def types(self, *arguments: str) -> Done:
        self._captured.readouterr()
        return Done(main(["mcp", *arguments]), *self._captured.readouterr())

    def sees(self, *arguments: str) -> str:
        done = self.types(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def hears(self, *arguments: str, code: int = 1) -> str:
        done = self.types(*arguments)
        assert done.returncode == code
        return done.stderr


def test_a_server_is_added_to_the_file_of_its_scope(person: Person) -> None:
    person.sees("add", "one", "--", "program", "-x", "--scope")
    person.sees("add", "two", "-s", "project", "-e", "KEY=${SECRET}=", "program")
    person.sees("add", "three", "-s", "user", "https://example.test/mcp", "-H", "Authorization: Bearer ${TOKEN}")
    local = json.loads((person.work / ".claude/settings.local.json").read_text())
    assert local["mcpServers"] == {"one": {"type": "stdio", "command": "program", "args": ["-x", "--scope"]}}
    project = json.loads((person.work / ".mcp.json").read_text())
    assert project["mcpServers"]["two"]["env"] == {"KEY": "${SECRET}="}
    user = json.loads((person.config / "settings.json").read_text())
    assert user["mcpServers"]["three"]["headers"] == {"Authorization": "Bearer ${TOKEN}"}
    listed = command("mcp", "list", env=person.env, cwd=person.work).stdout.decode()
    assert [line.split()[:3] for line in listed.splitlines()] == [
        ["one", "local", "stdio"],
        ["two", "project", "stdio"],
        ["three", "user", "http"],
    ]


def test_secrets_are_not_shown(person: Person) -> None:
    person.sees("add", "web", "https://example.test/mcp?key=hidden1", "-H", "Authorization: hidden2")
    shown = person.sees("get", "web") + person.sees("list")
    assert "hidden1" not in shown
    assert "hidden2" not in shown
    assert "settings.local.json" in shown


def test_what_else_is_in_a_file_stays(person: Person) -> None:
    path = person.work / ".mcp.json"
    path.write_text('{\n  // ours\n  "mcpServers": {"a": {"command": "a"}}\n}\n')
    person.sees("add", "b", "-s", "project", "program")
    assert "// ours" in path.read_text()
    person.sees("remove", "a")
    assert '"a"' not in path.read_text()
    assert '"b"' in path.read_text()


def test_a_person_who_adds_the_first_server_trusts_it_and_others_stay_untrusted(person: Person) -> None:
    person.sees("add", "mine", "--", sys.executable, SERVER)
    assert "✓ mine" in person.sees("test", "mine")
    (person.work / ".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "touch", "args": ["started"]}}}')
    said = person.hears("test", "theirs")
    assert "not trusted" in said
    assert "touch started" in said, "what would be run is shown"
    assert not (person.work / "started").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "x"], "needs a name and a command"),
        (["add", "a b", "program"], "name has letters"),
        (["add", "x", "ftp://example.test", "-t", "http"], "http://"),
        (["add", "x", "https://example.test", "more"], "no arguments"),
        (["add", "x", "-e", "novalue", "program"], "NAME=VALUE"),
        (["add", "x", "-H", "A: b", "program"], "does not go with stdio"),
        (
            ["add", "x", "python", "-m", "server"],
            "unknown flag -m; if it belongs to the server's command, write -- before that",
        ),
        (["add", "x", "npx", "--yes", "server"], "unknown flag --yes; if it belongs to the server's command"),
        (["add", "x", "--scop", "user", "program"], "did you mean --scope?"),
        (["serve", "--http", "nowhere"], "PORT"),
        (["serve", "word"], "takes no argument"),
        (["lst"], "did you mean list"),
    ],
)
def test_a_slip_is_explained(person: Person, arguments: list[str], said: str) -> None:
    assert said in person.hears(*arguments, code=2)


def test_a_name_that_is_taken_or_missing_is_told(person: Person) -> None:
    person.sees("add", "x", "program")
    assert "already" in person.hears("add", "x", "other", code=2)
    person.sees("add", "x", "--replace", "other")
    assert "other" in person.sees("get", "x")
    assert "there are: x" in person.hears("get", "y")
    assert "no server 'y'" in person.hears("remove", "y")
    person.sees("add", "x", "-s", "user", "program")
    assert "several scopes" in person.hears("remove", "x", code=2)
    person.sees("remove", "x", "-s", "user")


def test_the_test_shows_tools_timing_and_what_is_wrong(person: Person) -> None:
    person.sees("add", "good", "-s", "user", "--", sys.executable, SERVER)
    person.sees("add", "bad", "-s", "user", "--", "no-such-program-anywhere")
    done = person.types("test")
    shown = done.stdout
    assert done.returncode == 1
    assert re.search(r"✓ good  \d+\.\d\d s · \d+ tools? · ", shown)
    assert re.search(r"✗ bad  failed after \d+\.\d\d s: .*no-such-program-anywhere", shown)


# serve


@asynccontextmanager
async def client_of(folder: Path, *flags: str, elicitation: Any = None) -> AsyncIterator[Any]:
    """The published client, connected to our server as a process."""
    from mcp.client.stdio import stdio_client

    from mcp import ClientSession, StdioServerParameters

    env = {**bare_environment(), "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "config")}
    command, *arguments = PROGRAM
    parameters = StdioServerParameters(command=command, args=[*arguments, "--cwd", str(folder), *flags], env=env)
    async with (
        stdio_client(parameters) as (read, write),
        ClientSession(read, write, elicitation_callback=elicitation) as session,
    ):
        await session.initialize()
        yield session


@pytest.mark.anyio
async def test_the_published_client_reads_a_file_and_may_not_write_one(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a note\n")
    async with client_of(tmp_path) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert tools["Read"].annotations.read_only_hint is True
        assert tools["Bash"].annotations.destructive_hint is True
        read = await session.call_tool("Read", {"file_path": "note.txt"})
        assert "a note" in read.content[0].text
        written = await session.call_tool("Write", {"file_path": "new.txt", "content": "x"})
        assert written.is_error
        assert "nobody can be asked" in written.content[0].text
        assert not (tmp_path / "new.txt").exists()
        wrong = await session.call_tool("Read", {"path_of_file": 1})
        assert wrong.is_error


@pytest.mark.anyio
@pytest.mark.parametrize("allow", [True, False])
async def test_the_person_behind_the_client_decides(tmp_path: Path, allow: bool) -> None:
    from mcp.types import ElicitResult

    asked: list[str] = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": allow})

    async with client_of(tmp_path, elicitation=answer) as session:
        result = await session.call_tool("Write", {"file_path": "new.txt", "content": "the content"})
        assert bool(result.is_error) is not allow
    assert (tmp_path / "new.txt").exists() is allow
    assert len(asked) == 1
    assert "the content" in asked[0], "the person sees the whole input"


@pytest.mark.anyio
@pytest.mark.parametrize("boundary", ["default", "strict"])
async def test_rules_of_the_command_line_hold(tmp_path: Path, boundary: str) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside.txt"
    work.mkdir()
    rules = ("--allowed-tools", "Write", "--disallowed-tools", "Bash", "--tools", "Read,Write,Bash")
    async with client_of(work, *rules, "--boundary", boundary) as session:
        assert {tool.name for tool in (await session.list_tools()).tools} <= {"Read", "Write", "Bash"}
        assert not (await session.call_tool("Write", {"file_path": "new.txt", "content": "x"})).is_error
        result = await session.call_tool("Write", {"file_path": str(outside), "content": "x"})
        assert bool(result.is_error) is (boundary == "strict")
    assert (work / "new.txt").read_text() == "x"
    assert outside.exists() is (boundary == "default")


@contextmanager
def served_over_http(folder: Path, *flags: str, token: str = "") -> Iterator[tuple[str, str]]:
    """A server process: its URL and its token."""
    env = {**bare_environment(), "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "config")}
    env |= {"TOOLWRIGHT_MCP_TOKEN": token} if token else {}
    command = [*PROGRAM, "--cwd", str(folder), "--http", "0", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stderr is not None
        made = "" if token else process.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+/mcp", process.stderr.readline())
        assert url is not None
        yield url[0], token or made.rsplit(maxsplit=1)[-1]
        process.terminate()
        assert process.wait(30) == 143


@pytest.mark.anyio
@pytest.mark.parametrize("token", ["", "a-token-that-was-chosen"])
async def test_the_published_client_comes_over_http_with_the_token(tmp_path: Path, token: str) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from mcp import ClientSession

    (tmp_path / "note.txt").write_text("a note\n")
    with served_over_http(tmp_path, token=token) as (url, known):
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {known}"}) as http:
            streams = streamable_http_client(url, http_client=http)
            async with streams as (read, write, *_), ClientSession(read, write) as session:
                await session.initialize()
                result = await session.call_tool("Read", {"file_path": "note.txt"})
                assert "a note" in str(result.content)
        async with httpx2.AsyncClient() as http:
            assert (await http.post(url, json={})).status_code == 401
            assert (await http.post(url, json={}, headers={"Host": "evil.test"})).status_code == 421


STRANGERS: list[dict[str, str]] = [
    {},
    {"Authorization": "Bearer guessed-token-of-some-length"},
    {"Authorization": "Basic a-token-that-was-chosen"},
    {"Authorization": "Bearer a-token-that-was-chosen", "Host": "evil.test"},
    {"Authorization": "Bearer a-token-that-was-chosen", "Origin": "http://evil.test"},
]


@pytest.mark.skipif(sys.platform != "linux", reason="children of a process are listed by Linux")
def test_no_stranger_on_the_network_has_a_process_started(tmp_path: Path) -> None:
    """Judged by what happened: no file, no child, also while everything would be allowed to somebody with the token."""
    made = tmp_path / "made"
    call = {"name": "Bash", "arguments": {"command": f"touch {made}"}}
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    messages = [("initialize", hello), ("tools/call", call), ("tools/call", {**call, "_meta": meta})]
    flags = ("--allowed-tools", "Bash")
    with served_over_http(tmp_path, *flags, token="a-token-that-was-chosen") as (url, token):
        server = children_of(os.getpid(), lambda line: "--http" in line)[0]
        before = children_of(server)
        for headers in STRANGERS:
            for method, params in messages:
                assert posted(url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers) in (401, 403, 421)
        assert not made.exists()
        assert children_of(server) == before
        stateless = {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Bash"}
        known = stateless | {"Authorization": f"Bearer {token}"}
        assert posted(url, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**call, "_meta": meta}}, known) == 200
        assert made.exists(), "the same request with the token does it"


def posted(url: str, message: dict[str, Any], headers: dict[str, str]) -> int:
    """The status of the answer."""
    own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(message).encode(), own | headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def children_of(pid: int, fits: Callable[[str], bool] = lambda line: True) -> list[int]:
    """The children whose command line fits."""
    found = [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    return [child for child in found if fits(Path(f"/proc/{child}/cmdline").read_text())]


def test_a_token_that_is_too_short_is_refused(person: Person) -> None:
    done = command("mcp", "serve", "--http", "0", env={**person.env, "TOOLWRIGHT_MCP_TOKEN": "short"}, cwd=person.work)
    assert done.returncode == 2
    assert b"at least 16" in done.stderr


def test_wrong_options_are_told_before_a_client_asks(person: Person) -> None:
    done = command("mcp", "serve", "--cwd", str(person.work / "nowhere"), env=person.env, cwd=person.work)
    assert (done.returncode, b"does not exist" in done.stderr) == (1, True)


def test_the_help_of_every_command_is_short_enough_to_read(person: Person) -> None:
    for name in ("serve", "add", "list", "get", "remove", "test"):
        assert all(len(line) <= 100 for line in person.sees(name, "--help").splitlines())
    assert "toolwright mcp serve" in person.sees()
    assert os.path.isdir(person.work)
