"""Tell a model in words that it was the sandbox that stopped its command, and what can be done about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

_FILE_SIGNS = (
    "Read-only file system",
    "Permission denied",
    "Operation not permitted",
    "Device or resource busy",
    "EROFS",
    "EACCES",
)
_NETWORK_SIGNS = (
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "nodename nor servname provided",
    "ENETUNREACH",
    "EAI_AGAIN",
    "ENOTFOUND",
)
_MISSING = "No such file or directory"
_MAX_TEXT = 200_000


def violation_notice(
    command: str,
    output: str,
    *,
    mechanism: str,
    writable: Sequence[str],
    home: str = "",
    may_ask: bool = False,
    ignored: Mapping[str, Sequence[str]] | None = None,
) -> str | None:
    """What to add to the result of a command that failed in the sandbox; None if nothing in its output speaks of it.

    `home` is the folder that commands see nothing of but toolchains; `may_ask` is whether a call can ask to run outside.
    """
    lines = [line for line in output[-_MAX_TEXT:].splitlines() if not _is_ignored(command, line, ignored or {})]
    advice = []
    if any(sign in line for line in lines for sign in _FILE_SIGNS):
        places = ", ".join(writable)
        advice.append(
            f"it may write only to {places} and its temporary folder ($TMPDIR), there not to protected names (.git, so no "
            "commits; .vscode, .claude, .npmrc …), and it cannot read secrets or denied paths"
        )
    if home and any(_MISSING in line and _is_in_home(line, home, writable) for line in lines):
        advice.append(f"of {home} it sees nothing but toolchains and caches, so what is missing there may well exist")
    if any(sign in line for line in lines for sign in _NETWORK_SIGNS):
        advice.append("it reaches no host that is not allowed (sandbox.network.allowedDomains)")
    if not advice:
        return None
    asking = (
        ", or, if it has to be this command, call Bash with dangerouslyDisableSandbox: the user is asked" if may_ask else ""
    )
    return (
        f"This command ran in a sandbox ({mechanism}): {'; '.join(advice)}. If that is why it failed, do it another way, or "
        f"ask the user to allow it in the settings{asking}. Do not try to get around the sandbox."
    )


def _is_in_home(line: str, home: str, writable: Sequence[str]) -> bool:
    return f"{home}/" in line and not any(f"{folder}/" in line for folder in writable)


def _is_ignored(command: str, line: str, ignored: Mapping[str, Sequence[str]]) -> bool:
    return any(
        _fits(command, pattern) and any(path and path in line for path in paths) for pattern, paths in ignored.items()
    )  # fmt: skip


def _fits(command: str, pattern: str) -> bool:
    return pattern == "*" or command == pattern or command.startswith(pattern + " ") or fnmatchcase(command, pattern)
