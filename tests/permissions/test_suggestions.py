"""What is offered with a permission question."""

from __future__ import annotations

import pytest

from toolwright.permissions import Call, Place, RuleSet, decide, suggestions
from toolwright.types import PermissionMode, PermissionUpdate

PLACE = Place("/work/app", (), "/home/ada")


def offered(call: Call, mode: PermissionMode = "default") -> list[dict[str, object]]:
    return [update.to_dict() for update in suggestions(call, mode=mode, place=PLACE)]


def add_rule(tool: str, content: str | None, destination: str = "localSettings") -> dict[str, object]:
    rule = {"toolName": tool, "ruleContent": content}
    return {"type": "addRules", "destination": destination, "rules": [rule], "behavior": "allow"}


ACCEPT_EDITS = {"type": "setMode", "destination": "session", "mode": "acceptEdits"}


def test_a_write_inside_offers_to_accept_edits() -> None:
    assert offered(Call("Write", writes=("/work/app/a",))) == [ACCEPT_EDITS]


def test_a_write_outside_offers_its_folder() -> None:
    folder = {"type": "addDirectories", "destination": "session", "directories": ["/data"]}
    assert offered(Call("Write", writes=("/data/a",)), "acceptEdits") == [folder]
    assert offered(Call("Write", writes=("/data/a",))) == [folder, ACCEPT_EDITS]


def test_a_command_offers_itself_word_for_word() -> None:
    assert offered(Call("Bash", command="npm test")) == [add_rule("Bash", "npm test")]
    assert offered(Call("Bash", command="rm *.py")) == []


def test_a_tool_of_a_server_offers_the_tool() -> None:
    assert offered(Call("mcp__calc__add", is_mcp=True)) == [add_rule("mcp__calc__add", None)]


def test_a_read_outside_offers_its_folder_for_reading() -> None:
    assert offered(Call("Read", reads=("/data/a",), read_only=True)) == [add_rule("Read", "//data/**", "session")]


def test_a_fetch_offers_its_host() -> None:
    assert offered(Call("WebFetch", hosts=("example.com",))) == [add_rule("WebFetch", "domain:example.com")]


@pytest.mark.parametrize("call", [Call("AskUserQuestion", must_ask=True), Call("Write", writes=("/work/app/.git/config",))])
def test_nothing_is_offered_where_nothing_would_help(call: Call) -> None:
    assert offered(call) == []


@pytest.mark.parametrize(
    "call",
    [
        Call("Bash", command="npm run 'a b' && x"),
        Call("mcp__calc__add", is_mcp=True),
        Call("Read", reads=("/data/x/a",), read_only=True),
        Call("WebFetch", hosts=("example.com",), read_only=True),
    ],
)
def test_a_suggested_rule_stops_the_question(call: Call) -> None:
    rules = RuleSet()
    for update in suggestions(call, mode="default", place=PLACE):
        assert isinstance(update, PermissionUpdate)
        rules = rules.with_update(update)
    assert decide(call, rules=rules, mode="default", place=PLACE).behavior == "allow"
