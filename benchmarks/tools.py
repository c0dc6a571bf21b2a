"""What the tools cost beside the same work by hand: `python benchmarks/tools.py [--quick] [--huge] [--json FILE]`.

Each call goes through all that a model's call goes through (input checked, hooks, permission, run, result), in a session of its
own. Floor and tool take turns, so that what slows the machine down meets both; ratios are those of the medians. Goals are
judged by the clock. Beside that stands the ratio of CPU time, children included, which a busy machine disturbs far less.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import count, cycle
from pathlib import Path
from typing import Any

import anyio
import tool_floors as floors
import tool_samples as samples
from report import aligned

from toolwright import ClaudeAgentOptions, create_sdk_mcp_server, tool
from toolwright.models.scripted import ScriptedModel
from toolwright.processes.ripgrep import ripgrep_path
from toolwright.runtime.assemble import open_session
from toolwright.runtime.tool_calls import Outcome, ToolCall, ToolRunner
from toolwright.tools import glob, grep
from toolwright.tools.registry import builtin_tools

RIPGREP = ("--no-config", "--color=never", "--no-ignore-global", "--no-ignore-messages")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: seconds of floor and tool, and what was promised."""

    name: str
    floor: float
    ours: float
    goal: str
    met: bool
    note: str = ""
    cpu: float | None = None
    """How many times the floor's CPU time the tool took, both with their children."""

    def cells(self) -> list[str]:
        ratio = f"{self.ours / self.floor:.2f} ×" if self.floor > 1e-5 else "-"
        times = [f"{seconds * 1e3:.2f}" if seconds else "-" for seconds in (self.floor, self.ours)]
        cpu = "-" if self.cpu is None else f"{self.cpu:.2f} ×"
        return [self.name, *times, ratio, cpu, self.goal, "ok" if self.met else "MISS", self.note]


class Pipeline:
    """Calls tools the way a session calls them for its model."""

    def __init__(self, runner: ToolRunner) -> None:
        self._runner = runner
        self._calls = 0

    async def __call__(self, name: str, **fields: Any) -> Any:
        """The structured result of a call that must succeed."""
        outcomes: list[Outcome] = []

        async def deliver(_: ToolCall, outcome: Outcome) -> None:
            outcomes.append(outcome)

        self._calls += 1
        await self._runner.run([ToolCall(f"toolu_{self._calls}", name, fields)], deliver)
        (outcome,) = outcomes
        if outcome.output.is_error:
            raise SystemExit(f"{name} failed: {outcome.output.text}")
        return outcome.output.structured


@asynccontextmanager
async def pipeline(folder: Path, **more: Any) -> AsyncIterator[Pipeline]:
    @tool("add", "Add two whole numbers.", {"a": int, "b": int})
    async def add(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await floors.add(arguments["a"], arguments["b"])}]}

    options = ClaudeAgentOptions(
        model=ScriptedModel([]),  # type: ignore[arg-type]  # any model object is taken
        cwd=folder,
        env={"CLAUDE_CONFIG_DIR": str(folder / ".state")},
        permission_mode="acceptEdits",
        allowed_tools=["Bash(true)", "mcp__bench__add"],
        mcp_servers={"bench": create_sdk_mcp_server("bench", tools=[add])},
        **more,
    )
    session = open_session(options)
    await session.start()
    try:
        yield Pipeline(session.started.conversation.runner)
    finally:
        await session.close()


Bare = Callable[[], Any]
Call = Callable[[], Awaitable[Any]]


def cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Samples:
    """Wall and CPU seconds of one side; the first sample does not count."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float]] = []

    @contextmanager
    def one(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), cpu_seconds()
        yield
        self._taken.append((time.perf_counter() - wall, cpu_seconds() - cpu))

    @property
    def wall(self) -> float:
        return statistics.median(wall for wall, _ in self._taken[1:])

    @property
    def cpu(self) -> float:
        return statistics.median(cpu for _, cpu in self._taken[1:])


async def both(bare: Bare, call: Call, repeats: int) -> tuple[Samples, Samples]:
    """Both in turns."""
    floor, ours = Samples(), Samples()
    for _ in range(repeats + 1):
        with floor.one():
            bare()
        with ours.one():
            await call()
    return floor, ours


async def times(name: str, most: float, bare: Bare, call: Call, *, repeats: int, plus: float = 0.0, note: str = "") -> Row:
    floor, ours = await both(bare, call, repeats)
    goal = f"≤ {most:g} ×" + (f" + {plus * 1e3:g} ms" if plus else "")
    met = ours.wall <= most * floor.wall + plus
    return Row(name, floor.wall, ours.wall, goal, met, note, ours.cpu / floor.cpu if floor.cpu else None)


@contextmanager
def peak_memory() -> Iterator[Callable[[], float]]:
    """By how much the memory of this process grew at most meanwhile, in MB."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest mark so far
    before = memory("VmHWM")
    yield lambda: max(0.0, memory("VmHWM") - before)


def memory(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


# the table


async def read_row(folder: Path, repeats: int) -> Row:
    files = [samples.numbered_file(folder / f"numbered{number}.txt", f"number {number}") for number in range(8)]
    bare, pages = cycle(files), cycle((file, limit) for limit in (samples.LINES, samples.LINES - 1) for file in files)
    async with pipeline(folder) as call:

        async def ours() -> None:
            file, limit = next(pages)  # never the page that was shown last: it would not be shown again
            await call("Read", file_path=str(file), limit=limit)

        return await times("Read, 2,000 lines", 3, lambda: floors.read_and_number(next(bare)), ours, repeats=repeats)


async def edit_rows(folder: Path, repeats: int) -> list[Row]:
    """Beside a floor that syncs the file, and one that syncs the folder too, as the tool does. Simple before fast."""
    return [
        await edit_row(folder, "Edit of 2,000 lines, durable", 5, floors.replace_durably, repeats=repeats),
        await edit_row(folder, "  beside one that syncs the folder", 5, floors.replace_and_sync_folder, repeats=repeats),
    ]


async def edit_row(folder: Path, name: str, most: float, floor: Callable[[Path, str, str], None], *, repeats: int) -> Row:
    bare_file, file = samples.numbered_file(folder / "bare.txt"), samples.numbered_file(folder / "edited.txt")
    bare_words, words = successive("line 1000 of"), successive("line 1000 of")

    def bare() -> None:
        floor(bare_file, *next(bare_words))

    async with pipeline(folder) as call:

        async def ours() -> None:
            old, new = next(words)
            await call("Edit", file_path=str(file), old_string=old, new_string=new)

        await call("Read", file_path=str(file))
        return await times(name, most, bare, ours, repeats=repeats)


def successive(text: str) -> Iterator[tuple[str, str]]:
    """What to replace by what, so that a file never again has a content it had before."""
    for number in count():
        new = f"line 1000, version {number} of"
        yield text, new
        text = new


async def grep_rows(tree: Path, files: int, repeats: int) -> list[Row]:
    searches: dict[str, dict[str, Any]] = {
        "a rare word": {"pattern": "rare needle"},
        "no match": {"pattern": "nowhere to be found"},
        "a common word, counted": {"pattern": "import", "output_mode": "count"},
        "a common word, 50 lines": {"pattern": "import", "output_mode": "content", "head_limit": 50},
    }
    async with pipeline(tree) as call:
        return [
            await grep_row(f"Grep, {files:,} files: {name}", tree, call, repeats=repeats, fields=fields)
            for name, fields in searches.items()
        ]


async def grep_row(name: str, tree: Path, call: Pipeline, *, repeats: int, fields: dict[str, Any]) -> Row:
    argv = [ripgrep_path(), *RIPGREP, *grep.arguments(GREP.parse(fields)), "--", "./"]
    return await times(name, 1.3, lambda: floors.run(argv, tree), lambda: call("Grep", **fields), repeats=repeats, plus=0.003)


GREP = next(tool for tool in builtin_tools() if tool.name == "Grep")


async def glob_row(tree: Path, files: int, repeats: int, *, rules: tuple[str, ...] = ()) -> Row:
    argv = [ripgrep_path(), *RIPGREP, "--files", "--hidden", "--no-ignore", "--null", "--glob", "**/*.txt", "./"]

    def bare() -> Any:
        return floors.newest_files(argv, tree, glob.MAX_FILES)

    async with pipeline(tree, disallowed_tools=list(rules)) as call:
        with peak_memory() as peak:
            found = await call("Glob", pattern="**/*.txt")
            note = f"{peak():.1f} MB at most"
        if found["totalMatches"] != files - len(rules) * files // 1000:
            raise SystemExit(f"Glob counted {found['totalMatches']} of {files} files.")
        name = f"Glob, newest 100 of {files:,} files" + (", a deny rule" if rules else "")
        most = 2 if rules else 1.5
        return await times(name, most, bare, lambda: call("Glob", pattern="**/*.txt"), repeats=repeats, note=note)


async def bash_row(folder: Path, repeats: int) -> Row:
    async with pipeline(folder) as call:
        return await times(
            "Bash, true", 2, lambda: floors.run(floors.SHELL, folder), lambda: call("Bash", command="true"), repeats=repeats
        )


async def function_row(folder: Path, repeats: int) -> Row:
    async with pipeline(folder) as call:
        taken: tuple[list[float], list[float]] = ([], [])
        for _ in range(repeats):
            started = time.perf_counter()
            await floors.add(19, 23)
            middle = time.perf_counter()
            await call("mcp__bench__add", a=19, b=23)
            taken[1].append(time.perf_counter() - middle)
            taken[0].append(middle - started)
        bare, ours = map(statistics.median, taken)
        return Row("an in-process @tool", bare, ours, "≤ 0.5 ms over", ours - bare <= 0.0005)


# growth


async def sparse_row(folder: Path, repeats: int) -> Row:
    file = samples.sparse_file(folder / "sparse.log")
    offset = samples.LINES + samples.TAIL_LINES - 100
    async with pipeline(folder) as call:
        first, last = [], []
        for number in range(repeats):
            for taken, at in ((first, 1), (last, offset)):
                started = time.perf_counter()
                await call("Read", file_path=str(file), offset=at + number % 2, limit=50)
                taken.append(time.perf_counter() - started)
        with peak_memory() as peak:
            await call("Read", file_path=str(file), offset=offset + 5, limit=50)
            most = peak()
    begin, end = statistics.median(first), statistics.median(last)
    name = "Read at the end of a sparse 5 GB file, beside its beginning"
    return Row(name, begin, end, "≤ 10 ×, ≤ 16 MB", end <= 10 * begin and most <= 16, f"{most:.1f} MB at most")


async def huge_grep_row(tree: Path, files: int, repeats: int) -> Row:
    fields = {"pattern": "needle", "head_limit": 10}
    async with pipeline(tree) as call:
        with peak_memory() as peak:
            await call("Grep", **fields)
            most = peak()
        row = await grep_row(f"Grep, head_limit 10 in {files:,} files", tree, call, repeats=repeats, fields=fields)
    return replace(row, goal=f"{row.goal}, ≤ 8 MB", met=row.met and most <= 8, note=f"{most:.1f} MB at most")


# the command


async def measure(folder: Path, options: argparse.Namespace) -> AsyncIterator[Row]:
    few, some, many = (5, 15, 100) if options.quick else (15, 40, 500)
    work = folder / "work"
    work.mkdir()
    yield await read_row(work, many)
    for row in await edit_rows(work, some):
        yield row
    files = 2_000 if options.quick else 6_500
    tree = samples.source_tree(folder / "sources", files)
    for row in await grep_rows(tree, files, some):
        yield row
    large = samples.flat_tree(folder / "large", 100_000)
    yield await glob_row(large, 100_000, few)
    yield await glob_row(large, 100_000, few, rules=("Read(**/file7.txt)",))
    yield await bash_row(work, some)
    yield await function_row(work, many)
    yield await sparse_row(work, some)
    yield await huge_grep_row(large, 100_000, few)
    if options.huge:
        shutil.rmtree(large)
        yield await glob_row(samples.flat_tree(folder / "huge", 1_000_000), 1_000_000, 3)


async def run(options: argparse.Namespace) -> list[Row]:
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    rows = []
    try:
        async for row in measure(folder, options):
            print(f"{row.name} …", file=sys.stderr, flush=True)
            rows.append(row)
    finally:
        shutil.rmtree(folder)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/tools.py", description="Measure the tools beside the same work by hand.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, a smaller tree: under a minute")
    parser.add_argument("--huge", action="store_true", help="also a tree of a million files (minutes, and a million inodes)")
    parser.add_argument("--folder", help="where the files are made; in memory, syncing is free and Edit's floor means nothing")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file too")
    options = parser.parse_args()
    started = time.monotonic()
    rows = anyio.run(run, options)
    heads = ["", "floor ms", "tool ms", "ratio", "CPU ratio", "goal", "", ""]
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"medians; {time.monotonic() - started:.0f} s; load at the end {load}, {os.cpu_count()} cores\n")
    print(aligned([heads, *(row.cells() for row in rows)]))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
