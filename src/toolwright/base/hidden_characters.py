"""Characters that make a text look like another one: control, direction, invisible. Found here, and made visible."""

from __future__ import annotations

import re

_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    r"\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_FOUND = re.compile(rf"[{_HIDDEN}]")


def hides_something(text: str) -> bool:
    """Whether `text` holds a character, other than newline and tab, that a reader would not see for what it is."""
    return _FOUND.search(text) is not None


def made_visible(text: str) -> str:
    """`text` with each such character as an escape."""
    return _FOUND.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
