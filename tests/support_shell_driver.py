"""Runs lines of shell one after the other, each in a folder of its own, inside the sandbox of `support_shell_runs`.

It marks the beginning of each line by trying to open a file that cannot be, which whoever traces it sees. It is run as a
program, needs nothing but Python, and is alone in its process namespace: whatever a line leaves running is ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import stat
import sys

BASH = "/bin/bash"
MARK = "/line-begins/"
FOLDER = "/tmp/work"
SECONDS_ALLOWED = 1.0
_PR_SET_CHILD_SUBREAPER = 36
_KILOBYTE = 1024


def main() -> None:
    if not _is_alone():
        sys.exit("This ends every process it sees: it runs in the sandbox of support_shell_runs only.")
    task = json.load(sys.stdin)
    null = os.open(os.devnull, os.O_RDWR)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * _KILOBYTE, 64 * _KILOBYTE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _end_all)
    for number, line in enumerate(task["lines"]):
        _run(number, line, task["script"], task["environment"], null)


def _is_alone() -> bool:
    """Whether the first process is bubblewrap: then all others of the namespace are ours."""
    with open("/proc/1/comm") as file:
        return file.read() == "bwrap\n"


def _end_all(*_: object) -> None:
    """End every process of this namespace but its first and this one."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _run(number: int, line: str, script: str, environment: dict[str, str], null: int) -> None:
    _lay_out(f"{FOLDER}/{number}")
    _mark(number)
    argv = [BASH, "--noprofile", "--norc", "-c", script, "bash", line]
    streams = [(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1, 2)]
    os.posix_spawn(BASH, argv, environment, file_actions=streams, setsid=True, setsigdef=[signal.SIGALRM])
    signal.setitimer(signal.ITIMER_REAL, SECONDS_ALLOWED, 0.05)
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    signal.setitimer(signal.ITIMER_REAL, 0)


def _lay_out(folder: str) -> None:
    """A folder with four empty files, made without opening any: that would be traced."""
    os.makedirs(f"{folder}/d")
    for name in ("f", "g", "d/f", "p"):
        os.mknod(f"{folder}/{name}", 0o755 | stat.S_IFREG)
    os.chdir(folder)


def _mark(number: int) -> None:
    try:
        os.open(f"{MARK}{number}", os.O_RDONLY)
    except FileNotFoundError:
        pass


if __name__ == "__main__":
    main()
