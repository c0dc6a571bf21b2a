"""One command, one table: toolwright beside the floor and its peers, all on the same scripted model server.

`python benchmarks/run.py` installs the peers, each into an environment of its own, and takes a quarter of an hour; `--quick`
measures the floor and toolwright alone in under a minute. See README.md beside this file for what each number means.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plan import CONTENDERS, FULL, PEERS, QUICK, Experiment
from report import report

from processes import SCRIPTS, Bench, Broken, bench, install, python_of

Numbers = dict[str, dict[str, Any]]
GROWTH_WARM_UP = 2
"""Requests before the first turn of the growing conversation."""


class Measured:
    """All numbers as they come in; `best` is what the report shows."""

    def __init__(self) -> None:
        self.taken: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self.broken: list[str] = []

    def add(self, key: str, numbers: dict[str, Any]) -> None:
        for name, value in numbers.items():
            self.taken[key][name].append(value)

    def best(self) -> Numbers:
        return {key: {name: best_of(name, values) for name, values in taken.items()} for key, taken in self.taken.items()}


def best_of(name: str, values: list[Any]) -> Any:
    """Of times the best round: other programs on the machine can only make them worse. Of everything else the median."""
    if isinstance(values[0], dict):
        return {inner: best_of(name, [value[inner] for value in values]) for inner in values[0]}
    if name.endswith(("_per_s", "_per_cpu_s")):
        return max(values)
    return min(values) if name.endswith(("_ms", "_s", "growth", "encoding")) else statistics.median(values)


def main() -> int:
    options = arguments()
    keys = chosen(options)
    measured = Measured()
    keys = [key for key in keys if _installed(key, measured)]
    rounds = options.rounds or (1 if options.quick else 5)
    began = time.monotonic()
    with bench() as at:
        warm_byte_code(at, keys, measured)
        for turn in range(rounds):
            for experiment in QUICK if options.quick else FULL:
                run_experiment(at, [key for key in keys if experiment.wants(key, turn)], experiment, measured)
            if "toolwright" in keys:
                measured.add("encoding", at.run(Path(sys.executable), [str(SCRIPTS / "encoding.py")]))
    numbers = measured.best()
    print(report(numbers, keys, rounds=rounds, seconds=time.monotonic() - began))
    for line in measured.broken:
        print(f"BROKEN  {line}")
    if options.json:
        Path(options.json).write_text(json.dumps(numbers, indent=1))
    return 1 if measured.broken else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description="Measure toolwright beside the floor and its peers.")
    parser.add_argument("--quick", action="store_true", help="only the floor and toolwright, one short round")
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), help="only these contenders")
    parser.add_argument("--rounds", type=int, help="how often everything is measured (default 5; with --quick 1)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file too")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[str]:
    if options.only:
        return [key for key in CONTENDERS if key in options.only]
    return [key for key in CONTENDERS if not (options.quick and key in PEERS)]


def _installed(key: str, measured: Measured) -> bool:
    try:
        install(CONTENDERS[key])
    except Broken as error:
        measured.broken.append(str(error))
        return False
    return True


def warm_byte_code(at: Bench, keys: Sequence[str], measured: Measured) -> None:
    """The first run of a package compiles it: nobody shall be measured doing that."""
    run_experiment(at, keys, Experiment("request", {}, {}), Measured())
    run_experiment(at, keys, Experiment("import", {}, {}), Measured())


def run_experiment(at: Bench, keys: Sequence[str], experiment: Experiment, measured: Measured) -> None:
    """The contenders one after the other: what slows the machine down meets them all."""
    if experiment.name == "import":
        measured.add("bare", at.import_cost(Path(sys.executable), "pass"))
    for key in keys:
        print(f"{experiment.name}: {CONTENDERS[key].name} …", file=sys.stderr, flush=True)
        try:
            measured.add(key, one_run(at, key, experiment))
        except Broken as error:
            measured.broken.append(f"{CONTENDERS[key].name}: {error}")


def one_run(at: Bench, key: str, experiment: Experiment) -> dict[str, Any]:
    contender = CONTENDERS[key]
    if experiment.name == "import":
        return at.import_cost(python_of(contender), contender.statement)
    at.stats()
    env = {} if contender.env else experiment.env
    numbers = at.experiment(contender, experiment.name, sizes=experiment.sizes_for(contender), env=env)
    return numbers | _told_by_server(at, experiment.name)


def _told_by_server(at: Bench, experiment: str) -> dict[str, Any]:
    sizes = at.stats()["sizes"]
    if experiment == "request":
        return {"request_bytes": max(sizes)}
    if experiment == "growth":
        last = len(sizes) - GROWTH_WARM_UP
        return {"growth_bytes": {str(mark): sizes[GROWTH_WARM_UP + mark] for mark in (10, 100, 1000) if mark < last}}
    return {}


if __name__ == "__main__":
    sys.exit(main())
