"""Run a Python program of ours in a child of its own: for work on bytes that nobody vouches for, such as decoding pictures.

The bytes go in and the answer comes back through files without a name, so an answer is whole however busy the event loop is,
and what was answered before a child crashed or was stopped is still there. The program limits itself (memory, processor time,
files); here are the limits on time and on how many run at once. It does not know what the program does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anyio
from anyio.lowlevel import RunVar
from msgspec import Struct

from toolwright.base.open_beneath import PATH_ONLY
from toolwright.base.worker_threads import inline, limiter_of_loop
from toolwright.base.workspace_errors import ProgramMissing
from toolwright.processes.child_process import start

MAX_AT_ONCE = 4
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("toolwright_limited_programs")


class ProgramEnd(Struct, frozen=True):
    """What the program answered and how it ended: its exit code, minus a signal's number if one ended it."""

    answer: bytes
    exit_code: int
    timed_out: bool
    message: str
    """The end of what it wrote to stderr."""


async def run_program(program: str, arguments: Sequence[str], *, data: bytes, timeout: float) -> ProgramEnd:
    """Run the Python file `program` with `arguments` on `data`. Cancellation and timeout kill it.

    It gets the data on descriptor 0, and as its first argument the number of the descriptor its answer is to be written to.
    """
    if not sys.executable:
        raise ProgramMissing("This Python does not know its own interpreter, which is needed to start a child.")
    async with limiter_of_loop(_limiter, MAX_AT_ONCE):
        with nameless_file(data) as source, nameless_file(b"") as answer, root_folder() as root:
            # -I, -S: nothing of the user's environment, site packages or working folder is run
            argv = (sys.executable, "-I", "-S", program, str(answer), *arguments)
            child = await inline(
                lambda: start(
                    argv, directory=root, environment=_ENVIRONMENT, separate_errors=True, stdin=source, keep=(answer,)
                )
            )
            try:
                with anyio.move_on_after(timeout) as scope:
                    while await child.read():
                        pass
            finally:
                child.close()
            message = bytes(child.error_output).decode("utf-8", "replace").strip()
            return ProgramEnd(_content(answer), child.returncode, scope.cancelled_caught, message)


@contextmanager
def nameless_file(data: bytes) -> Iterator[int]:
    """A file without a name that holds `data`, open at its beginning."""
    descriptor = _open_nameless()
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _open_nameless() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("toolwright", os.MFD_CLOEXEC)
    import tempfile  # not on Linux, and slow to import

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@contextmanager
def root_folder() -> Iterator[int]:
    """A folder to stand in for children that need none."""
    descriptor = os.open("/", PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _content(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0)
