"""Which mechanism holds the cage on this machine. Small, because every session asks before its first call."""

from __future__ import annotations

import os
from functools import cache

from toolwright.base import landlock
from toolwright.sandbox import seccomp

LANDLOCK_VERSION = 6
"""The first version of Landlock that keeps signals inside: Linux 6.12."""
VARIABLE = "TOOLWRIGHT_CAGE"
"""Names one mechanism (`landlock`, `bubblewrap`), or `none`: then little runs unasked."""


def cage_mechanism() -> str | None:
    """Its name: Landlock where the kernel has it, else bubblewrap; None if neither works."""
    return _chosen(os.environ.get(VARIABLE, "").lower())


@cache
def _chosen(wanted: str) -> str | None:
    if wanted in ("", "landlock") and landlock.version() >= LANDLOCK_VERSION and seccomp.is_available():
        return "Landlock"
    if wanted not in ("", "bubblewrap"):
        return None
    from toolwright.sandbox.backends.selection import availabilities  # tries bubblewrap once

    return next((each.name for each in availabilities() if each.name == "bubblewrap" and each.works), None)
