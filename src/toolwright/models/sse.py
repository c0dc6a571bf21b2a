"""Server-sent events from bytes, by the WHATWG rules: the same events come out however the bytes were cut.

It works on bytes because text line splitting also splits at U+2028, U+0085 and other characters that may stand inside JSON.
It does not know what an event means, does not decode its data and does not reconnect; it only remembers what to reconnect with.
"""

from __future__ import annotations

from typing import NamedTuple

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAX_RETRY_DELAY = 3600.0


class ServerEvent(NamedTuple):
    """One dispatched event. `event` is "message" where the server named none; `data` is the joined data lines."""

    event: str
    data: bytes


class SseParser:
    """Feed it the bytes of one stream, in any pieces; it gives back the events that are complete.

    An event is complete at its blank line. What a stream leaves unfinished is never given out.
    """

    __slots__ = ("_at_start", "_data", "_data_size", "_event", "_line", "_skip_line_feed", "last_id", "retry_seconds")

    def __init__(self) -> None:
        self._line = bytearray()  # the line that has no end yet: it grows in place, so a long line costs linear time
        self._skip_line_feed = False  # the last piece ended with CR: an LF that follows belongs to that line end
        self._at_start = True
        self._event = b""
        self._data: list[bytes] = []
        self._data_size = 0
        self.last_id = ""
        """The id that the stream gave last: where to go on after it broke."""
        self.retry_seconds: float | None = None
        """How long the server wants a reader to wait before it connects again, if it said."""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        if self._skip_line_feed and chunk:
            self._skip_line_feed = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        has_return = b"\r" in chunk
        if not has_return and b"\n" not in chunk:
            self._line += chunk
            return []
        if has_return:
            self._skip_line_feed = chunk[-1] == 0x0D
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._line:
            self._line += chunk
            chunk = bytes(self._line)
        lines = chunk.split(b"\n")
        self._line = bytearray(lines.pop())
        return self._read(lines)

    @property
    def waiting(self) -> int:
        """Bytes of the event that is not complete yet."""
        return len(self._line) + self._data_size

    def close(self) -> bool:
        """The stream has ended: forget what is unfinished. True if there was something."""
        unfinished = bool(self._line or self._data)
        self._line, self._data, self._data_size, self._event = bytearray(), [], 0, b""
        return unfinished

    def _read(self, lines: list[bytes]) -> list[ServerEvent]:
        if self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        events: list[ServerEvent] = []
        for line in lines:
            if not line:
                if self._data:
                    events.append(self._dispatch())
                self._event = b""
            elif line.startswith(b"data: "):  # the two common forms first
                self._data.append(line[6:])
                self._data_size += len(line)
            elif line.startswith(b"event: "):
                self._event = line[7:]
            else:
                self._read_field(line)
        return events

    def _read_field(self, line: bytes) -> None:
        """Any other form: no space or no colon, a comment, a field that is ignored."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_size += len(line)
        elif name == b"event":
            self._event = value
        elif name == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry_seconds = min(int(value[:9]) / 1000, _MAX_RETRY_DELAY)

    def _dispatch(self) -> ServerEvent:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data, self._data_size = [], 0
        return ServerEvent(self._event.decode("utf-8", "replace") or "message", data)
