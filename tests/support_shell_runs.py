"""What bash does with lines of shell: each program it runs with its arguments, each file it opens, by the kernel's word.

The lines run in bubblewrap, without network, with nothing to write to but a folder in memory, hundreds for one start; strace
notes what they run and open. Programs are canaries: files in PATH that bash tries to run and finds to be scripts of nothing.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

import support_shell_driver as driver
from support_shell_lines import CANARIES, VARIABLES, WORDS
from toolwright.processes.shell import COMMAND

REAL_PROGRAMS = ("bash", "sh", "env", "nice", "nohup", "timeout", "xargs", "find", "setsid", "stdbuf")
HOME = "/tmp/home"
NEEDED = ("bwrap", "strace")
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")

_CALL = re.compile(r"\d+ +(execve|open|openat|creat)\((.*)")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_LOADED = tuple(
    "".join(f"\\x{byte:02x}" for byte in path.encode()) for path in ("/lib", "/usr/", "/etc/ld.so", "/etc/locale", "/proc/")
)
_OWN = ("/dev/tty", "/dev/null", "/dev/urandom", "/tmp/sh-thd", "/etc/", "/run/")
"""What bash and the C library open by themselves: for here-documents, jobs in the background, the homes of users."""


class Opened(Struct, frozen=True):
    path: str
    for_writing: bool


class Done(Struct):
    """What one line did."""

    ran: list[tuple[str, ...]]
    opened: list[Opened]


def missing_programs() -> list[str]:
    return [name for name in NEEDED if shutil.which(name) is None]


def run_by_bash(lines: Sequence[str], locale: str = "C.utf8") -> list[Done]:
    """What bash does with each of `lines`, run as the Bash tool runs them."""
    with tempfile.TemporaryDirectory() as folder:
        programs, log = Path(folder, "programs"), Path(folder, "log")
        _lay_out_programs(programs)
        environment = {"PATH": str(programs), "HOME": HOME, "SHELL": driver.BASH, "LC_CTYPE": locale, "FUNCNEST": "20"}
        task = {"lines": lines, "script": COMMAND, "environment": environment | VARIABLES}
        done = subprocess.run(
            [*_tracing(log), *_enclosing(folder), sys.executable, "-I", driver.__file__],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"The sandbox for lines of shell ended with {done.returncode}: {done.stderr[-2000:]}")
        with log.open() as file:
            return _by_line(file, len(lines), folder)


def _lay_out_programs(folder: Path) -> None:
    """Canaries are scripts without a first line that names an interpreter: bash runs them itself, without another program."""
    folder.mkdir()
    for name in (*CANARIES, *WORDS):
        (folder / name).write_text("exit 1\n" if name[1:].isdecimal() and int(name[1:]) % 2 else "")
        (folder / name).chmod(0o755)
    for name in REAL_PROGRAMS:
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")


def _tracing(log: Path) -> list[str]:
    calls = "trace=execve,open,openat,creat"
    return ["strace", "-f", "--seccomp-bpf", "-qq", "-xx", "-s", "65536", "-e", calls, "-e", "signal=none", "-o", str(log)]


def _enclosing(folder: str) -> list[str]:
    fresh = ["--tmpfs", "/tmp", "--dir", HOME, "--ro-bind", folder, folder, "--proc", "/proc", "--dev", "/dev"]
    return ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", *fresh, "--chdir", "/", "--"]


def _by_line(log: Iterable[str], count: int, folder: str) -> list[Done]:
    found = [Done([], []) for _ in range(count)]
    current: Done | None = None
    own = ""
    for process, call, arguments in _calls(log):
        strings = [bytes.fromhex(text.replace("\\x", "")).decode(errors="replace") for text in _STRING.findall(arguments)]
        if strings and strings[0].startswith(driver.MARK):
            current, own = found[int(strings[0].removeprefix(driver.MARK))], process
        elif current is not None and process != own:
            _note(current, call, strings, arguments, folder)
    return found


def _calls(log: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for entry in log:
        match = _CALL.match(entry)
        if match and not any(f'"{loaded}' in match[2][:80] for loaded in _LOADED):
            yield entry.partition(" ")[0], match[1], match[2]


def _note(done: Done, call: str, strings: list[str], arguments: str, folder: str) -> None:
    if not strings:
        return
    path = strings[0]
    if call == "execve":
        if path != driver.BASH:
            found = path.startswith("/") and path != strings[1]  # in PATH; also where `exec -a` gives another name
            done.ran.append((path.rpartition("/")[2] if found else path, *strings[2:]))
    elif path != "." and not (  # what find opens
        "O_DIRECTORY" in arguments or "O_PATH" in arguments or path.startswith((folder, *_OWN))
    ):
        done.opened.append(Opened(path, call == "creat" or _WRITING.search(arguments) is not None))
