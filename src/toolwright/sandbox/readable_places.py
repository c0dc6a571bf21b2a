"""Files and folders outside the working folders that may be read unasked: of the system, and of toolchains."""

from __future__ import annotations

from collections.abc import Mapping

from toolwright.sandbox.home_places import readable_of_home
from toolwright.sandbox.system_places import system_places


def readable_places(env: Mapping[str, str], home: str | None) -> tuple[str, ...]:
    return (*system_places(home or "/nonexistent", env), *(readable_of_home(home) if home else ()))
