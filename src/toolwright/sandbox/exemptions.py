"""Which commands of a session run in its sandbox, and what is said about it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

_PLAIN = re.compile(r"[^;&|<>`$(){}\\\n\r*?\[\]~#!]*")
"""A line that is one command and nothing more: an exception for a program is none for what stands beside it."""


class Terms(Struct, frozen=True):
    """What the settings say about using the sandbox."""

    excluded: tuple[str, ...] = ()
    """Commands that run outside: `docker`, `git push`, `make *`; each with any further words."""
    allows_exceptions: bool = True
    """Whether a call may ask to run outside (`allowUnsandboxedCommands`). A person is always asked then."""
    auto_allow: bool = True
    """Whether a command in the sandbox needs no permission (`autoAllowBashIfSandboxed`)."""
    ignored: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Violations that are not told, by command (`ignoreViolations`)."""

    withheld: frozenset[str] = frozenset()
    """Variables that commands in the sandbox do not get, whoever set them (`credentials`)."""

    def excludes(self, command: str) -> bool:
        words = command.split()
        if not words or not _PLAIN.fullmatch(command.strip()):
            return False
        return any(_begins(words, pattern) for pattern in self.excluded)

    def encloses(self, command: str, *, disabled: bool = False) -> bool:
        """Whether `command` runs in the sandbox; `disabled` is the call's own wish to run outside."""
        return not self.excludes(command) and not (disabled and self.allows_exceptions)


def _begins(words: list[str], pattern: str) -> bool:
    wanted = pattern.removesuffix(":*").removesuffix(" *").split()
    return bool(wanted) and words[: len(wanted)] == wanted
