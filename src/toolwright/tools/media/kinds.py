"""What a file is by its first bytes, and what its name claims. Content decides; it opens nothing."""

from __future__ import annotations

import os

from msgspec import Struct

HEAD_BYTES = 1024
"""How much of a file must be seen to tell."""


class Kind(Struct, frozen=True):
    """A kind of file. `reader` is how Read shows it ("image", "pdf"); without one it is only described."""

    words: str
    signature: bytes
    suffixes: tuple[str, ...] = ()
    reader: str | None = None
    media_type: str = "application/octet-stream"
    inner: bytes = b""
    """A second signature, 8 bytes in, for formats that share a container."""

    def fits(self, head: bytes) -> bool:
        return head.startswith(self.signature) and head[8 : 8 + len(self.inner)] == self.inner


PNG = Kind("PNG image", b"\x89PNG\r\n\x1a\n", (".png", ".apng"), "image", "image/png")
JPEG = Kind("JPEG image", b"\xff\xd8\xff", (".jpg", ".jpeg", ".jpe", ".jfif"), "image", "image/jpeg")
GIF = Kind("GIF image", b"GIF8", (".gif",), "image", "image/gif")
WEBP = Kind("WebP image", b"RIFF", (".webp",), "image", "image/webp", b"WEBP")
PDF = Kind("PDF document", b"%PDF-", (".pdf",), "pdf", "application/pdf")
SHOWN = (PNG, JPEG, GIF, WEBP, PDF)
DESCRIBED = (
    Kind("ZIP archive (or a format built on it)", b"PK\x03\x04"),
    Kind("gzip data", b"\x1f\x8b"),
    Kind("Zstandard data", b"\x28\xb5\x2f\xfd"),
    Kind("XZ data", b"\xfd7zXZ\0"),
    Kind("bzip2 data", b"BZh"),
    Kind("ELF program", b"\x7fELF"),
    Kind("SQLite database", b"SQLite format 3\0"),
    Kind("TIFF image", b"II*\0"),
    Kind("TIFF image", b"MM\0*"),
    Kind("BMP image", b"BM"),
    Kind("WAVE audio", b"RIFF", inner=b"WAVE"),
    Kind("AVI video", b"RIFF", inner=b"AVI "),
    Kind("Ogg media", b"OggS"),
    Kind("MP3 audio", b"ID3"),
    Kind("Matroska or WebM media", b"\x1a\x45\xdf\xa3"),
    Kind("WebAssembly module", b"\0asm"),
)


def shown_kind(head: bytes) -> Kind | None:
    """The kind, if it is one that Read shows otherwise than as text."""
    for kind in SHOWN:
        # The signature of a GIF could begin a text as well; a real one has zeros among its first bytes.
        if kind.fits(head) and (kind is not GIF or b"\0" in head):
            return kind
    return None


def describe_binary(head: bytes) -> str:
    """In words, what bytes are that are no text."""
    if head[4:8] == b"ftyp":
        return "ISO media (MP4, HEIC or AVIF)"
    return next((kind.words for kind in (*SHOWN, *DESCRIBED) if kind.fits(head)), "binary data")


def misleading_name(path: str, kind: Kind | None) -> str | None:
    """What to say if the name of a file promises something else than it holds; `kind` is None for a text."""
    suffix = os.path.splitext(path)[1].lower()
    if kind is None:
        promised = any(suffix in each.suffixes for each in SHOWN) and suffix
        return f"named {suffix}, but its content is text" if promised else None
    return f"named {suffix}, but its content is a {kind.words}" if suffix and suffix not in kind.suffixes else None
