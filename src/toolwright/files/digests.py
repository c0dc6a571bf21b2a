"""SHA-1 of contents, to tell versions of a file apart, not to protect them."""

from __future__ import annotations

from hashlib import sha1


def digest(data: bytes) -> bytes:
    return sha1(data, usedforsecurity=False).digest()
