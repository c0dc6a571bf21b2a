"""What tool search saves, and how well it finds: `python benchmarks/tool_search.py`.

The tools are those of published MCP servers (data/published_tools.json), the questions are labelled with the tools that answer
them (data/tool_queries.json). For the cost of a thousand tools the servers are there several times, under other names.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from toolwright.mcp.author.server import InProcessServer
from toolwright.mcp.session.tool_adapter import ServedToolAdapter, adapt_tools
from toolwright.mcp.session.tool_search import CHARACTERS_PER_TOKEN, Policy, WaitingTools, entry_of, size_of
from toolwright.mcp.tool_server import ServedTool
from toolwright.tools.tool_index import ToolIndex

DATA = Path(__file__).parent / "data"
WINDOW = 200_000
AMONG = 5
MAX_COST = 0.05
LEAST_FOUND = 0.95


@dataclass(frozen=True)
class Found:
    """How a labelled set was answered."""

    queries: int
    first: int
    among_five: int
    missed: list[str] = field(default_factory=list)
    median_microseconds: float = 0.0


def published() -> dict[str, list[ServedTool]]:
    """The published tools by server. A schema is made as large as the real one."""
    servers = json.loads((DATA / "published_tools.json").read_text(encoding="utf-8"))["servers"]
    return {name: [_served(*row) for row in server["tools"]] for name, server in servers.items()}


def _served(name: str, description: str, parameters: list[str], characters: int) -> ServedTool:
    properties: dict[str, Any] = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties}
    missing = characters - len(name) - len(description) - len(json.dumps(schema, separators=(",", ":")))
    return ServedTool(name, description, {**schema, "$comment": "x" * max(missing - 14, 0)})


def adapted(servers: dict[str, list[ServedTool]]) -> list[ServedToolAdapter]:
    return [tool for name, tools in servers.items() for tool in adapt_tools(name, InProcessServer(name, tools=()), tools)]


def cost(count: int) -> tuple[int, int]:
    """Tokens of `count` tools when all are sent, and when they wait: the tool that finds them, with its list."""
    once, copy = published(), 0
    tools: list[ServedToolAdapter] = []
    while len(tools) < count:
        copy += 1
        tools += adapted({f"{name}{copy if copy > 1 else ''}": listed for name, listed in once.items()})
    tools = tools[:count]
    waiting = WaitingTools(Policy(0.0), WINDOW)
    first, loaded = waiting.sorted_out(tools)
    assert not first
    assert not loaded
    return sum(map(size_of, tools)) // CHARACTERS_PER_TOKEN, size_of(waiting.tool) // CHARACTERS_PER_TOKEN


def quality() -> Found:
    tools = adapted(published())
    index = ToolIndex(map(entry_of, tools))
    of_tool = {tool.name: f"{tool.server_name}.{tool.tool.name}" for tool in tools}
    queries = json.loads((DATA / "tool_queries.json").read_text(encoding="utf-8"))
    first, among, missed, times = 0, 0, [], []
    for row in queries:
        started = time.perf_counter()
        found = [of_tool[name] for name in index.search(row["query"], AMONG)]
        times.append((time.perf_counter() - started) * 1e6)
        first += bool(found) and found[0] in row["tools"]
        if any(name in row["tools"] for name in found):
            among += 1
        else:
            missed.append(f"{row['query']!r}: wanted {row['tools']}, found {found}")
    index.close()
    return Found(len(queries), first, among, missed, statistics.median(times))


async def loading() -> float:
    """Milliseconds of the first search over a thousand tools: the index is made for it."""
    tools = adapted({f"{name}{copy}": listed for copy in range(4) for name, listed in published().items()})[:1000]
    waiting = WaitingTools(Policy(0.0), WINDOW)
    waiting.sorted_out(tools)
    started = time.perf_counter()
    await waiting.find("create a pull request", AMONG)
    return (time.perf_counter() - started) * 1e3


def main() -> int:
    whole, waiting = cost(1000)
    found = quality()
    print(f"1,000 tools: {whole:,} tokens if all are sent, {waiting:,} if they wait ({100 * waiting / whole:.1f} %)")
    print(f"{found.queries} questions: right tool first {found.first}, among the first {AMONG} {found.among_five}", end="")
    print(f" ({100 * found.among_five / found.queries:.1f} %), {found.median_microseconds:.0f} µs each")
    for line in found.missed:
        print(f"  missed {line}")
    print(f"first search over 1,000 tools: {anyio.run(loading):.0f} ms")
    return 0 if waiting <= MAX_COST * whole and found.among_five >= LEAST_FOUND * found.queries else 1


if __name__ == "__main__":
    sys.exit(main())
