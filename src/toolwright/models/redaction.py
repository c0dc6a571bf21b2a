"""Takes keys out of texts that a server wrote: it may repeat in its error what it was sent."""

from __future__ import annotations

import re
from collections.abc import Iterable

SHORT = 8
"""A key with fewer characters is a word like others: letters of it inside other words are not the key."""


def without_keys(text: str, keys: Iterable[str | None]) -> str:
    for key in filter(None, keys):
        if len(key) >= SHORT:
            text = text.replace(key, "[the key]")
        else:
            text = re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", "[the key]", text)
    return text
