"""What kind of text some bytes are, and how to turn them into text and back without losing any.

Encodings: UTF-8 and UTF-16 (with or without byte order mark); for what is neither, one of the old encodings if the package
chardetng-py is there to recognise it, else windows-1252 or latin-1. Only an encoding that gives back every byte is chosen.
Bytes that are no text have no format. It knows no files.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from msgspec import Struct

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 8192
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\b\x1b")
_CONTROLS = bytes(code for code in range(32) if code not in _TEXT_CONTROLS)
_ASCII = bytes(range(128))
_RECOGNISED = 256 * 1024
"""How many bytes are looked at to recognise an old encoding, from the first that is not ASCII on."""
_FED = 16 * 1024
"""How many of them at a time: other threads wait meanwhile."""
_CODECS = {
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "iso-8859-8-i": "iso-8859-8",
    "windows-874": "cp874",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
}
"""The web's names of encodings → Python's, where they differ."""
_PIECE = 1 << 18
"""Bytes that are decoded at a time: much more would keep other threads waiting."""
_MULTIBYTE = frozenset({"cp932", "euc-jp", "cp949", "big5hkscs", "gbk", "gb18030"})


class TextFormat(Struct, frozen=True):
    """How a text file is stored."""

    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def bytes_per_line_feed(self) -> int:
        """One means as well that this byte is never a part of another character."""
        return 2 if self.encoding.startswith("utf-16") else 1

    @property
    def is_bytewise(self) -> bool:
        """Whether the bytes of a text are never found where that text is not."""
        return self.bytes_per_line_feed == 1 and self.encoding not in _MULTIBYTE

    def decode(self, data: bytes) -> str:
        """Text for reading. Bytes that do not fit the encoding are shown as `\\xNN`."""
        return data[len(self.mark) :].decode(self.encoding, "backslashreplace")

    def pieces(self, data: bytes, size: int = _PIECE) -> Iterator[str]:
        """The same text, of so many bytes at a time."""
        return _pieces(data[len(self.mark) :], self.encoding, "backslashreplace", size)

    def encode(self, text: str) -> bytes:
        """Bytes without the mark. Raises UnicodeEncodeError for what the encoding cannot hold."""
        return text.encode(self.encoding)

    def is_boundary(self, data: bytes, offset: int) -> bool:
        """Whether no character of `data` lies across this place."""
        if self.bytes_per_line_feed == 2:
            return (offset - len(self.mark)) % 2 == 0
        if self.encoding not in _MULTIBYTE:
            return True
        line = data.rfind(b"\n", 0, offset) + 1  # a line feed is never the second byte of a character
        return _decodes(data[line:offset], self.encoding)

    def describe(self) -> str:
        return f"{self.encoding} with BOM" if self.mark else self.encoding


UTF8 = TextFormat()


def detect_format(data: bytes) -> TextFormat | None:
    """The format of a text, None for binary data."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return TextFormat(encoding, mark)
    if b"\0" in data[:_SAMPLE]:
        return _unmarked_utf16(data[:_SAMPLE])
    if data.isascii():  # a third of the price of decoding
        return UTF8
    return UTF8 if _decodes(data, "utf-8") else _damaged_or_old(data)


def decode_text(data: bytes) -> tuple[str, TextFormat] | None:
    """Text and format at once: plain UTF-8, by far the most common, is decoded only once."""
    if not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and b"\0" not in data[:_SAMPLE]:
        try:
            return data.decode(), UTF8
        except UnicodeDecodeError:
            pass
    format_ = detect_format(data)
    return None if format_ is None else (format_.decode(data), format_)


def _unmarked_utf16(sample: bytes) -> TextFormat | None:
    """Text in UTF-16 has a zero in nearly every second byte, and always the same second."""
    pairs = max(1, len(sample) // 2)
    high, low = sample[1::2].count(0) / pairs, sample[0::2].count(0) / pairs
    if high > 0.4 and low < 0.05:
        return TextFormat("utf-16-le")
    if low > 0.4 and high < 0.05:
        return TextFormat("utf-16-be")
    return None


def _damaged_or_old(data: bytes) -> TextFormat | None:
    sample = data[:_SAMPLE]
    if len(sample) - len(sample.translate(None, _CONTROLS)) > len(sample) // 20:
        return None
    valid = foreign = 0
    for text, sound in zip(_pieces(data, "utf-8", "surrogateescape"), _pieces(data, "utf-8", "ignore"), strict=True):
        foreign += len(text) - len(sound)
        valid += len(sound) - len(text.encode("ascii", "ignore"))
    return UTF8 if valid > foreign else TextFormat(_old_encoding(data))


def _old_encoding(data: bytes) -> str:
    """Never one that would lose a byte on the way to text and back; latin-1, which cannot, if it says the same."""
    for encoding in (_recognised(data), "windows-1252"):
        try:
            is_latin = _survives(data, encoding)
        except (UnicodeError, LookupError):
            continue
        if is_latin is not None:
            return "latin-1" if is_latin else encoding
    return "latin-1"


def _survives(data: bytes, encoding: str) -> bool | None:
    """Whether latin-1 says the same as the encoding; None if a byte would be lost on the way to text and back."""
    place, is_latin = 0, True
    for text in _pieces(data, encoding):
        again = text.encode(encoding)
        if not data.startswith(again, place):
            return None
        is_latin = is_latin and text == again.decode("latin-1")
        place += len(again)
    return is_latin if place == len(data) else None


def _recognised(data: bytes) -> str:
    """What chardetng makes of it; windows-1252 if it is not installed."""
    try:
        from chardetng_py.detector import EncodingDetector  # of the extra "media"
    except ImportError:
        return "windows-1252"
    start = len(data) - len(data.lstrip(_ASCII))
    detector = EncodingDetector()
    start = max(0, start - 100)
    for place in range(start, start + _RECOGNISED, _FED):
        detector.feed(data[place : place + _FED], last=False)
    detector.feed(b"", last=True)
    name: str = detector.guess(tld=None, allow_utf8=False).lower()
    return _CODECS.get(name, name)


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        for _ in _pieces(data, encoding):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _pieces(data: bytes, encoding: str, errors: str = "strict", size: int = _PIECE) -> Iterator[str]:
    """The text, a piece at a time; no character lies across two of them."""
    if len(data) <= size:
        yield data.decode(encoding, errors)
        return
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    for start in range(0, len(data), size):
        yield decoder.decode(data[start : start + size], final=start + size >= len(data))


def uses_crlf(text: str) -> bool:
    """Whether every line end is CRLF (and there is one)."""
    pairs = text.count("\r\n")
    return pairs > 0 and pairs == text.count("\n")
