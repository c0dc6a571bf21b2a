"""What toolwright has promised itself, each judged from the numbers of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Numbers = Mapping[str, Mapping[str, Any]]
LAST_MARK = "1000"


@dataclass(frozen=True, slots=True)
class Verdict:
    goal: str
    measured: str
    met: bool | None
    """None: this run did not measure it."""

    def line(self) -> str:
        mark = {True: "ok  ", False: "MISS", None: "-   "}[self.met]
        return f"{mark}  {self.goal:<66}  {self.measured}"


Reader = Callable[[Numbers], tuple[str, bool]]


def verdicts(numbers: Numbers) -> Iterator[Verdict]:
    for goal, read in GOALS.items():
        try:
            measured, met = read(numbers)
        except (KeyError, ZeroDivisionError):
            yield Verdict(goal, "not measured in this run", None)
        else:
            yield Verdict(goal, measured, met)


def most(key: str, limit: float, *, unit: str, scale: float = 1) -> Reader:
    def read(numbers: Numbers) -> tuple[str, bool]:
        value = numbers["toolwright"][key] * scale
        return f"{value:.3g} {unit}", value <= limit

    return read


def times_better(key: str, peer: str, least: float) -> Reader:
    """The peer needs at least so many times as much."""

    def read(numbers: Numbers) -> tuple[str, bool]:
        ratio = numbers[peer][key] / numbers["toolwright"][key]
        return f"{ratio:.3g} × ({numbers[peer][key]:.3g} / {numbers['toolwright'][key]:.3g})", ratio >= least

    return read


def times_floor(key: str, limit: float) -> Reader:
    def read(numbers: Numbers) -> tuple[str, bool]:
        ratio = numbers["toolwright"][key] / numbers["floor"][key]
        return f"{ratio:.2f} × ({numbers['toolwright'][key]:.3g} / {numbers['floor'][key]:.3g})", ratio <= limit

    return read


def throughput(numbers: Numbers) -> tuple[str, bool]:
    ours, floor = numbers["toolwright"]["crowd_per_cpu_s"], numbers.get("floor", {}).get("crowd_per_cpu_s")
    beside = f" (floor {floor:.0f}: {ours / floor:.0%} of it)" if floor else ""
    return f"{ours:.0f} per CPU-s{beside}", ours >= 350


def thousand(numbers: Numbers) -> tuple[str, bool]:
    ours = numbers["toolwright"]
    right, calls = ours["thousand_right"], ours["thousand_calls"]
    spent = f"{ours['thousand_wall_s']:.1f} s wall, {ours['thousand_cpu_s']:.1f} CPU-s, peak {ours['thousand_peak_mb']:.0f} MB"
    return f"{right:.0f} right, {calls:.0f} tool calls; {spent}", right == 1000 and calls == 5000


def cheaper_than_afresh(numbers: Numbers) -> tuple[str, bool]:
    """Joining old bytes must cost less than encoding them again: less than msgspec takes, a tenth of what json takes."""
    at = numbers["encoding"]["encoding"][LAST_MARK]
    text = f"{at['joined']:.0f} µs; encoded afresh: msgspec {at['msgspec']:.0f}, json {at['json']:.0f} µs ({at['kb']:.0f} KB)"
    return text, at["joined"] < at["msgspec"] and at["joined"] * 10 < at["json"]


def growth(numbers: Numbers) -> tuple[str, bool]:
    """What a KB of history adds to a turn, beside what it adds to the floor's, which encodes and sends it too."""
    ours, floor = (_per_kilobyte(numbers[key]) for key in ("toolwright", "floor"))
    return f"{ours:.2f} µs per KB (floor {floor:.2f})", ours <= floor


def _per_kilobyte(numbers: Mapping[str, Any]) -> float:
    cpu, size = numbers["growth"], numbers["growth_bytes"]
    return float((cpu[LAST_MARK] - cpu["10"]) * 1e3 / ((size[LAST_MARK] - size["10"]) / 1024))


GOALS: dict[str, Reader] = {
    "CPU per tool turn at most 2 × the floor": times_floor("turn_cpu_ms", 2),
    "CPU per tool turn at least 15 × less than claude-agent-sdk": times_better("turn_cpu_ms", "sdk", 15),
    "at most 20 KB per live idle session": most("idle_kb", 20, unit="KB"),
    "warm start to first result at least 100 × faster than the SDK": times_better("start_warm_ms", "sdk", 100),
    "import at most 0.2 CPU-s": most("import_cpu_s", 0.2, unit="CPU-s"),
    "import at most 40 MB": most("import_mb", 40, unit="MB"),
    "at least 350 tool turns per CPU-second with 100 live sessions": throughput,
    "default request at most 13 KB": most("request_bytes", 13, unit="KB", scale=1 / 1024),
    "1,000 concurrent sessions of 5 tool turns complete in one process": thousand,
    "next request body at 1,000 turns cheaper than encoding it afresh": cheaper_than_afresh,
    "a turn grows with its history no faster than the floor's, per KB": growth,
}
