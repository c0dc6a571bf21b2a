"""Size and soundness of a picture, read from its bytes without decoding them: no package is needed and no bomb goes off.

`read_header` tells what the header claims. `is_whole` walks the outer structure to its end: a file cut short is noticed, a
wrong pixel is not. It knows PNG, JPEG, GIF and WebP.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwright.tools.media.kinds import GIF, JPEG, PNG, WEBP, Kind

_JPEG_SIZES = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})


class BadHeader(Exception):
    """The beginning of the file is not what its kind begins with; the text says what is wrong."""


class Header(Struct, frozen=True):
    """What a picture says about itself. `animated`: it holds more than one frame."""

    width: int
    height: int
    animated: bool = False

    @property
    def pixels(self) -> int:
        return self.width * self.height


def read_header(kind: Kind, data: bytes) -> Header:
    """Raises `BadHeader`."""
    header = _PARSERS[kind](data)
    if header is None:
        raise BadHeader(f"its {kind.words.removesuffix(' image')} header is cut short or damaged")
    if not header.pixels:
        raise BadHeader(f"it claims a size of {header.width}x{header.height} pixels")
    return header


def is_whole(kind: Kind, data: bytes) -> bool:
    """Whether the file goes on to where its format ends."""
    if kind is PNG:
        return any(name == b"IEND" for name, _ in _png_chunks(data))
    if kind is WEBP:
        return len(data) >= 8 + int.from_bytes(data[4:8], "little")
    return data.rstrip(b"\0").endswith(b"\xff\xd9" if kind is JPEG else b";")


def _png(data: bytes) -> Header | None:
    if data[12:16] != b"IHDR" or len(data) < 33:
        return None
    animated = any(name == b"acTL" for name, _ in _png_chunks(data[:65536]))
    return Header(int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"), animated)


def _png_chunks(data: bytes) -> list[tuple[bytes, int]]:
    """Name and position of each chunk that is there in full."""
    found: list[tuple[bytes, int]] = []
    position = 8
    while position + 12 <= len(data):
        end = position + 12 + int.from_bytes(data[position : position + 4], "big")
        if end > len(data):
            break
        found.append((data[position + 4 : position + 8], position))
        position = end
    return found


def _jpeg(data: bytes) -> Header | None:
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF or marker in _JPEG_WITHOUT_LENGTH:
            position += 1 if marker == 0xFF else 2
            continue
        if marker in _JPEG_SIZES and position + 9 <= len(data):
            height, width = data[position + 5 : position + 7], data[position + 7 : position + 9]
            return Header(int.from_bytes(width, "big"), int.from_bytes(height, "big"))
        position += 2 + max(2, int.from_bytes(data[position + 2 : position + 4], "big"))
    return None


def _gif(data: bytes) -> Header | None:
    if len(data) < 13:
        return None
    return Header(int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"), data.count(b"\0\x21\xf9\x04") > 1)


def _webp(data: bytes) -> Header | None:
    if len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            return Header(_little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF)
        case b"VP8L" if data[20] == 0x2F:
            bits = _little(data, 21, 4)
            return Header((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            return Header(_little(data, 24, 3) + 1, _little(data, 27, 3) + 1, bool(data[20] & 0x02))
        case _:
            return None


def _little(data: bytes, start: int, length: int) -> int:
    return int.from_bytes(data[start : start + length], "little")


_PARSERS: dict[Kind, Callable[[bytes], Header | None]] = {PNG: _png, JPEG: _jpeg, GIF: _gif, WEBP: _webp}
