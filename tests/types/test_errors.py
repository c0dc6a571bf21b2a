"""The errors: their tree, their texts, their attributes."""

import copy
import pickle
from typing import Any

import pytest

from toolwright import types
from toolwright.types import (
    ClaudeSDKError,
    CLIConnectionError,
    CLIJSONDecodeError,
    CLINotFoundError,
    ControlError,
    MessageParseError,
    OptionsError,
    ProcessError,
    ResultError,
    SDKJSONDecodeError,
)


def test_all_errors_share_one_root() -> None:
    public = [getattr(types, name) for name in types.__all__]
    errors = [each for each in public if isinstance(each, type) and issubclass(each, Exception)]
    assert {error for error in errors if not issubclass(error, ClaudeSDKError)} == {types.CanUseToolShadowedWarning}
    assert len(set(errors)) == 10


def test_the_tree_is_as_drawn() -> None:
    assert issubclass(CLINotFoundError, CLIConnectionError)
    assert issubclass(ResultError, ProcessError)
    assert issubclass(OptionsError, ValueError)


def test_missing_program_names_its_path() -> None:
    assert str(CLINotFoundError()) == "Claude Code not found"
    assert str(CLINotFoundError("No such program", "/opt/agent")) == "No such program: /opt/agent"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ProcessError("It failed"), "It failed"),
        (ProcessError("It failed", 0), "It failed (exit code: 0)"),
        (ProcessError("It failed", None, "no space"), "It failed\nError output: no space"),
        (ProcessError("It failed", 2, "no space"), "It failed (exit code: 2)\nError output: no space"),
    ],
)
def test_failed_process_tells_exit_code_and_output(error: ProcessError, text: str) -> None:
    assert str(error) == text


def test_result_error_reads_its_attributes_from_the_frame() -> None:
    frame = {
        "subtype": "error_during_execution",
        "errors": ["one", 2, "three"],
        "result": "text",
        "api_error_status": 529,
        "terminal_reason": "api_error",
        "session_id": "s",
    }
    error = ResultError("It failed", frame, 1)
    assert str(error) == "It failed (exit code: 1)"
    assert (error.subtype, error.errors, error.result) == ("error_during_execution", ["one", "three"], "text")
    assert (error.api_error_status, error.terminal_reason, error.session_id) == (529, "api_error", "s")
    assert error.data == frame
    assert (error.exit_code, error.stderr) == (1, None)


def test_result_error_leaves_odd_fields_out() -> None:
    error = ResultError("It failed", {"subtype": 1, "errors": "only one", "result": [], "api_error_status": "x"})
    assert (error.subtype, error.errors, error.result, error.api_error_status) == (None, ["only one"], None, None)
    assert ResultError("It failed").errors == []
    assert ResultError("It failed").data == {}


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ({"subtype": "error_max_turns", "errors": ["a", " b "], "result": "c"}, "a; b"),
        ({"subtype": "error_max_turns", "errors": "a"}, "a"),
        ({"subtype": "success", "errors": [], "result": "c", "api_error_status": 500}, "c"),
        ({"subtype": "error_max_turns", "result": " ", "api_error_status": 500}, "error_max_turns"),
        ({"subtype": "success", "api_error_status": 529}, "API error (HTTP 529)"),
        ({"subtype": "success"}, "unknown error"),
        ({}, "unknown error"),
    ],
)
def test_text_of_a_result_error_says_what_the_frame_says(frame: dict[str, Any], reason: str) -> None:
    error = ResultError.from_result(frame, 1)
    assert str(error) == f"toolwright returned an error result: {reason} (exit code: 1)"
    assert error.data == frame


def test_blank_error_lines_are_dropped_and_the_others_trimmed() -> None:
    assert ResultError("It failed", {"errors": ["", " \n", " one\n", 2, "two"]}).errors == ["one", "two"]


def test_undecodable_line_has_a_second_name() -> None:
    assert SDKJSONDecodeError is CLIJSONDecodeError


def test_undecodable_line_is_shown_in_part_and_kept_whole() -> None:
    cause = ValueError("bad token")
    assert str(CLIJSONDecodeError("{oops", cause)) == "Failed to decode JSON: {oops (bad token)"
    long = CLIJSONDecodeError("x" * 101, cause)
    assert str(long) == f"Failed to decode JSON: {'x' * 100}... (101 characters) (bad token)"
    assert long.line == "x" * 101
    assert long.original_error is cause


def test_errors_carry_what_they_are_about() -> None:
    assert MessageParseError("No type", {"a": 1}).data == {"a": 1}
    assert ControlError("Refused", "unknown_mode").code == "unknown_mode"
    assert ControlError("Refused").code is None


@pytest.mark.parametrize(
    "error",
    [
        CLINotFoundError("No such program", "/opt/agent"),
        ProcessError("It failed", 2, "no space"),
        ResultError("It failed", {"subtype": "x"}, 1),
        CLIJSONDecodeError("{oops", ValueError("bad token")),
        MessageParseError("No type", {"a": 1}),
        ControlError("Refused", "unknown_mode"),
        OptionsError("max_turns must be positive"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_copying_and_pickling(error: ClaudeSDKError) -> None:
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert str(twin) == str(error)
        assert vars(twin).keys() == vars(error).keys()
