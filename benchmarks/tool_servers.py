"""What tool servers cost: `python benchmarks/tool_servers.py [--quick] [--json FILE]`; needs the `mcp` package.

Three promises: a tool in this process costs at most 0.5 ms a call; a call over stdio at most 1.5 times that of the bare `mcp`
client on the same server; connecting twenty servers takes as long as the slowest of them, not as long as all together: no
longer than somebody takes who starts them with `Popen` and writes the handshakes by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from toolwright.mcp.author.server import InProcessServer
from toolwright.mcp.client.configs import parse_config
from toolwright.mcp.client.connections import ServerContext, external_server
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.client.stdio import environment_for

SERVER = """
import json, sys, time
time.sleep(float(sys.argv[1]))
for line in sys.stdin.buffer:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            version, info = message["params"]["protocolVersion"], {"name": "bench", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": json.dumps(message["params"]["arguments"])}], "isError": False}
        case _:
            continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
SERVERS, DELAY = 20, 2.0
ARGUMENTS = {"text": "hello", "numbers": [1, 2, 3]}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def median_seconds(call: Callable[[], Awaitable[Any]], times: int) -> float:
    samples = []
    for _ in range(times):
        begun = time.perf_counter()
        await call()
        samples.append(time.perf_counter() - begun)
    return statistics.median(samples)


def server(folder: str, which: int = 0, delay: float = 0.0) -> ExternalServer:
    entry = {"command": sys.executable, "args": [f"{folder}/server.py", str(delay)], "env": {"WHICH": str(which)}}
    return external_server(parse_config(f"s{which}", entry), ServerContext(folder, {}, lambda: os.environ, lambda: (folder,)))


async def in_process(times: int) -> float:
    tools = InProcessServer("calc", tools=[add])

    async def add_async(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}

    tools.registered("add").update(handler=add_async)
    return await median_seconds(lambda: tools.call_tool("add", {"a": 1, "b": 2}), times)


async def our_stdio(folder: str, times: int) -> float:
    ours = server(folder)
    await ours.connect()
    try:
        return await median_seconds(lambda: ours.call_tool("echo", ARGUMENTS), times)
    finally:
        await ours.aclose()


async def bare_client(folder: str, times: int) -> float:
    from mcp.client.stdio import stdio_client

    from mcp import ClientSession, StdioServerParameters

    parameters = StdioServerParameters(command=sys.executable, args=[f"{folder}/server.py", "0"])
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        return await median_seconds(lambda: session.call_tool("echo", ARGUMENTS), times)


async def connecting(folder: str, count: int) -> float:
    """Seconds until all are connected; each waits `DELAY` seconds before it answers, beside the work of starting it."""
    servers = [server(folder, which, DELAY) for which in range(count)]
    begun = time.perf_counter()
    async with anyio.create_task_group() as group:
        for each in servers:
            group.start_soon(each.connect)
    seconds = time.perf_counter() - begun
    async with anyio.create_task_group() as group:
        for each in servers:
            group.start_soon(each.aclose)
    return seconds


def by_hand(folder: str, count: int) -> float:
    """The same servers and the same messages, with nothing but `Popen` and pipes: what starting so many costs anybody."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}
    said: list[dict[str, Any]] = [{"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"}]
    said += [{"id": 2, "method": "tools/list"}]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in said).encode()
    command = [sys.executable, f"{folder}/server.py", str(DELAY)]
    own: dict[str, Any] = {"env": dict(environment_for({}, os.environ)), "start_new_session": True}  # as ours are started
    begun = time.perf_counter()
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **own) for _ in range(count)]
    for process in started:
        os.write(process.stdin.fileno(), lines)  # type: ignore[union-attr]  # it has a pipe
    for process in started:
        for _ in range(2):
            process.stdout.readline()  # type: ignore[union-attr]  # it has a pipe
    seconds = time.perf_counter() - begun
    for process in started:
        process.communicate()
    return seconds


async def connecting_rows(folder: str, rounds: int) -> dict[str, float]:
    """The least of some rounds, taken in turns: what else the machine does only adds."""
    one, ours, bare = [], [], []
    for _ in range(rounds):
        one.append(await connecting(folder, 1))
        bare.append(by_hand(folder, SERVERS))
        ours.append(await connecting(folder, SERVERS))
    return {
        "connecting 1 server, s": min(one),
        f"connecting {SERVERS} servers, s": min(ours),
        f"the same {SERVERS} by hand with Popen, s": min(bare),
        f"connecting {SERVERS} servers, times by hand": min(ours) / min(bare),
    }


async def measure(times: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "server.py").write_text(SERVER)
        found = {
            "in-process call, ms": await in_process(times) * 1e3,
            "stdio call, ms": await our_stdio(folder, times) * 1e3,
            "stdio call with the bare mcp client, ms": await bare_client(folder, times) * 1e3,
        }
        found |= await connecting_rows(folder, rounds)
    ratio = found["stdio call, ms"] / found["stdio call with the bare mcp client, ms"]
    return found | {"stdio call, times the bare client": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    found = anyio.run(measure, *((200, 2) if arguments.quick else (2000, 5)))
    for name, value in found.items():
        print(f"{name:42} {value:8.3f}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
