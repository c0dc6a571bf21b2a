"""The words behind a slash command, split as a shell would, in time that a long text cannot blow up."""

from __future__ import annotations

import re

_PIECE = re.compile(r"""(?P<blank>[ \t\r\n]+)|\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'|([^ \t\r\n"'\\]+)""", re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')


def split_words(text: str) -> list[str]:
    """As `shlex.split` does. A quote that is not closed is a quote: then only blanks separate."""
    words: list[list[str]] = [[]]
    end = 0
    for piece in _PIECE.finditer(text):
        if piece.start() != end:
            break
        end = piece.end()
        if piece["blank"]:
            words.append([])
        else:
            words[-1].append(_meant(piece))
    return ["".join(word) for word in words if word] if end == len(text) else text.split()


def _meant(piece: re.Match[str]) -> str:
    """A piece of a word without its quotes."""
    _, escaped, quoted, literal, plain = piece.groups()
    if quoted is not None:
        return _ESCAPED.sub(r"\1", quoted)
    return next(text for text in (escaped, literal, plain) if text is not None)
