"""The lines of a text that match a regular expression, found by ripgrep: in linear time, in a process that can be stopped."""

from __future__ import annotations

from msgspec import Struct

from toolwright.base.workspace_errors import BadPattern
from toolwright.processes.ripgrep import run_ripgrep
from toolwright.processes.worker_process import nameless_file, root_folder

SECONDS = 20.0
_ARGUMENTS = ("--text", "--crlf", "--no-line-number", "--no-filename", "-e")


class Matching(Struct, frozen=True):
    """The first matching lines, as many bytes as were asked for, and how many lines match in all."""

    data: bytes
    lines: int


async def matching_lines(pattern: str, data: bytes, *, limit: int) -> Matching:
    """The lines of `data` that match `pattern`. Raises `BadPattern`."""
    if "\0" in pattern or any("\ud800" <= character <= "\udfff" for character in pattern):
        raise BadPattern(f"The filter {pattern!r} is no regular expression: it holds a NUL or half of a surrogate pair.")
    kept = bytearray()
    lines = 0

    async def keep(piece: bytes) -> None:
        nonlocal lines
        lines += piece.count(b"\n")
        kept.extend(piece[: limit - len(kept)])

    with nameless_file(data) as source, root_folder() as root:
        end = await run_ripgrep(
            [*_ARGUMENTS, pattern, "--", "-"], directory=root, on_output=keep, stdin=source, timeout=SECONDS
        )
    if end.timed_out:
        raise BadPattern(f"The filter took longer than {SECONDS:g} seconds and was stopped: use a simpler one.")
    if end.exit_code not in (0, 1):
        raise BadPattern(f"The filter cannot be used: {end.message}")
    return Matching(bytes(kept), lines)
