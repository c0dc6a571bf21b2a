"""The numbers as text: the table, toolwright's own rows, the goals."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from goals import Numbers, verdicts
from plan import CONTENDERS

COLUMNS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "import\nCPU s": lambda n: f"{n['import_cpu_s']:.3f}",
    "import\nRSS MB": lambda n: f"{n['import_mb']:.1f}",
    "cold\nstart ms": lambda n: f"{n['start_cold_ms']:.0f}",
    "warm\nstart ms": lambda n: f"{n['start_warm_ms']:.1f}",
    "tool turn\nCPU ms": lambda n: f"{n['turn_cpu_ms']:.2f}",
    "tool turn\nwall ms": lambda n: f"{n['turn_wall_ms']:.2f}",
    "idle session\nKB": lambda n: f"{n['idle_kb']:,.1f}",
    "turns/CPU-s\nat once": lambda n: f"{n['crowd_per_cpu_s']:.0f} ({n['crowd_sessions']:.0f})",
    "request\nbytes": lambda n: f"{n['request_bytes']:,.0f}",
}


def report(numbers: Numbers, keys: Sequence[str], *, rounds: int, seconds: float) -> str:
    where = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    parts = [
        f"{where}; {rounds} round{'s' * (rounds > 1)} in {seconds:.0f} s; load at the end {load}",
        table(numbers, keys),
        growth_rows(numbers),
        encoding_rows(numbers),
        goal_rows(numbers),
    ]
    return "\n\n".join(part for part in parts if part)


def table(numbers: Numbers, keys: Sequence[str]) -> str:
    rows = [["bare interpreter", *cells(numbers.get("bare", {}))]]
    rows += [[CONTENDERS[key].name, *cells(numbers.get(key, {}))] for key in keys]
    rows += [ratios(numbers, key) for key in keys if key not in ("toolwright", "only-tool") and "toolwright" in numbers]
    heads = [["", *(head.split("\n")[line] for head in COLUMNS)] for line in (0, 1)]
    return aligned([*heads, *rows])


def cells(numbers: Mapping[str, Any]) -> list[str]:
    return [_cell(show, numbers) for show in COLUMNS.values()]


def _cell(show: Callable[[Mapping[str, Any]], str], numbers: Mapping[str, Any]) -> str:
    try:
        return show(numbers)
    except KeyError:
        return "-"


RATIO_KEYS = (
    "import_cpu_s",
    "import_mb",
    "start_cold_ms",
    "start_warm_ms",
    "turn_cpu_ms",
    "turn_wall_ms",
    "idle_kb",
    "crowd_per_cpu_s",
    "request_bytes",
)


def ratios(numbers: Numbers, peer: str) -> list[str]:
    """How many times toolwright's number the peer's is."""
    ours, theirs = numbers["toolwright"], numbers.get(peer, {})
    short = CONTENDERS[peer].name.partition(" ")[0]
    return [
        f"{short} ÷ toolwright",
        *(f"{theirs[key] / ours[key]:.3g}×" if key in theirs and ours.get(key) else "-" for key in RATIO_KEYS),
    ]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_row(row, widths) for row in rows)


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()


def growth_rows(numbers: Numbers) -> str:
    rows = [row for key in ("floor", "toolwright") for row in _growth(key, numbers.get(key, {}))]
    return aligned([["one growing conversation", "turn", "KB sent", "CPU ms"], *rows]) if rows else ""


def _growth(key: str, numbers: Mapping[str, Any]) -> Iterable[list[str]]:
    sizes = numbers.get("growth_bytes", {})
    for mark, cpu in numbers.get("growth", {}).items():
        yield [CONTENDERS[key].name, f"{int(mark):,}", f"{sizes.get(mark, 0) / 1024:.1f}", f"{cpu:.2f}"]


def encoding_rows(numbers: Numbers) -> str:
    measured = numbers.get("encoding", {}).get("encoding", {})
    heads = ["making the next request body, µs", "turn", "KB", "toolwright", "msgspec afresh", "json afresh"]
    rows = [
        ["", f"{int(mark):,}", f"{at['kb']:.1f}", *(f"{at[name]:.0f}" for name in ("joined", "msgspec", "json"))]
        for mark, at in measured.items()
    ]
    return aligned([heads, *rows]) if rows else ""


def goal_rows(numbers: Numbers) -> str:
    return "\n".join(["goals", *(verdict.line() for verdict in verdicts(numbers))]) if "toolwright" in numbers else ""
