"""What is offered with a permission question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolwright.permissions import PermissionCall, RuleSet, SessionFolders, decide, read_command
from toolwright.permissions.suggestions import suggestions
from toolwright.types import PermissionMode, PermissionUpdate

PLACE = SessionFolders("/work/app", (), "/home/ada")


def offered(call: PermissionCall, mode: PermissionMode = "default") -> list[dict[str, object]]:
    return [update.to_dict() for update in suggestions(call, mode=mode, place=PLACE)]


def add_rule(tool: str, content: str | None, destination: str = "localSettings") -> dict[str, object]:
    rule = {"toolName": tool, "ruleContent": content}
    return {"type": "addRules", "destination": destination, "rules": [rule], "behavior": "allow"}


ACCEPT_EDITS = {"type": "setMode", "destination": "session", "mode": "acceptEdits"}


def test_a_write_inside_offers_to_accept_edits() -> None:
    assert offered(PermissionCall("Write", writes=("/work/app/a",))) == [ACCEPT_EDITS]


def test_a_write_outside_offers_its_folder() -> None:
    folder = {"type": "addDirectories", "destination": "session", "directories": ["/data"]}
    assert offered(PermissionCall("Write", writes=("/data/a",)), "acceptEdits") == [folder]
    assert offered(PermissionCall("Write", writes=("/data/a",))) == [folder, ACCEPT_EDITS]


def read(command: str, **more: Any) -> PermissionCall:
    return PermissionCall("Bash", command=command, line=read_command(command), **more)


def test_a_command_offers_itself_word_for_word() -> None:
    assert offered(read("docker ps")) == [add_rule("Bash", "docker ps")]
    assert offered(read("docker ps | sort && x $(y)")) == [add_rule("Bash", "docker ps | sort && x $(y)")]
    assert offered(read("docker rm *.py")) == []


def test_a_task_of_the_project_offers_all_tasks_of_its_kind_too() -> None:
    assert offered(read("npm run build -- --watch")) == [
        add_rule("Bash", "npm run build -- --watch"),
        add_rule("Bash", "npm run *"),
    ]
    assert offered(read("make test")) == [add_rule("Bash", "make test"), add_rule("Bash", "make *")]
    assert offered(read("make")) == [add_rule("Bash", "make")]
    assert offered(read("npm run build; curl x")) == [add_rule("Bash", "npm run build; curl x")]


def test_a_command_that_edits_offers_to_accept_edits_and_its_folder() -> None:
    assert offered(read("mkdir out")) == [add_rule("Bash", "mkdir out"), ACCEPT_EDITS]
    folder = {"type": "addDirectories", "destination": "session", "directories": ["/data/x"]}
    assert offered(read("touch /data/x/a")) == [add_rule("Bash", "touch /data/x/a"), folder, ACCEPT_EDITS]
    assert offered(read("touch /data/x/a"), "acceptEdits") == [add_rule("Bash", "touch /data/x/a"), folder]
    assert offered(read("mkdir out && curl x")) == [add_rule("Bash", "mkdir out && curl x")]


def test_a_command_in_plan_mode_offers_nothing_that_would_not_help() -> None:
    assert offered(read("mkdir out"), "plan") == []


@pytest.mark.parametrize("command", ["echo x > .git/config", "ls \u200b x", "rm -rf /"])
def test_a_command_that_is_asked_about_whatever_the_rules_offers_nothing(command: str) -> None:
    assert offered(read(command)) == []


def test_an_ask_rule_is_not_argued_with() -> None:
    rules = RuleSet.parse(ask=["Bash(npm:*)"])
    assert suggestions(read("npm run build"), rules=rules, mode="default", place=PLACE) == []


@given(st.sampled_from(["npm run a", "make b", "mkdir c", "touch /data/d", "curl e", "cp f g", "a | b", "x > y", "git push"]))
def test_every_rule_that_is_offered_stops_the_question_by_itself(command: str) -> None:
    call = read(command)
    for update in suggestions(call, mode="default", place=PLACE):
        if update.type == "addRules":
            rules = RuleSet().with_update(update)
            assert decide(call, rules=rules, mode="default", place=PLACE).behavior == "allow"


def test_a_tool_of_a_server_offers_the_tool() -> None:
    assert offered(PermissionCall("mcp__calc__add", is_mcp=True)) == [add_rule("mcp__calc__add", None)]


def test_a_read_outside_offers_its_folder_for_reading() -> None:
    assert offered(PermissionCall("Read", reads=("/data/a",), read_only=True)) == [add_rule("Read", "//data/**", "session")]

    both = PermissionCall("Read", reads=("/work/app/a", "/my data/X/a"), read_only=True)
    assert offered(both) == [add_rule("Read", "//my data/X/**", "session")]


def test_the_root_is_never_offered() -> None:
    assert offered(PermissionCall("Write", writes=("/x",))) == [ACCEPT_EDITS]


FOLDERS = st.text("ab*?[]!#\\^- ", min_size=1, max_size=4).filter(lambda name: name.strip() == name)


@given(FOLDERS, FOLDERS)
@example("a*", "ab")
@example("[ab]", "a")
def test_a_rule_for_one_folder_covers_no_other(wanted: str, other: str) -> None:
    def reading(folder: str) -> PermissionCall:
        return PermissionCall("Read", reads=(f"/data/{folder}/f",), read_only=True)

    for update in suggestions(reading(wanted), mode="default", place=PLACE):
        rules = RuleSet().with_update(update)
        allowed = decide(reading(other), rules=rules, mode="default", place=PLACE).behavior == "allow"
        assert allowed == (other == wanted)


@example("a*", "ab")
@given(st.text("ab*?:() ", min_size=1, max_size=5), st.text("ab*?:() ", min_size=1, max_size=5))
def test_a_rule_for_one_command_covers_no_other(wanted: str, other: str) -> None:
    for update in suggestions(read(f"curl {wanted}"), mode="default", place=PLACE):
        rules = RuleSet().with_update(update)
        allowed = decide(read(f"curl {other}"), rules=rules, mode="default", place=PLACE).behavior == "allow"
        assert not allowed or other.split() == wanted.split()


def test_a_fetch_offers_its_host() -> None:
    assert offered(PermissionCall("WebFetch", hosts=("example.com",))) == [add_rule("WebFetch", "domain:example.com")]


@pytest.mark.parametrize(
    "call",
    [
        PermissionCall("AskUserQuestion", must_ask=True),
        PermissionCall("Write", writes=("/work/app/.git/config",)),
        *(PermissionCall("Bash", command=command) for command in ("", " ", ":", "curl *", "curl x\ncurl y")),
        PermissionCall("Shell", command="curl x"),
        PermissionCall("Look", hosts=("example.com",)),
        *(PermissionCall("Read", reads=(path,), read_only=True) for path in ("/x", "a", "/work/app/a", "/data/a\x01/b")),
    ],
)
def test_nothing_is_offered_where_nothing_would_help(call: PermissionCall) -> None:
    assert offered(call) == []


@pytest.mark.parametrize(
    "call",
    [
        PermissionCall("Bash", command="npm run 'a b' && x"),
        PermissionCall("mcp__calc__add", is_mcp=True),
        PermissionCall("Read", reads=("/data/x/a",), read_only=True),
        PermissionCall("WebFetch", hosts=("example.com",), read_only=True),
    ],
)
def test_a_suggested_rule_stops_the_question(call: PermissionCall) -> None:
    rules = RuleSet()
    for update in suggestions(call, mode="default", place=PLACE):
        assert isinstance(update, PermissionUpdate)
        rules = rules.with_update(update)
    assert decide(call, rules=rules, mode="default", place=PLACE).behavior == "allow"
