"""Draws docs/demo.svg: runs `toolwright demo` on a terminal and renders what it printed.

    .venv-docs/bin/python scripts/demo_picture.py

The words are the real ones of a real run; only the folder's random name and the times are evened out, so that the picture
changes when the demo does and not with every run.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "demo.svg"
COLUMNS, LINES = 100, 60
LEFT_OUT_FROM, LEFT_OUT_TO = "Twenty books", "There it is"
"""The first words of the middle part, which would make the picture too tall, and of what comes after it."""
STATUS_LINE = re.compile(r"\r\x1b\[2K")
CURSOR = re.compile(r"\x1b\[\?25[lh]")
EVENED_OUT = (
    (re.compile(r"/\S*/toolwright-demo-\w+/"), "/tmp/"),
    (re.compile(r"(ok|failed)(\S*), \d+ ms"), r"\1\2, 20 ms"),
    (re.compile(r"\d+\.\d{3}s"), "0.002s"),
    (re.compile(r"Done in \d+\.\d s"), "Done in 9.0 s"),
)


def main() -> None:
    shown = recorded([str(Path(sys.executable).parent / "toolwright"), "demo"])
    text = shown.split("Now yours.")[0].rstrip()
    for pattern, even in EVENED_OUT:
        text = pattern.sub(even, text)
    head, tail = text.split(LEFT_OUT_FROM)[0].rstrip(), text[text.index(LEFT_OUT_TO) :]
    PICTURE.write_text(drawn(f"{head}\n\n  …\n\n{tail}"), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(text.splitlines())} lines")


def recorded(command: list[str]) -> str:
    """What a command leaves on a terminal, without the status lines that were overwritten."""
    master, slave = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env={**environment, "LINES": str(LINES)})
    os.close(slave)
    with open(master, "rb") as terminal:
        pieces = []
        try:
            while piece := os.read(terminal.fileno(), 65536):
                pieces.append(piece)
        except OSError:  # the other end has closed
            pass
    if process.wait() != 0:
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}")
    lines = b"".join(pieces).decode().replace("\r\n", "\n").split("\n")
    return "\n".join(CURSOR.sub("", STATUS_LINE.split(line)[-1]) for line in lines)


def drawn(text: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text))
    picture = console.export_svg(title="toolwright demo", unique_id="terminal")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # no font from the network: the reader's own


if __name__ == "__main__":
    main()
