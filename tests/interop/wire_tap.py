"""Stands between an SDK and a runtime's command, passes every byte on and writes down every line: `> ` in, `< ` out.

Started as the command itself. WIRE_TAP_COMMAND is the runtime's command, WIRE_TAP_LOG the file. Needs nothing but Python, so
that it starts quickly.
"""

import os
import subprocess
import sys
import threading
from typing import BinaryIO


def main() -> int:
    runtime = subprocess.Popen([os.environ["WIRE_TAP_COMMAND"], *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert runtime.stdin is not None
    assert runtime.stdout is not None
    log = open(os.environ["WIRE_TAP_LOG"], "ab", buffering=0)  # noqa: SIM115 — open as long as the process
    threading.Thread(target=carry, args=(sys.stdin.buffer, runtime.stdin, log, b"> "), daemon=True).start()
    carry(runtime.stdout, sys.stdout.buffer, log, b"< ")
    return runtime.wait()


def carry(source: BinaryIO, target: BinaryIO, log: BinaryIO, mark: bytes) -> None:
    try:
        for line in source:
            log.write(mark + line)
            target.write(line)
            target.flush()
        target.close()
    except (BrokenPipeError, ValueError):
        pass


if __name__ == "__main__":
    sys.exit(main())
