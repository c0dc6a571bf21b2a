"""Every error a user of the package can meet.

    ClaudeSDKError                  catch this one to catch them all
    ├── CLIConnectionError          the other side cannot be reached, or is not connected
    │   └── CLINotFoundError        the command-line program does not exist
    ├── ProcessError                the command-line program ended with a failure
    │   └── ResultError             a run ended with an error result
    ├── CLIJSONDecodeError          a line from the other side is not JSON
    ├── MessageParseError           a frame lacks a field it must have
    ├── ControlError                a control request was refused
    └── OptionsError                an option has a value that cannot work (also a ValueError)

Exceptions of libraries underneath are turned into these at the seam where they arise.
"""

import sys
from typing import Any, Self


class ClaudeSDKError(Exception):
    """The root of all errors raised on purpose by this package."""


class CLIConnectionError(ClaudeSDKError):
    """The session behind a transport cannot be reached, or `connect()` has not been called."""


class CLINotFoundError(CLIConnectionError):
    """The command-line program to be started does not exist; `cli_path` is put behind the message."""

    def __init__(self, message: str = "Claude Code not found", cli_path: str | None = None) -> None:
        super().__init__(f"{message}: {cli_path}" if cli_path else message)


class ProcessError(ClaudeSDKError):
    """A child process failed. Exit code and error output are attributes, and part of the text."""

    def __init__(self, message: str, exit_code: int | None = None, stderr: str | None = None) -> None:
        self.exit_code = exit_code
        self.stderr = stderr
        text = message if exit_code is None else f"{message} (exit code: {exit_code})"
        super().__init__(f"{text}\nError output: {stderr}" if stderr else text)


class ResultError(ProcessError):
    """A run ended with an error result; `data` is the result frame, its main fields are attributes."""

    def __init__(self, message: str, data: dict[str, Any] | None = None, exit_code: int | None = None) -> None:
        super().__init__(message, exit_code)
        self.data = data or {}
        self.subtype = _text(self.data, "subtype")
        self.errors = _texts(self.data.get("errors"))
        self.result = _text(self.data, "result")
        self.api_error_status = _number(self.data, "api_error_status")
        self.terminal_reason = _text(self.data, "terminal_reason")
        self.session_id = _text(self.data, "session_id")

    @classmethod
    def from_result(cls, data: dict[str, Any], exit_code: int | None = None) -> Self:
        """Make the error of a result frame; the text says what the frame says."""
        return cls(f"{_speaker()} returned an error result: {_reason(data)}", data, exit_code)


class CLIJSONDecodeError(ClaudeSDKError):
    """A line from the other side is not JSON. The text shows its beginning, `line` holds all of it."""

    def __init__(self, line: str, original_error: Exception) -> None:
        self.line = line
        self.original_error = original_error
        shown = line if len(line) <= 100 else f"{line[:100]}... ({len(line)} characters)"
        super().__init__(f"Failed to decode JSON: {shown} ({original_error})")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.line, self.original_error)


SDKJSONDecodeError = CLIJSONDecodeError
"""Its name in some programs."""


class MessageParseError(ClaudeSDKError):
    """A frame is not what its type promises; `data` is the frame."""

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.data = data


class ControlError(ClaudeSDKError):
    """A control request (interrupt, set_model, …) was refused; `code` names the reason where there is one."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class OptionsError(ClaudeSDKError, ValueError):
    """An option cannot work as given. The text names the option, what came, and what to do."""


class CanUseToolShadowedWarning(UserWarning):
    """`can_use_tool` will never be asked, because another option already answers every question."""


def _text(data: dict[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _number(data: dict[str, Any], key: str) -> int | None:
    value = data.get(key)
    return value if isinstance(value, int) else None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        value = [value]
    given = [item.strip() for item in value if isinstance(item, str)] if isinstance(value, list) else []
    return [text for text in given if text]


def _speaker() -> str:
    """Programs of the original look for its name in the text; whoever uses ours under our name reads ours."""
    return "toolwright" if sys.modules.get("claude_agent_sdk._errors") is not sys.modules[__name__] else "Claude Code"


def _reason(data: dict[str, Any]) -> str:
    errors = "; ".join(_texts(data.get("errors")))
    result = (_text(data, "result") or "").strip()
    subtype = _text(data, "subtype")
    if errors or result:
        return errors or result
    if subtype and subtype != "success":
        return subtype
    status = _number(data, "api_error_status")
    return "unknown error" if status is None else f"API error (HTTP {status})"
