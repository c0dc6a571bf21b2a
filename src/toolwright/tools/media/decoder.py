"""Have pictures and documents decoded in a limited child (`decode_child`) and take its answer. It does not know what for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import msgspec
from msgspec import Struct

from toolwright.base import landlock
from toolwright.processes.worker_process import ProgramEnd, run_program

EXTRA = 'install the extra "media" (pip install "toolwright[media]")'
TIMEOUT = 20.0
MEMORY = 1536 << 20
"""Address space, of which a picture of the largest size takes a quarter."""
MAX_ANSWER_BYTES = 32 << 20
_PROGRAM = os.path.join(os.path.dirname(__file__), "decode_child.py")


class Decoded(Struct, frozen=True):
    """The lines of an answer. `problem` is what kept it from being whole, in words that follow "because"."""

    lines: list[dict[str, Any]]
    problem: str | None


def has_package(name: str) -> bool:
    """Whether a package can be imported, without importing it."""
    return find_spec(name) is not None


async def decode(task: str, data: bytes, packages: Sequence[str], **options: Any) -> Decoded:
    """Let the child do `task` on `data` with those of the `packages` that are installed."""
    folders = sorted({folder for package in packages for folder in _folders_of(package)})
    settings = {
        "task": task,
        "folders": folders,
        "pillow": has_package("PIL"),
        "landlock": landlock.__file__,
        "memory": MEMORY,
        "seconds": int(TIMEOUT),
        "answer_bytes": MAX_ANSWER_BYTES,
        **options,
    }
    end = await run_program(_PROGRAM, [msgspec.json.encode(settings).decode()], data=data, timeout=TIMEOUT)
    return _read_answer(end)


def _folders_of(package: str) -> list[str]:
    spec = find_spec(package)
    return [] if spec is None else [os.path.dirname(place) for place in spec.submodule_search_locations or ()]


def _read_answer(end: ProgramEnd) -> Decoded:
    lines: list[dict[str, Any]] = [
        msgspec.json.decode(line) for line in end.answer.splitlines(keepends=True) if line[-1:] == b"\n"
    ]
    if lines and lines[-1].get("end"):
        return Decoded(lines[:-1], None)
    return Decoded(lines, _how_it_ended(end))


def _how_it_ended(end: ProgramEnd) -> str:
    if end.timed_out or end.exit_code in (-9, -24):  # SIGKILL, SIGXCPU
        return f"decoding it takes longer than {TIMEOUT:g} seconds"
    if end.exit_code == -25:  # SIGXFSZ
        return "it decodes to more than can be taken"
    last = end.message.splitlines()[-1:] or [f"exit code {end.exit_code}"]
    return f"the decoder broke down ({last[0]})"
