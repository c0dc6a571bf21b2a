"""SHA-1 of contents, to tell versions of a file apart, not to protect them. It knows no files.

What is read is often edited next, and edited once more. So the last contents of the process are remembered with their digests:
to compare bytes takes a tenth of hashing them. A new content that begins like one of them is hashed from where they part.
"""

from __future__ import annotations

from hashlib import sha1
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from hashlib import _Hash

_REMEMBERED, _MAX_REMEMBERED = 4, 256 * 1024
"""So many contents are remembered, none that is larger."""
_STEP = 16 * 1024


class _Known(Struct, frozen=True):
    data: bytes
    digest: bytes
    marks: list[_Hash]
    """How far the hash had come after each whole step."""


def digest(data: bytes) -> bytes:
    for known in _last:
        if known.data == data:
            return known.digest
    return _learn(data) if len(data) <= _MAX_REMEMBERED else sha1(data, usedforsecurity=False).digest()


def foresee(data: bytes) -> None:
    """Hash what is new and will be asked for next, while there is time; not what is too large to be remembered until then."""
    if len(data) <= _MAX_REMEMBERED:
        _learn(data)


def _learn(data: bytes) -> bytes:
    global _last
    marks = _marks_in_common(data)
    state, whole = marks[-1].copy() if marks else sha1(usedforsecurity=False), memoryview(data)
    for start in range(len(marks) * _STEP, len(data) - _STEP + 1, _STEP):
        state.update(whole[start : start + _STEP])
        marks.append(state.copy())
    state.update(whole[len(marks) * _STEP :])
    known = _Known(data, state.digest(), marks)
    _last = (known, *_last[: _REMEMBERED - 1])
    return known.digest


def _marks_in_common(data: bytes) -> list[_Hash]:
    """The marks up to which `data` is like a content that was hashed before."""
    for known in _last:
        count = 0
        while count < len(known.marks) and data.startswith(known.data[count * _STEP : (count + 1) * _STEP], count * _STEP):
            count += 1
        if count:
            return known.marks[:count]
    return []


_last: tuple[_Known, ...] = ()
