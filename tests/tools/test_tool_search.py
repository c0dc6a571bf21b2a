"""Finding tools by words: the index, the words of a query, and how well it does on tools of published servers."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.tools.tool_index import IndexedTool, ToolIndex, parameter_words, query_words

ENTRIES = [
    IndexedTool("mcp__a__create_issue", "create_issue", "mcp__a__", "Create a new issue in a repository"),
    IndexedTool("mcp__a__listPullRequests", "listPullRequests", "mcp__a__", "List them"),
    IndexedTool("mcp__b__send", "send", "mcp__b__", "Send a message to a channel", "recipient who gets it"),
]


@pytest.fixture
def index() -> Iterator[ToolIndex]:
    made = ToolIndex(ENTRIES)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("create issue", "mcp__a__create_issue"),
        ("creating issues", "mcp__a__create_issue"),
        ("pull request", "mcp__a__listPullRequests"),
        ("please send this to the recipient", "mcp__b__send"),
        ("MESSAGE", "mcp__b__send"),
        ("repo", "mcp__a__create_issue"),
    ],
)
def test_words_find_tools_in_their_forms(index: ToolIndex, query: str, name: str) -> None:
    assert index.search(query, 5)[0] == name


def test_nothing_is_found_for_words_that_are_nowhere(index: ToolIndex) -> None:
    assert index.search("zeppelin", 5) == []
    assert index.search("", 5) == []
    assert index.search("!!! ---", 5) == []


def test_words_that_say_little_are_looked_for_only_if_there_are_no_others() -> None:
    assert query_words("How do I use the tool to create an issue?") == ["create", "issue"]
    assert query_words("what is this") == ["what", "is", "this"]


def test_parameters_are_words_too() -> None:
    schema = {"properties": {"channelId": {"description": "where to"}, "odd": 5}}
    assert parameter_words(schema).split() == ["channel", "Id", "where", "to", "odd"]
    assert parameter_words({"properties": []}) == ""


@settings(max_examples=200)
@given(
    query=st.text(max_size=60)
    | st.sampled_from(['"', "a OR b", "NEAR(", "name:x", "x*", "a AND", "^", "\x00", "'; DROP TABLE tools;"])
)
def test_no_query_is_syntax(query: str) -> None:
    made = ToolIndex(ENTRIES)
    assert set(made.search(query, 5)) <= {entry.name for entry in ENTRIES}
    made.close()


@pytest.fixture(scope="module")
def benchmark() -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / "tool_search.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_tool_search", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_right_tool_is_among_the_first_five_for_nearly_all_labelled_questions(benchmark: Any) -> None:
    found = benchmark.quality()
    assert found.queries >= 150
    assert found.among_five >= 0.95 * found.queries, found.missed


def test_a_thousand_waiting_tools_cost_little(benchmark: Any) -> None:
    whole, waiting = benchmark.cost(1000)
    assert waiting <= 0.05 * whole
