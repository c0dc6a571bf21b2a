"""For the tests of Read: pictures and documents made on the spot."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageDraw


def picture(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """A picture with something to see in it."""
    image = Image.new(mode, (width, height), "white")
    ImageDraw.Draw(image).rectangle((width // 4, height // 4, width // 2, height // 2), fill="black")
    return image


def noise(width: int, height: int) -> Image.Image:
    """A picture that no encoding makes small."""
    return Image.merge("RGB", [Image.effect_noise((width, height), 90) for _ in range(3)])


def saved(image: Image.Image, format_: str, **options: Any) -> bytes:
    target = io.BytesIO()
    image.save(target, format_, **options)
    return target.getvalue()


def png_chunk(name: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + name + content + zlib.crc32(name + content).to_bytes(4, "big")


def png_bomb(width: int, height: int) -> bytes:
    """A few bytes that claim to be that many pixels."""
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    body = png_chunk(b"IDAT", zlib.compress(b"\0" * 10_000))
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + body + png_chunk(b"IEND", b"")


def pdf(pages: Sequence[str], *, size: tuple[int, int] = (595, 842), more: bytes = b"") -> bytes:
    """A PDF by hand: one line of text on each page. `more` goes into its trailer."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = b"BT /F1 24 Tf 50 %d Td (%s) Tj ET" % (size[1] // 2, text.encode("latin-1"))
        objects.append(_page(size, 5 + 2 * number))
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    return _assembled(objects, more)


def pdf_of_many_pages(count: int) -> bytes:
    """As many pages as asked for, all the same object: small and quick to make."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b"3 0 R " * count, count),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>",
    ]
    return _assembled(objects, b"")


def _page(size: tuple[int, int], contents: int) -> bytes:
    resources = b"/Resources << /Font << /F1 3 0 R >> >>"
    return b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] %s /Contents %d 0 R >>" % (*size, resources, contents)


def _assembled(objects: Sequence[bytes], more: bytes) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, more, table)
    return bytes(out)
