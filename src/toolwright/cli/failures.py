"""How a failure is told: one line for a person, an error result for a program. A traceback only with --debug."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from toolwright.cli.flags import UsageError
from toolwright.cli.plain_output import OutputClosed, write_now

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED, EXIT_OUTPUT_CLOSED = 1, 2, 130, 141


def complain(text: str) -> None:
    tell(f"toolwright: {text}")


def tell(line: str) -> None:
    """One line on stderr; if that is closed as well there is nobody to tell."""
    try:
        write_now(2, line.rstrip("\n") + "\n")
    except (OutputClosed, OSError):
        pass


def teller(debug_file: str | None) -> Callable[[str], None]:
    """What hears of diagnostics: stderr and, if one is named, a file that they are added to (only its owner can read it)."""
    if debug_file is None:
        return tell
    try:
        descriptor = os.open(debug_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"--debug-file: cannot write {debug_file}: {error.strerror}") from None

    def tell_both(line: str) -> None:
        tell(line)
        with suppress(OSError):
            os.write(descriptor, (line.rstrip("\n") + "\n").encode("utf-8", "surrogateescape"))

    return tell_both


def explain(error: BaseException) -> str:
    """What to tell about an error. Those of the library say what to do; any other is a fault of ours and says so."""
    from toolwright.models.base import ModelError
    from toolwright.types import ClaudeSDKError, ResultError

    error = _single(error)
    if isinstance(error, ResultError) and error.errors:
        return "; ".join(error.errors)
    if isinstance(error, (ClaudeSDKError, ModelError, OSError)) and str(error):
        return str(error)
    return f"internal error: {type(error).__name__}: {error} (run it again with --debug to see where)"


def _single(error: BaseException) -> BaseException:
    """The one error inside a group of one; task groups wrap even a lone failure."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def complain_about(error: BaseException, *, debug: bool) -> None:
    complain(explain(error))
    if debug:
        import traceback  # only wanted here

        complain("".join(traceback.format_exception(error)).rstrip())


def result_of(error: BaseException) -> dict[str, Any]:
    """The failure as a result frame: the one it carries, or a new one."""
    carried: dict[str, Any] = getattr(_single(error), "data", None) or {}
    return carried if carried.get("type") == "result" else error_result(explain(error))


def error_result(text: str) -> dict[str, Any]:
    """The result frame of a conversation that could not be had."""
    from toolwright.base.ids import new_uuid

    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "session_id": "",
        "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "modelUsage": {},
        "permission_denials": [],
        "terminal_reason": "turn_setup_failed",
        "errors": [text],
        "uuid": new_uuid(),
    }
