"""docs/compatibility.md: each difference names tests that exist, and those that no other room shows are shown here."""

import ast
import re
from pathlib import Path

import pytest

from support_runtime import play
from toolwright.models.scripted import Say, ScriptedModel
from toolwright.testing import ModelServer, answer
from toolwright.types import OptionsError, PermissionResultAllow

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = (ROOT / "docs" / "compatibility.md").read_text()
ROW = re.compile(r"^\| \*\*(?P<name>.+?)\*\* \|.*\| (?P<tests>[^|]*) \|$", re.MULTILINE)
TEST = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<function>\w+)(?:\[(?P<case>[^\]]+)\])?`")


ROWS = [(row["name"], row["tests"]) for row in ROW.finditer(DOCUMENT)]


def functions(path: Path) -> set[str]:
    defined = ast.parse(path.read_text()).body
    return {node.name for node in defined if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_difference_is_in_a_table() -> None:
    assert len(ROWS) == len(re.findall(r"^\| \*\*", DOCUMENT, re.MULTILINE)) >= 45
    assert not re.search(r"^- \*\*", DOCUMENT.partition("## What differs")[2], re.MULTILINE)


@pytest.mark.parametrize(("name", "named"), ROWS, ids=[name for name, _ in ROWS])
def test_every_difference_names_tests_that_exist(name: str, named: str) -> None:
    tests = list(TEST.finditer(named))
    assert tests
    assert TEST.sub("", named).replace(",", "").strip() == ""
    conversations = (ROOT / "tests" / "interop" / "conversations.py").read_text()
    for test in tests:
        assert test["function"] in functions(ROOT / "tests" / test["file"])
        assert test["case"] is None or f'"{test["case"]}"' in conversations


# differences that no other room shows


@pytest.mark.anyio
async def test_the_tools_of_a_default_session_are_those_of_the_document(tmp_path: Path) -> None:
    (row,) = [line for line in DOCUMENT.splitlines() if line.startswith("| **Tools by default** |")]
    always, _, asking = row.split("|")[2].partition("; with `can_use_tool` also ")
    model = ScriptedModel([Say("hi")])
    await play(tmp_path, model)
    assert [spec.name for spec in model.requests[0].tools] == names(always)

    async def person(*_: object) -> PermissionResultAllow:
        return PermissionResultAllow()

    model = ScriptedModel([Say("hi")])
    await play(tmp_path, model, can_use_tool=person)
    assert {spec.name for spec in model.requests[0].tools} == {*names(always), *names(asking)}


def names(listed: str) -> list[str]:
    return re.findall(r"\w+", listed)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"plugins": [{"type": "local", "path": "/p"}]}, "plugins are not supported in this version"),
        ({"session_store": object()}, "session stores are not supported in this version"),
    ],
)
async def test_what_is_not_there_is_refused_by_name(option: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=sentence):
        await play(tmp_path, ScriptedModel([Say("hi")]), **option)  # type: ignore[arg-type]  # any option


@pytest.mark.anyio
async def test_options_without_effect_are_named_in_the_diagnostics(tmp_path: Path) -> None:
    lines: list[str] = []
    given: dict[str, object] = {"skills": "all", "forward_subagent_text": True, "task_budget": {"total": 1}}
    frames = await play(tmp_path, ScriptedModel([Say("hi")]), stderr=lines.append, **given)  # type: ignore[arg-type]
    assert frames[-1]["result"] == "hi"
    assert [name for name in given if not any(name in line and "has no effect" in line for line in lines)] == []


@pytest.mark.anyio
async def test_a_result_counts_what_the_provider_counted(tmp_path: Path) -> None:
    with ModelServer([answer("hi")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}
        frames = await play(tmp_path, "claude-sonnet-4-5", env=env)
    counts = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert set(frames[-1]["usage"]) == set(counts)
