"""Frames as bytes: one JSON object per line, split and joined at the byte level.

Only `\\n` ends a line: U+2028 and its kin are ordinary characters inside JSON strings. Knows nothing of what a frame means
and does no input or output itself.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from toolwright.types import CLIJSONDecodeError

Frame = dict[str, Any]

_SHOWN_BYTES = 2_000
"""How much of an over-long line an error keeps."""


class LineSplitter:
    """Cuts a stream of bytes into lines, whatever the size of the pieces it comes in.

    A long line costs no more than its length: pieces are looked at once and joined once. There is no limit unless
    `max_bytes` sets one.
    """

    __slots__ = ("_max_bytes", "_pieces", "_waiting")

    def __init__(self, max_bytes: int | None = None) -> None:
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._max_bytes = max_bytes

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes, give the lines they complete (without their ends)."""
        *ended, rest = data.split(b"\n")
        if ended and self._pieces:
            ended[0] = b"".join((*self._pieces, ended[0]))
            self._keep_nothing()
        if rest:
            self._pieces.append(rest)
            self._waiting += len(rest)
        self._check(ended)
        return ended

    def end(self) -> bytes:
        """No more bytes will come: give what is left, a line without its end."""
        rest = b"".join(self._pieces)
        self._keep_nothing()
        return rest

    def _keep_nothing(self) -> None:
        self._pieces.clear()
        self._waiting = 0

    def _check(self, ended: list[bytes]) -> None:
        if self._max_bytes is None:
            return
        longest = max((len(line) for line in ended), default=0)
        if max(longest, self._waiting) > self._max_bytes:
            start = next((line for line in ended if len(line) > self._max_bytes), None) or b"".join(self._pieces)
            reason = ValueError(f"a line is longer than max_buffer_size={self._max_bytes} bytes: raise it, or set none")
            raise CLIJSONDecodeError(start[:_SHOWN_BYTES].decode("utf-8", "replace"), reason)


def decode(line: bytes) -> Frame | None:
    """The frame on a line; None for a blank line and for noise, which is whatever does not begin with `{`."""
    line = line.strip()
    if not line.startswith(b"{"):
        return None
    try:
        frame: Frame = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(line)
    return frame


def decode_rest(rest: bytes) -> Frame | None:
    """What a stream ended with instead of a whole line: a frame that only lacks its line end, or None for a torn one."""
    try:
        return decode(rest)
    except CLIJSONDecodeError:
        return None


def encode(frame: Frame) -> bytes:
    """One line, with its end. U+2028 and U+2029 are escaped, for readers that take them for line ends."""
    try:
        line = msgspec.json.encode(frame)
    except UnicodeEncodeError:  # a lone surrogate: no UTF-8, but JSON can spell it as an escape
        line = json.dumps(frame, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    if b"\xe2\x80" in line:
        line = line.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return line + b"\n"


def _decode_leniently(line: bytes) -> Frame:
    """Some writers escape lone surrogates or write NaN: the standard library reads both."""
    try:
        frame: Frame = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CLIJSONDecodeError(line.decode("utf-8", "replace"), error) from None
    return frame
