"""One process for all who name the same server: who shares, who does not, and that nobody hears what is another's."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_mcp import TIMEOUT, around, entry, eventually, is_alive, text_of
from toolwright.mcp.client.configs import parse_config
from toolwright.mcp.client.connections import ServerContext, external_server
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.client.server_events import Audience
from toolwright.mcp.client.server_requests import Answering

pytestmark = pytest.mark.anyio

MARK = "TOOLWRIGHT_TEST_MARK"


def made(
    folder: Path, *, surroundings: ServerContext | None = None, audience: Audience | None = None, **more: Any
) -> ExternalServer:
    return external_server(parse_config("test", entry(**more)), surroundings or around(folder), audience)


async def pid_of(server: ExternalServer) -> int:
    return int(text_of(await server.call_tool("pid", {})))


async def closed(*servers: ExternalServer) -> None:
    for server in servers:
        await server.aclose()


def processes_with(variable: str) -> set[int]:
    """All processes of this machine that were started with `NAME=value` in their environment."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
    return found


async def test_fifty_sessions_with_ten_servers_are_ten_processes(tmp_path: Path) -> None:
    servers = [[made(tmp_path, env={"WHICH": str(which), MARK: str(tmp_path)}) for which in range(10)] for _ in range(50)]
    pids: set[int] = set()

    async def use(session: list[ExternalServer]) -> None:
        for server in session:
            pids.add(await pid_of(server))

    with anyio.fail_after(4 * TIMEOUT):
        async with anyio.create_task_group() as group:
            for session in servers:
                group.start_soon(use, session)
    assert len(pids) == 10
    assert processes_with(f"{MARK}={tmp_path}") == pids, "there are no others that nobody talks to"
    for session in servers[1:]:
        await closed(*session)
    assert all(is_alive(pid) for pid in pids), "the last session still holds them"
    await closed(*servers[0])
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize("difference", [{"env": {"A": "1"}}, {"args": ["other"]}, {"cwd": "inner"}, {"shared": False}])
async def test_who_differs_in_anything_has_a_process_of_its_own(tmp_path: Path, difference: dict[str, Any]) -> None:
    (tmp_path / "inner").mkdir()
    config = entry() | difference
    if "args" in difference:
        config["args"] = [*entry()["args"], "other"]
    one, other = made(tmp_path), external_server(parse_config("test", config), around(tmp_path))
    try:
        assert await pid_of(one) != await pid_of(other)
    finally:
        await closed(one, other)


async def test_another_isolation_class_or_other_roots_do_not_share(tmp_path: Path) -> None:
    plain = around(tmp_path)
    others = (
        around(tmp_path, isolation="sandboxed"),
        ServerContext(plain.cwd, plain.env, plain.child_env, lambda: ("/elsewhere",)),
    )
    servers = [made(tmp_path), *(made(tmp_path, surroundings=other) for other in others)]
    try:
        assert len({await pid_of(server) for server in servers}) == 3
    finally:
        await closed(*servers)


async def test_two_sessions_and_a_thousand_calls_between_each_other(tmp_path: Path) -> None:
    one, other = made(tmp_path), made(tmp_path)
    wrong: list[str] = []

    async def calls(server: ExternalServer, name: str) -> None:
        for number in range(50):
            said = text_of(await server.call_tool("echo", {"who": name, "n": number}))
            if json.loads(said) != {"who": name, "n": number}:
                wrong.append(said)

    try:
        assert await pid_of(one) == await pid_of(other)
        with anyio.fail_after(4 * TIMEOUT):
            async with anyio.create_task_group() as group:
                for worker in range(10):
                    group.start_soon(calls, one, f"one-{worker}")
                    group.start_soon(calls, other, f"other-{worker}")
    finally:
        await closed(one, other)
    assert wrong == []


async def test_progress_reaches_only_the_caller(tmp_path: Path) -> None:
    heard: dict[str, list[str]] = {"one": [], "other": []}

    def listener(name: str) -> Audience:
        return Audience(progress=lambda call, tool, step: heard[name].append(call))

    one, other = (made(tmp_path, audience=listener(name)) for name in ("one", "other"))
    try:
        await other.connect()
        await one.call_tool("progress_flood", {}, tool_use_id="of one")
    finally:
        await closed(one, other)
    assert set(heard["one"]) == {"of one"}
    assert heard["other"] == []


async def test_the_log_of_a_call_is_not_told_to_another(tmp_path: Path) -> None:
    lines: list[str] = []
    one, other = made(tmp_path), made(tmp_path, audience=Audience(tell=lines.append))
    try:
        await other.connect()
        await one.call_tool("log", {})
        await other.call_tool("echo", {})
    finally:
        await closed(one, other)
    assert not any("it is late" in line for line in lines)


async def test_new_tools_are_heard_by_all(tmp_path: Path) -> None:
    one, other = made(tmp_path), made(tmp_path)
    try:
        await other.connect()
        await one.call_tool("grow", {})
        await eventually(lambda: all("grown_0" in [tool.name for tool in server.tools] for server in (one, other)))
    finally:
        await closed(one, other)


async def test_a_question_goes_to_the_one_whose_call_runs_and_to_nobody_when_that_is_unclear(tmp_path: Path) -> None:
    asked: list[str] = []

    def person(name: str) -> Answering:
        async def elicit(server_name: str, params: dict[str, Any]) -> dict[str, Any]:
            asked.append(name)
            return {"action": "accept", "content": {}}

        return Answering(elicit=elicit)

    one, other = (made(tmp_path, surroundings=around(tmp_path, answering=person(name))) for name in ("one", "other"))
    try:
        assert await pid_of(one) == await pid_of(other)
        await one.call_tool("ask", {})
        assert asked == ["one"]
        async with anyio.create_task_group() as group:
            group.start_soon(other.call_tool, "slow", {})
            while text_of(await other.call_tool("waiting", {})) != "1":
                await anyio.sleep(0.01)
            answer = json.loads(text_of(await one.call_tool("ask", {})))
            group.cancel_scope.cancel()
        assert "shared=false" in answer["error"]["message"]
        assert asked == ["one"]
    finally:
        await closed(one, other)


async def test_the_first_user_may_leave_in_the_middle_of_the_handshake(tmp_path: Path) -> None:
    first = external_server(parse_config("test", entry("slow_start", "0.5")), around(tmp_path))
    second = external_server(parse_config("test", entry("slow_start", "0.5")), around(tmp_path))
    first.start()
    await eventually(lambda: first.status == "pending")
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(second.connect)
            await anyio.wait_all_tasks_blocked()
            await first.aclose()
        assert second.status == "connected"
    finally:
        await closed(first, second)


async def test_a_crash_is_felt_by_all_and_all_come_back_to_one_process(tmp_path: Path) -> None:
    one, other = made(tmp_path), made(tmp_path)
    try:
        before = await pid_of(one)
        assert await pid_of(other) == before
        await one.call_tool("crash", {})
        await eventually(lambda: other.status == "pending")
        after = await pid_of(one)
        assert after != before
        assert await pid_of(other) == after
    finally:
        await closed(one, other)
