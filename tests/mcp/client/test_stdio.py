"""Servers as child processes: every way a call can go, and everything a server can do wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_mcp import TIMEOUT, around, entry, eventually, is_alive, server_for, text_of
from toolwright.mcp.client.server_events import Audience, Timing
from toolwright.mcp.client.server_requests import MAX_QUESTIONS, Answering, Questions, RefusedRequest
from toolwright.mcp.client.stdio import ServerLaunch, StdioProcess, environment_for, find_program
from toolwright.mcp.client.transport import LinkError
from toolwright.mcp.rpc import ToolServerError

pytestmark = pytest.mark.anyio


async def test_a_server_is_connected_and_called(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        assert server.status == "pending"
        await server.connect()
        assert (server.status, server.version, server.introduction.name) == ("connected", "9", "fault")
        assert server.introduction.protocol_version == "2025-11-25"
        assert text_of(await server.call_tool("echo", {"b": "\u2028\n", "a": [1]})) == '{"a": [1], "b": "\\u2028\\n"}'


async def test_a_server_connects_with_its_first_call(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        assert text_of(await server.call_tool("echo", {})) == "{}"


async def test_a_server_gets_six_variables_and_its_own(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry(env={"API_TOKEN": "meant for it"})) as server:
        environment = json.loads(text_of(await server.call_tool("env", {})))
        allowed = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "API_TOKEN"}
        assert set(environment) - {"LC_CTYPE", "PYTHONDONTWRITEBYTECODE"} <= allowed  # Python sets the first for itself
        assert environment["API_TOKEN"] == "meant for it"


def test_a_secret_in_an_allowed_variable_is_not_passed_on() -> None:
    base = {"PATH": "/bin", "TERM": "ghp_0123456789abcdefABCDEF", "aws_secret_access_key": "x", "HOME": "/h"}
    assert dict(environment_for({}, base)) == {"PATH": "/bin", "HOME": "/h"}


async def test_a_server_runs_in_the_folder_of_the_session_or_its_own(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    async with server_for(tmp_path, entry(cwd="inner")) as server:
        assert text_of(await server.call_tool("cwd", {})) == str(tmp_path / "inner")


def test_a_command_is_not_looked_for_where_the_model_writes(tmp_path: Path) -> None:
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(LinkError, match="lies in the workspace"):
        find_program("node", path=f".:{tmp_path}", cwd="/", untrusted=(str(tmp_path),))
    assert find_program("node", path=str(tmp_path), cwd="/") == str(program)
    assert find_program("./node", path="", cwd=str(tmp_path), untrusted=(str(tmp_path),)) == str(program)
    with pytest.raises(LinkError, match="was not found on PATH"):
        find_program("no-such-program", path=os.environ["PATH"], cwd="/")


async def test_a_program_that_does_not_exist_is_said(tmp_path: Path) -> None:
    async with server_for(tmp_path, {"command": "/no/such/program"}) as server:
        with pytest.raises(ToolServerError, match="'test': /no/such/program could not be started"):
            await server.connect()
        assert server.status == "failed"


@pytest.mark.parametrize("code", ["0", "3"])
async def test_a_program_that_ends_at_once_is_said_with_its_last_words(tmp_path: Path, code: str) -> None:
    async with server_for(tmp_path, entry("exit", code)) as server:
        with pytest.raises(ToolServerError, match=f"exit code {code}; it said: cannot start: no such database"):
            await server.connect()
        answer = await server.call_tool("echo", {})
        assert answer["isError"] is True
        assert "the next attempt is made in" in text_of(answer)


async def test_a_program_that_hangs_at_its_start_is_given_up(tmp_path: Path) -> None:
    surroundings = around(tmp_path, timing=Timing(connect=0.5))
    async with server_for(tmp_path, entry("hang"), surroundings=surroundings) as server:
        with pytest.raises(ToolServerError, match=r"did not answer within 0\.5 seconds"):
            await server.connect()


async def test_a_slow_start_is_waited_for(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry("slow_start", "0.3")) as server:
        await server.connect()
        assert server.status == "connected"


async def test_words_before_the_first_message_do_not_matter(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry("noisy")) as server:
        assert text_of(await server.call_tool("garbage", {})) == "after the garbage"


async def test_an_unknown_protocol_version_is_refused(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry("old")) as server:
        with pytest.raises(ToolServerError, match="'1999-01-01'; we speak 2026-07-28, 2025-11-25"):
            await server.connect()


async def test_a_crash_in_a_call_is_a_result_and_the_next_call_starts_it_again(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        first = text_of(await server.call_tool("pid", {}))
        answer = await server.call_tool("crash", {})
        assert answer["isError"] is True
        assert "exit code 7; it said: going down" in text_of(answer)
        assert str(server.status) == "pending"
        assert server.tools, "the tools stay listed: the next call brings the server back"
        assert text_of(await server.call_tool("pid", {})) != first
        assert server.status == "connected"


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("garbage", "after the garbage"),
        ("progress_flood", "flooded"),
        ("stderr_flood", "still here"),
        ("strangers", "mine"),
        ("twice", "first"),
    ],
)
async def test_noise_and_floods_do_not_disturb_a_call(tmp_path: Path, tool: str, said: str) -> None:
    async with server_for(tmp_path, entry()) as server:
        assert text_of(await server.call_tool(tool, {})) == said
        assert text_of(await server.call_tool("echo", {"still": "there"})) == '{"still": "there"}'


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # 65 MB are read by the same code
async def test_an_answer_that_is_too_long_ends_the_connection_and_says_so(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        answer = await server.call_tool("big", {"size": 70_000_000})
        assert answer["isError"] is True
        assert "longer than 64 MB" in text_of(answer)
        assert text_of(await server.call_tool("echo", {})) == "{}"


async def test_an_answer_of_some_megabytes_passes(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        assert len(text_of(await server.call_tool("big", {"size": 3_000_000}))) == 3_000_000


async def test_a_call_that_takes_too_long_is_given_up_and_the_server_told(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry(toolTimeouts={"slow": 300})) as server:
        await server.connect()
        answer = await server.call_tool("slow", {})
        assert "no answer within 0.3 seconds" in text_of(answer)
        assert len(json.loads(text_of(await server.call_tool("cancelled", {})))) == 1


async def test_progress_without_end_does_not_keep_a_call_alive(tmp_path: Path) -> None:
    heard = []
    audience = Audience(progress=lambda *told: heard.append(told))
    async with server_for(tmp_path, entry(toolTimeouts={"progress_forever": 300}), audience=audience) as server:
        await server.connect()
        assert "was given up: no answer within 0.3 seconds" in text_of(await server.call_tool("progress_forever", {}))
        assert text_of(await server.call_tool("echo", {})) == "{}"
    assert heard


async def test_an_interrupted_call_is_withdrawn_and_its_late_answer_dropped(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        await server.connect()
        async with anyio.create_task_group() as group:
            group.start_soon(server.call_tool, "late", {})
            while text_of(await server.call_tool("waiting", {})) != "1":
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        assert len(json.loads(text_of(await server.call_tool("cancelled", {})))) == 1
        assert text_of(await server.call_tool("echo", {"a": 1})) == '{"a": 1}'


@pytest.mark.parametrize("anyio_backend", ["trio"])  # 64 MB are buffered by the same code
async def test_a_server_that_reads_nothing_is_bounded(tmp_path: Path) -> None:
    surroundings = around(tmp_path, timing=Timing(connect=1.0))
    async with server_for(tmp_path, entry("deaf"), surroundings=surroundings) as server:
        with pytest.raises(ToolServerError, match="did not answer"):
            await server.connect()


async def test_what_a_server_left_running_ends_with_it(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        own = int(text_of(await server.call_tool("pid", {})))
        child = int(text_of(await server.call_tool("setsid", {})))
        assert is_alive(own)
        assert is_alive(child)
    assert not is_alive(own)
    await eventually(lambda: not is_alive(child))


class Ear:
    """Hears a process."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.reasons: list[str] = []

    def heard(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    def ended(self, reason: str) -> None:
        self.reasons.append(reason)


async def test_a_writer_who_is_cancelled_in_a_line_does_not_tear_it(tmp_path: Path) -> None:
    wait = "while not os.path.exists('now'): time.sleep(0.02)"
    script = f"import os, sys, time\n{wait}\nfor line in sys.stdin: print(line, end='', flush=True)"
    ear = Ear()
    launch = ServerLaunch(sys.executable, ("-c", script), (("PATH", "/bin"),), str(tmp_path))
    process = StdioProcess(launch, ear, is_idle=lambda: False, idle_seconds=60)
    await process.start()
    try:
        with anyio.move_on_after(0.2) as scope:
            await process.write({"long": "x" * 1_000_000})
        assert scope.cancelled_caught, "a pipe holds far less"
        (tmp_path / "now").touch()
        await process.write({"short": "y"})
        await eventually(lambda: len(ear.messages) == 2)
    finally:
        await process.close()
    assert [list(message) for message in ear.messages] == [["long"], ["short"]]
    assert len(ear.messages[0]["long"]) == 1_000_000
    assert len(ear.reasons) == 1


async def test_an_idle_server_is_ended_and_comes_back(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry(), surroundings=around(tmp_path, idle_seconds=0.3)) as server:
        pid = int(text_of(await server.call_tool("pid", {})))
        await eventually(lambda: not is_alive(pid))
        await eventually(lambda: server.status == "pending")
        assert int(text_of(await server.call_tool("pid", {}))) != pid


async def test_structured_content_is_checked_against_the_tools_own_schema(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        assert (await server.call_tool("structured", {}))["structuredContent"] == {"sum": 3}
        answer = await server.call_tool("misfit", {})
        assert answer["isError"] is True
        assert "does not fit the tool's own output schema" in text_of(answer)


@pytest.mark.parametrize(("tool", "said"), [("refuse", "I would rather not"), ("nothing", "has no content")])
async def test_refusals_and_empty_answers_are_error_results(tmp_path: Path, tool: str, said: str) -> None:
    async with server_for(tmp_path, entry()) as server:
        answer = await server.call_tool(tool, {})
        assert answer["isError"] is True
        assert said in text_of(answer)


async def test_a_server_may_ask_for_roots_but_not_for_a_model(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        roots = json.loads(text_of(await server.call_tool("roots", {})))
        assert roots["result"]["roots"][0]["uri"] == f"file://{tmp_path}"
        sampling, made_up, ping = json.loads(text_of(await server.call_tool("sample", {})))
        assert (sampling["error"]["code"], made_up["error"]["code"], ping["result"]) == (-32601, -32601, {})


async def test_a_question_to_a_person_is_declined_when_nobody_answers(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        assert json.loads(text_of(await server.call_tool("ask", {})))["result"] == {"action": "decline"}


async def test_a_question_to_a_person_is_answered_as_its_schema_wants(tmp_path: Path) -> None:
    asked = []

    async def elicit(server_name: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append((server_name, params["message"]))
        return {"action": "accept", "content": {"name": "Ada"}}

    surroundings = around(tmp_path, answering=Answering(elicit=elicit))
    async with server_for(tmp_path, entry(), surroundings=surroundings) as server:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        answer = json.loads(text_of(await server.call_tool("ask", {"requestedSchema": schema})))
        assert answer["result"] == {"action": "accept", "content": {"name": "Ada"}}
        schema = {"type": "object", "required": ["age"]}
        assert "error" in json.loads(text_of(await server.call_tool("ask", {"requestedSchema": schema})))
    assert asked[0] == ("test", "Your name?")


async def test_progress_logging_and_new_tools_are_heard(tmp_path: Path) -> None:
    lines: list[str] = []
    steps: list[tuple[str, str, dict[str, Any]]] = []
    audience = Audience(progress=lambda *step: steps.append(step), tell=lines.append)
    async with server_for(tmp_path, entry(), audience=audience) as server:
        await server.call_tool("log", {})
        assert any("[warning] it is late" in line for line in lines)
        await server.call_tool("progress_flood", {}, tool_use_id="toolu_1")
        assert len(steps) == 3000
        assert steps[0][:2] == ("toolu_1", "progress_flood")
        await server.call_tool("grow", {})
        await eventually(lambda: any(tool.name == "grown_0" for tool in server.tools))


async def test_the_order_of_many_calls_at_once_does_not_matter(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        answers: dict[int, str] = {}

        async def call(number: int) -> None:
            answers[number] = text_of(await server.call_tool("echo", {"n": number}))

        with anyio.fail_after(TIMEOUT):
            async with anyio.create_task_group() as group:
                for number in range(100):
                    group.start_soon(call, number)
        assert answers == {number: json.dumps({"n": number}) for number in range(100)}


async def test_closing_while_connecting_leaves_no_process(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    script = f"import os,time; open({str(marker)!r}, 'w').write(str(os.getpid())); time.sleep(300)"
    async with server_for(tmp_path, {"command": sys.executable, "args": ["-c", script]}) as server:
        server.start()
        await eventually(lambda: marker.exists() and bool(marker.read_text()))
    assert not is_alive(int(marker.read_text()))


KILLED = """
import sys
import anyio
from toolwright.mcp.client.configs import parse_config
from toolwright.mcp.client.connections import ServerContext, external_server

async def main():
    around = ServerContext(sys.argv[1], {}, lambda: {}, lambda: ())
    server = external_server(parse_config("deaf", {"command": sys.executable, "args": ["-c", sys.argv[3]]}), around)
    server.start()
    await anyio.sleep_forever()

anyio.run(main, backend=sys.argv[2])
"""
DEAF = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open({path!r}, "w").write(f"{{os.getpid()}} {{child.pid}}\\n")
time.sleep(600)
"""


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.skipif(sys.platform != "linux", reason="the mark by which processes are found is Linux's")
async def test_a_server_that_does_not_care_ends_when_the_runtime_is_killed(tmp_path: Path, anyio_backend_name: str) -> None:
    noted = tmp_path / "pids"
    program = [sys.executable, "-c", KILLED, str(tmp_path), anyio_backend_name, DEAF.format(path=str(noted))]
    with subprocess.Popen(program) as process:
        try:
            await eventually(lambda: noted.exists() and noted.read_text().endswith("\n"))
        finally:
            process.kill()
    pids = [int(pid) for pid in noted.read_text().split()]
    await eventually(lambda: not any(is_alive(pid) for pid in pids))


async def test_a_server_may_not_ask_a_person_without_end(tmp_path: Path) -> None:
    asked = []

    async def elicit(server_name: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "cancel"}

    questions = Questions("test", Answering(elicit=elicit))
    for _ in range(MAX_QUESTIONS):
        assert await questions.answer("elicitation/create", {"message": "Again?"}) == {"action": "cancel"}
    with pytest.raises(RefusedRequest, match="may not ask again"):
        await questions.answer("elicitation/create", {"message": "Again?"})
    assert len(asked) == MAX_QUESTIONS


async def test_a_url_is_given_to_the_person_and_never_opened_by_us() -> None:
    asked = []

    async def elicit(server_name: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params["url"])
        return {"action": "accept", "content": {"made": "up"}}

    questions = Questions("test", Answering(elicit=elicit))
    params = {"mode": "url", "message": "Log in", "url": "javascript:alert(1)", "elicitationId": "1"}
    assert await questions.answer("elicitation/create", params) == {"action": "accept"}
    assert asked == ["javascript:alert(1)"]


async def test_any_other_request_can_be_made(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry()) as server:
        assert "tools" in await server.request("tools/list", {})
    async with server_for(tmp_path, entry("exit", "1")) as server:
        with pytest.raises(ToolServerError, match="no such database"):
            await server.request("resources/list", {})
