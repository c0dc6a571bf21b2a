"""What a decision tells besides yes or no: why, by which rule, about which path, and whether only a person may answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from support_permissions import KNOWN_FILES, PLACE, bash, judge, mcp, read, write
from toolwright.permissions import Decision, PermissionCall, SessionFolders
from toolwright.types import PermissionMode

WORKING = SessionFolders(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES)
TOLD: list[tuple[str, PermissionCall, PermissionMode, dict[str, Any], tuple[Any, ...], str]] = [
    ("inside", read("/work/app/a"), "default", {}, ("allow", "workingDir", None, None), "inside the working folders"),
    ("outside", read("/etc/x"), "default", {}, ("ask", "workingDir", None, "/etc/x"), "/etc/x is outside"),
    ("relative", read("x"), "default", {}, ("ask", "safetyCheck", None, "x"), "'x' is not an absolute path"),
    ("no rule", write("/work/app/a"), "default", {}, ("ask", "other", None, None), "Write needs permission"),
    (
        "allowed",
        mcp("mcp__a__b"),
        "default",
        {"allow": ["mcp__a"]},
        ("allow", "rule", "mcp__a", None),
        "The rule mcp__a allows",
    ),
    (
        "denied",
        mcp("mcp__a__b"),
        "default",
        {"deny": ["mcp__a"]},
        ("deny", "rule", "mcp__a", None),
        "denied by the rule mcp__a",
    ),
    ("asked", mcp("mcp__a__b"), "default", {"ask": ["mcp__a"]}, ("ask", "rule", "mcp__a", None), "The rule mcp__a asks"),
    ("given", PermissionCall("f", preapproved=True), "default", {}, ("allow", "preapproved", None, None), "f was given"),
    ("bypass", write("/etc/x"), "bypassPermissions", {}, ("allow", "mode", None, None), "bypassPermissions allows"),
    ("plan", write("/work/app/a"), "plan", {}, ("ask", "mode", None, None), "Write changes something"),
    ("edits", write("/work/app/a"), "acceptEdits", {}, ("allow", "mode", None, None), "acceptEdits allows edits"),
    (
        "must ask",
        PermissionCall("Q", must_ask=True),
        "bypassPermissions",
        {},
        ("ask", "other", None, None),
        "Q always needs a person",
    ),
    (
        *("no longer", replace(mcp("mcp__a__b"), no_longer_approved="It has changed."), "default", {"allow": ["mcp__a"]}),
        *(("ask", "safetyCheck", None, None), "It has changed."),
    ),
    (
        *("protected", write("/work/app/.git/config"), "acceptEdits", {"allow": ["Edit"]}),
        *(("ask", "safetyCheck", None, "/work/app/.git/config"), "a protected path"),
    ),
    (
        *("protected by command", bash("echo x > .git/config"), "default", {"allow": ["Bash(echo:*)"]}),
        *(("ask", "safetyCheck", None, "/work/app/.git/config"), "a protected path"),
    ),
    ("nul", PermissionCall("Bash", command="a\0b"), "bypassPermissions", {}, ("deny", "safetyCheck", None, None), "NUL"),
    ("hidden", bash("echo \u202e"), "bypassPermissions", {}, ("ask", "safetyCheck", None, None), "invisible characters"),
    ("critical", bash("rm -rf /"), "bypassPermissions", {}, ("ask", "safetyCheck", None, "/"), "Removing '/' always"),
    (
        *("doubt", bash("$X y"), "bypassPermissions", {"deny": ["Bash(rm:*)"]}),
        *(("ask", "safetyCheck", "Bash(rm:*)", None), "cannot be told whether the rule Bash(rm:*) (deny)"),
    ),
    (
        *("hidden reads", bash("cat $X"), "bypassPermissions", {"deny": ["Read(.env)"]}),
        *(("ask", "safetyCheck", None, None), "`cat $X` may read a path that a rule hides"),
    ),
    ("ask for a path", bash("cat .env"), "default", {"ask": ["Read(.env)"]}, ("ask", "rule", "Read(.env)", None), "asks"),
    ("looks", bash("cat a"), "default", {}, ("allow", "workingDir", None, None), "It only looks"),
    ("looks outside", bash("cat /etc/x"), "default", {}, ("ask", "workingDir", None, "/etc/x"), "/etc/x is outside"),
    ("command", bash("npm x"), "default", {}, ("ask", "other", None, None), "no rule allows it"),
    ("by rule", bash("npm x"), "default", {"allow": ["Bash(npm:*)"]}, ("allow", "rule", "Bash(npm:*)", None), "allows it"),
    (
        "two parts",
        bash("ls; npm x"),
        "default",
        {"allow": ["Bash(npm:*)"]},
        ("allow", "rule", "Bash(npm:*)", None),
        "allows it",
    ),
    ("unread", PermissionCall("Bash", command="cat a"), "default", {}, ("allow", "workingDir", None, None), "It only looks"),
    ("unparsed", PermissionCall("Bash", command="cat $(x)"), "default", {}, ("ask", "other", None, None), "it was not parsed"),
    ("sandbox", replace(bash("npm x"), sandboxed=True), "default", {}, ("allow", "mode", None, None), "in a sandbox"),
    ("dontAsk", bash("npm x"), "dontAsk", {}, ("deny", "mode", None, None), "no rule allows it. (Mode dontAsk"),
    ("dontAsk path", read("/etc/x"), "dontAsk", {}, ("deny", "mode", None, "/etc/x"), "Mode dontAsk"),
    ("dontAsk rule", bash("npm x"), "dontAsk", {"ask": ["Bash(npm:*)"]}, ("deny", "mode", "Bash(npm:*)", None), "Mode dontAsk"),
]


@pytest.mark.parametrize(("about", "call", "mode", "rules", "expected", "words"), TOLD, ids=[row[0] for row in TOLD])
def test_a_decision_tells_why(
    about: str, call: PermissionCall, mode: PermissionMode, rules: dict[str, Any], expected: tuple[Any, ...], words: str
) -> None:
    decision = judge(call, mode, WORKING, **rules)
    assert told(decision) == expected
    assert words in decision.reason


def told(decision: Decision) -> tuple[Any, ...]:
    rule = None if decision.rule is None else str(decision.rule)
    return decision.behavior, decision.reason_type, rule, decision.blocked_path


@pytest.mark.parametrize(
    ("value", "pattern", "expected"), [(True, "true", "deny"), (False, "false", "deny"), (True, "1", "ask"), (3, "3", "deny")]
)
def test_a_rule_about_a_parameter_reads_values_as_json_writes_them(value: object, pattern: str, expected: str) -> None:
    assert judge(mcp("mcp__a__b", background=value), deny=[f"mcp__a__b(background:{pattern})"]).behavior == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/work/app/a b", "allow"), ("/work/app/a\nb", "ask"), ("/work/app/a\x1fb", "ask"), ("/work/x", "ask")],
)
def test_an_allow_rule_covers_a_path_that_can_be_shown(path: str, expected: str) -> None:
    assert judge(write(path), allow=["Edit(a*)"]).behavior == expected


def test_the_dot_at_the_end_of_a_host_changes_nothing() -> None:
    fetch = PermissionCall("WebFetch", {}, hosts=("example.com.",))
    assert judge(fetch, allow=["WebFetch(domain:example.com)"]).behavior == "allow"
    assert judge(fetch, deny=["WebFetch(domain:example.com)"]).behavior == "deny"
