from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_runtime import play
from support_tools import TOOLS, call, make_workspace
from toolwright.models.messages_request import request_body
from toolwright.models.scripted import Say, ScriptedModel
from toolwright.tools.base import InvalidInput
from toolwright.tools.registry import builtin_tools, canonical_name, tools_with_a_person


def test_the_tools_are_shared_and_small() -> None:
    names = "Read Write Edit MultiEdit NotebookRead NotebookEdit LS Glob Grep Bash BashOutput KillShell TodoWrite"
    assert " ".join(tool.name for tool in builtin_tools()) == names
    assert builtin_tools() is builtin_tools()
    read_only = "Read NotebookRead LS Glob Grep BashOutput"
    assert " ".join(tool.name for tool in builtin_tools() if tool.read_only) == read_only


@pytest.mark.anyio
async def test_the_first_request_of_a_default_session_stays_small(tmp_path: Path) -> None:
    model = ScriptedModel([Say("ok")])
    await play(tmp_path, model)
    assert len(model.requests[0].tools) == len(builtin_tools())
    assert len(request_body(model.requests[0])) <= 13_000


def test_every_schema_is_one_closed_object_with_described_fields() -> None:
    for tool in (*builtin_tools(), *tools_with_a_person()):
        schema = tool.input_schema
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert "$ref" not in json.dumps(schema)
        assert all("description" in field for field in schema["properties"].values())


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("FileRead", "Read"),
        ("Task", "Agent"),
        ("KillBash", "KillShell"),
        ("TaskOutput", "BashOutput"),
        ("Read", "Read"),
        ("mcp__a__b", "mcp__a__b"),
    ],
)
def test_aliases_lead_to_the_canonical_name(alias: str, name: str) -> None:
    assert canonical_name(alias) == name


@pytest.mark.parametrize(
    ("fields", "issue"),
    [
        ({}, "The required parameter `file_path` is missing"),
        (
            {"file_path": "a", "x": 1},
            "An unexpected parameter `x` was provided (known: file_path, offset, limit, pages, encoding)",
        ),
        ({"file_path": "a", "path": "b"}, "An unexpected parameter `path` was provided"),
        ({"file_path": 3}, "The parameter `file_path` does not fit: expected `str`, got `int`; provided: 3"),
        ({"file_path": "a", "offset": "1"}, "The parameter `offset` does not fit: expected `int`, got `str`; provided: '1'"),
        ({"file_path": "a", "limit": 0}, "expected `int` >= 1; provided: 0"),
        ({"file_path": None}, "The parameter `file_path` does not fit"),
        ({"file_path": "a", "encoding": "x"}, "The parameter `encoding` does not fit: invalid enum value 'x'"),
    ],
)
def test_a_misfit_is_named(fields: dict[str, Any], issue: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        TOOLS["Read"].parse(fields)
    assert str(caught.value).startswith("InputValidationError: Read failed due to the following issue:\n")
    assert issue in str(caught.value)


def test_several_issues_are_told_at_once() -> None:
    with pytest.raises(
        InvalidInput, match=r"following issues:\nThe required parameter `old_string`.*\n.*`new_string`.*\n.*`x`"
    ):
        TOOLS["Edit"].parse({"file_path": "a", "x": 1})


def test_null_for_an_optional_field_means_leaving_it_out() -> None:
    assert TOOLS["Read"].parse({"path": "a", "offset": None}).offset == 1


PATHS = st.sampled_from(
    ["..", "../ws-evil/s", "/etc/passwd", "/", "out", "out/s", "a/../../ws-evil/s", "a\0b", "", "\n", "x" * 5000, "\udc80"]
)


@settings(deadline=None)
@given(st.data())
def test_every_path_in_every_tool_goes_through_the_boundary(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    base: Path = tmp_path_factory.getbasetemp() / "fuzz"
    if not base.exists():
        (base / "ws-evil").mkdir(parents=True)
        (base / "ws-evil/s").write_text("SECRET")
        make_workspace(base)
        (base / "ws/out").symlink_to(base / "ws-evil")
    tool = data.draw(st.sampled_from(sorted(set(TOOLS) - {"TodoWrite"})))
    path = data.draw(PATHS)
    inputs: dict[str, dict[str, Any]] = {
        "Read": {"file_path": path},
        "Write": {"file_path": path, "content": "x"},
        "Edit": {"file_path": path, "old_string": "SECRET", "new_string": "x"},
        "MultiEdit": {"file_path": path, "edits": [{"old_string": "SECRET", "new_string": "x"}]},
        "NotebookRead": {"notebook_path": path},
        "NotebookEdit": {"notebook_path": path, "new_source": "x", "cell_id": "cell-0"},
        "LS": {"path": path},
        "Glob": {"path": path, "pattern": "*"},
        "Grep": {"path": path, "pattern": "SECRET", "output_mode": "content"},
        "Bash": {"cwd": path, "command": "cat s; touch made"},
        "BashOutput": {"bash_id": path},
        "KillShell": {"shell_id": path},
    }
    import anyio

    output = anyio.run(lambda: call(tool, make_workspace(base), **inputs[tool]))
    assert output.is_error
    assert "SECRET" not in str(output.content)
    assert [(file.name, file.read_text()) for file in (base / "ws-evil").iterdir()] == [("s", "SECRET")]
