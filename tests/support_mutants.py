"""A pytest plugin that tries mutmut's mutants in forks of one collected session: many times quicker than one pytest each.

`mutmut` makes the mutants (`mutants/`) and finds out which tests reach which function (`mutmut-stats.json`); only the trying is
our own: in a fork, the code of a mutant is put into the function it is a mutant of, so that all runs at full speed. The tests
that killed a mutant's siblings come first, then the quick ones. What they said is written where `mutmut results` and
`mutmut show` look for it. See `make mutants`.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from toolwright.permissions.shell import grammar

KILLED, SURVIVED, NO_TESTS, SKIPPED, TIMEOUT = 1, 0, 33, 34, 36
"""As mutmut numbers them."""
SECONDS_ALLOWED = 60
MUTANTS = Path("mutants")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutants", default="", help="which mutants to try: an expression found in their names")
    parser.addoption(
        "--survivors", action="store_true", help="those that survived the last time, instead of those not tried yet"
    )
    parser.addoption("--slowest", type=float, default=60.0, help="leave out tests that take more seconds than this")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    trial = Trial(session.items, session.config.getoption("--slowest"))
    wanted = re.compile(session.config.getoption("--mutants"))
    states = (SURVIVED, NO_TESTS) if session.config.getoption("--survivors") else (None,)
    for path in sorted((MUTANTS / "src").rglob("*.meta")):
        meta = json.loads(path.read_text())
        results: dict[str, int | None] = meta["exit_code_by_key"]
        names = [name for name, result in results.items() if result in states and wanted.search(name)]
        if names:
            codes = dict(mutated(compile(path.with_suffix("").read_text(), str(path), "exec")))
            results |= {name: trial.of(name, codes) for name in names}
            path.write_text(json.dumps(meta, indent=4))
            lived = sum(results[name] in (SURVIVED, NO_TESTS) for name in names)
            print(f"{path.stem}: {len(names)} mutants, {lived} survived", flush=True)
    return True


def mutated(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """The code of every mutant in a file of them, by its name."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if "__mutmut_" in inner.co_name:
                yield inner.co_name, inner
            yield from mutated(inner)


def original(mutant: str) -> FunctionType:
    """The function that `mutant` (`room.module.x_name__mutmut_1`, `room.module.xǁClassǁname__mutmut_1`) is a mutant of."""
    module, _, mangled = mutant.rpartition("__mutmut_")[0].rpartition(".")
    found: Any = importlib.import_module(module)
    for name in mangled[2:].split("ǁ"):
        found = vars(found)[name]
    if isinstance(found, property):
        found = found.fget
    found = inspect.unwrap(getattr(found, "__func__", found))  # behind a cache
    assert isinstance(found, FunctionType), mutant
    return found


def only_words_differ(one: CodeType, other: CodeType) -> bool:
    """Whether a mutant only spells a text for people differently: one that is long and has blanks."""
    if one.co_code != other.co_code or len(one.co_consts) != len(other.co_consts):
        return False
    changed = [(a, b) for a, b in zip(one.co_consts, other.co_consts, strict=True) if a != b]
    return bool(changed) and all(
        isinstance(a, str) and isinstance(b, str) and len(a) > 11 and " " in a.strip() for a, b in changed
    )


class Trial:
    """The tests, and how long each takes."""

    def __init__(self, items: Iterable[pytest.Item], slowest: float) -> None:
        self._parsed = grammar.run_shfmt = functools.cache(grammar.run_shfmt)  # most of the time would go by in this process
        tests = {item.nodeid: runner(item) for item in items}
        self._seconds = {name: seconds(run) for name, run in tests.items()}
        self._run = {name: run for name, run in tests.items() if self._seconds[name] <= slowest}
        stats = json.loads((MUTANTS / "mutmut-stats.json").read_text())
        self._tests: dict[str, list[str]] = stats["tests_by_mangled_function_name"]
        self._killers: dict[str, dict[str, None]] = {}
        forget(but=self._parsed)
        gc.freeze()

    def of(self, mutant: str, codes: dict[str, CodeType]) -> int:
        function = mutant.rpartition("__mutmut_")[0]
        tests = [name for name in self._tests.get(function, ()) if name in self._run]
        if not tests:
            return NO_TESTS
        changed = codes[mutant.rpartition(".")[2]]
        if only_words_differ(original(mutant).__code__, changed):
            return SKIPPED
        killers = self._killers.setdefault(function, {})
        code, killer = self._forked(mutant, changed, [*killers, *sorted(tests, key=self._seconds.__getitem__)])
        if killer:
            killers[killer] = None
        return code

    def _forked(self, mutant: str, code: CodeType, tests: list[str]) -> tuple[int, str]:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            signal.signal(signal.SIGALRM, lambda *_: os._exit(TIMEOUT))
            signal.alarm(SECONDS_ALLOWED)
            gc.disable()
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            original(mutant).__code__ = code
            if original(mutant) is inspect.unwrap(self._parsed):
                self._parsed.cache_clear()
            killer = next((test for test in tests if fails(self._run[test])), "")
            os.write(writer, killer.encode()[:60_000])
            os._exit(KILLED if killer else SURVIVED)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            killer = pipe.read().decode(errors="replace")
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), killer if killer in self._run else ""


def runner(item: pytest.Item) -> Callable[[], object]:
    """The test as a plain call where it needs nothing of pytest but its parameters."""
    assert isinstance(item, pytest.Function)
    parameters: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    if set(item.fixturenames) <= set(parameters):
        return functools.partial(item.obj, **parameters)
    return functools.partial(whole, item)


def whole(item: pytest.Item) -> None:
    from _pytest.runner import runtestprotocol

    for report in runtestprotocol(item, log=False):
        assert not report.failed


def fails(test: Callable[[], object]) -> bool:
    try:
        test()
    except pytest.skip.Exception:
        return False
    except BaseException:  # noqa: BLE001 — whatever a mutant does wrong, it is found
        return True
    return False


def seconds(test: Callable[[], object]) -> float:
    started = time.perf_counter()
    if fails(test):
        sys.exit(f"{test} fails without any mutant")
    return time.perf_counter() - started


def forget(*, but: object) -> None:
    """What the code remembers of texts it has read would hide a mutant."""
    for module in [module for name, module in sys.modules.items() if name.startswith("toolwright.")]:
        for value in list(vars(module).values()):
            if hasattr(value, "cache_clear") and value is not but:
                value.cache_clear()
