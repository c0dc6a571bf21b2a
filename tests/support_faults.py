"""A failure at any one system call of a small piece of work, by strace, without changing the work.

`FaultRunner` keeps a Python process that has imported everything; for each run it forks, strace attaches to the fork, and only
then the work begins. Run as a program, this file is that process: it reads a line `WORK FOLDER`, forks, tells the fork's
number, lets it go on when the next line comes, and tells how it ended.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

DURABLE, UNCONFIRMED, REFUSED = 0, 3, 4
KILLED = -9
OLD, NEW = b"old\n", b"new content\n" * 1000
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\(")


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended, and the system calls it made, in order."""

    code: int
    calls: list[str]
    injected: bool


class FaultRunner:
    """Runs one piece of work, by name, with a fault put into it."""

    def __init__(self, log: Path) -> None:
        if shutil.which("strace") is None:
            if os.environ.get("CI"):
                pytest.fail("strace is missing: .ci/run installs it")
            pytest.skip("strace is not installed")
        self._log = log
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def close(self) -> None:
        with self._server:
            assert self._server.stdin is not None
            self._server.stdin.close()

    def run(self, work: str, folder: Path, fault: str | None = None) -> Run:
        """`fault` in strace's words, such as `fsync:error=EIO:when=2`."""
        pid = int(self._ask(f"{work} {folder}"))
        inject = ["-e", f"inject={fault}"] if fault else []
        self._log.unlink(missing_ok=True)
        strace = subprocess.Popen(["strace", "-qq", "-o", str(self._log), *inject, "-p", str(pid)], stderr=subprocess.PIPE)
        try:
            _wait_until_traced(self._log, strace)
            code = int(self._ask("go"))
        finally:
            strace.wait()
            assert strace.stderr is not None
            strace.stderr.close()
        log = self._log.read_text()
        calls = [found[1] for line in log.splitlines() if (found := _CALL.match(line))]
        return Run(code, calls, "(INJECTED)" in log or code == KILLED)

    def _ask(self, line: str) -> str:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(line + "\n")
        return self._server.stdout.readline()


def _wait_until_traced(log: Path, strace: subprocess.Popen[bytes]) -> None:
    while not (log.exists() and "poll(" in log.read_text()):
        if strace.poll() is not None:
            assert strace.stderr is not None
            pytest.fail(f"strace could not attach: {strace.stderr.read().decode()}")
        time.sleep(0.0005)


# the process that does the work


class Step:
    """A session that writes one file and ends: what `Workspace.replace_file` does in its thread, and `close`."""

    def __init__(self, folder: str, name: str) -> None:
        from toolwright.files.boundary import Boundary
        from toolwright.processes.temp_files import TemporaryFolder

        self._temporaries = TemporaryFolder(f"{folder}/state")
        self._boundary = Boundary([f"{folder}/ws"], self._temporaries)
        self._path = f"{folder}/ws/{name}"

    def write(self, data: bytes) -> bool:
        """Whether the disk has confirmed it."""
        from toolwright.files import write as changing

        return changing.replace(self._boundary, self._path, lambda before: data, limit=1 << 20).durable

    def __call__(self) -> bool:
        try:
            return self.write(NEW)
        finally:
            self._temporaries.forget_drafts()


def replace_existing(folder: str) -> Step:
    return Step(folder, "file")


def replace_once_more(folder: str) -> Step:
    """The second write of a session to a folder: the note of the first one is still there."""
    step = Step(folder, "file")
    step.write(OLD)
    return step


def create_in_new_folders(folder: str) -> Step:
    return Step(folder, "made/deep/file")


def replace_by_plain_rename(folder: str) -> Step:
    """As on a disk or a system that cannot let two files trade names."""
    _without_renameat2()
    return Step(folder, "file")


def create_by_plain_link(folder: str) -> Step:
    _without_renameat2()
    return Step(folder, "made/deep/file")


def _without_renameat2() -> None:
    from toolwright.base import renames

    vars(renames)["c_function"] = lambda name, arguments: None  # this process ends right after


WORKS: dict[str, Callable[[str], Step]] = {
    work.__name__: work
    for work in (replace_existing, replace_once_more, create_in_new_folders, replace_by_plain_rename, create_by_plain_link)
}


def serve() -> None:
    _warm_up()
    for line in sys.stdin:
        work, folder = line.split()
        here, there = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _run_traced(WORKS[work], folder, there)
        here.recv(1)  # it is ready: what it does from now on is the work
        print(pid, flush=True)
        sys.stdin.readline()
        here.send(b"!")
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        here.close()
        there.close()


def _warm_up() -> None:
    """Load what the work loads late, so that only the work itself makes system calls."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/ws")
        create_in_new_folders(folder)()
        create_in_new_folders(folder)()


def _run_traced(work: Callable[[str], Step], folder: str, go: socket.socket) -> None:
    import ctypes
    import select

    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_long(-1), 0, 0, 0)  # let any process trace this one, where that is restricted
    step = work(folder)
    begin = select.poll()
    begin.register(go, select.POLLIN)
    go.send(b"!")
    while not begin.poll(2):  # a call that the work itself never makes; once strace reports one, it sees everything
        pass
    try:
        code = DURABLE if step() else UNCONFIRMED
    except OSError:
        code = REFUSED
    os._exit(code)


if __name__ == "__main__":
    serve()
