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


class FrameReader:
    """Frames out of lines, one after the other; a frame that somebody spread over several lines is kept until it is whole."""

    __slots__ = ("_begun", "_max_bytes")

    def __init__(self, max_bytes: int | None = None) -> None:
        self._begun = b""
        self._max_bytes = max_bytes

    def take(self, line: bytes) -> Frame | None:
        """The frame that this line completes; None while there is none. Raises `CLIJSONDecodeError`."""
        if not self._begun and not line.lstrip().startswith(b"{"):
            return None
        text = self._begun + line.strip(b"\r\n") if self._begun else line
        if self._begun and not line.rstrip().endswith(b"}"):  # cannot be its end: not worth a look at all of it
            self._keep(text)
            return None
        try:
            frame = decode(text)
        except CLIJSONDecodeError:
            if not _is_unfinished(text) or (self._begun and _is_frame(line)):  # the one that had begun was torn
                raise
            self._keep(text)
            return None
        self._begun = b""
        return frame

    def end(self, rest: bytes) -> bytes:
        """What the stream ended with, together with what waits for its end."""
        begun, self._begun = self._begun, b""
        return begun + rest

    def _keep(self, text: bytes) -> None:
        if self._max_bytes is not None and len(text) > self._max_bytes:
            reason = ValueError(f"a frame is longer than max_buffer_size={self._max_bytes} bytes: raise it, or set none")
            raise CLIJSONDecodeError(text[:_SHOWN_BYTES].decode("utf-8", "replace"), reason)
        self._begun = text


_FRAMES = frozenset(
    "user assistant system result stream_event control_request control_response control_cancel_request rate_limit_event".split()  # noqa: SIM905 — a list of words
)


def _is_frame(line: bytes) -> bool:
    """Whether the line is a whole frame by itself, and not an object inside one."""
    try:
        return line.startswith(b"{") and msgspec.json.decode(line).get("type") in _FRAMES
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False


def _is_unfinished(text: bytes) -> bool:
    """Whether `text` is the beginning of a frame: right as far as it goes."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except (UnicodeDecodeError, RecursionError):
        return False
    return False


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


MAX_WAITING = 8 << 20
"""Bytes, roughly, of frames that may wait for a slow reader."""


def weight(value: object) -> int:
    """What a frame takes of memory, roughly: its texts."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return 64 + sum(map(weight, value.values()))
    return sum(map(weight, value)) if isinstance(value, list | tuple) else 8
