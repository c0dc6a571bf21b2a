"""What the sandbox refuses. A refusal never turns into a run without the sandbox."""

from __future__ import annotations

from toolwright.base.workspace_errors import CommandNotStarted


class SandboxUnavailable(CommandNotStarted):
    """The sandbox that was asked for cannot be had on this machine; the text says what is missing and what brings it."""


class SandboxRefused(CommandNotStarted):
    """The sandbox cannot hold what it promises for this command, so the command was not started."""
