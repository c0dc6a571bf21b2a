"""What lasts between the calls of one session beside its files: the list of tasks, and the permission mode.

Only the few tools that are about the session itself use it. Who is asked before a mode changes is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field

from toolwright.types import PermissionMode

Todo = dict[str, str]


class Modes(Protocol):
    """The session's permission mode."""

    @property
    def mode(self) -> PermissionMode: ...

    def set_mode(self, mode: PermissionMode) -> None:
        """Raises `OptionsError` for a mode that may not be used here."""
        ...


class OneMode(Struct):
    """The mode of calls that belong to no session."""

    mode: PermissionMode = "default"

    def set_mode(self, mode: PermissionMode) -> None:
        self.mode = mode


def nobody_listens(todos: list[Todo]) -> None:
    """For calls that belong to no session."""


class Standing(Struct):
    """How one session stands."""

    modes: Modes = field(default_factory=OneMode)
    todos: list[Todo] = field(default_factory=list)
    todos_changed: Callable[[list[Todo]], None] = nobody_listens
