"""Rules as text: what they mean, and which are refused because they could never work."""

from __future__ import annotations

from typing import Unpack

import pytest

from support_permissions import PLACE, RuleTexts, bash, judge
from toolwright.permissions import PermissionCall, Rule, RuleSet, decide, parse_rule, read_command
from toolwright.permissions.shell.command_rules import allows
from toolwright.permissions.shell.programs import effect
from toolwright.types import OptionsError, PermissionBehavior, PermissionRuleValue, PermissionUpdate


def verdict(call: PermissionCall, **rules: Unpack[RuleTexts]) -> str:
    return judge(call, **rules).behavior


def named(name: str, **values: object) -> PermissionCall:
    return PermissionCall(name, values, is_mcp=name.startswith("mcp__"))


@pytest.mark.parametrize("text", ["Task", "Task()", "Task(*)", " Task "])
def test_a_bare_name_means_the_whole_tool_under_its_own_name(text: str) -> None:
    rule = parse_rule(text, "deny", canonical={"Task": "Agent"}.__getitem__)
    assert rule == Rule("Agent", None, "deny", "options")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *(("", "cannot be read"), ("Read, Edit", "cannot be read"), ("Bash(ls", "cannot be read"), ("a b", "cannot be read")),
        *(("*", "only after mcp__<server>__"), ("mcp__*", "only after"), ("W*", "only after"), ("mcp__a__*(x)", "no content")),
        *(
            ("Bash(:*)", "names no command"),
            ("Bash(env:*)", "runs whatever follows"),
            ("Bash(/bin/sh *)", "runs whatever follows"),
        ),
        *(("Write(a/**)", "Edit(a/**) covers it"), ("Grep(a)", "Read(a) covers it"), ("TodoWrite(x)", "takes no content")),
        *(("Read(!a)", "negated"), ("Read(../a)", "'..'"), ("Read([)", "no path at all"), ("Read(a\nb)", "control character")),
        *(
            ("Edit(*a*a*a*a*a*b)", "too many wildcards"),
            ("WebFetch(example.com)", "domain:example.com"),
            ("WebFetch(domain:a b)", "domain"),
        ),
    ],
)
def test_an_allow_rule_that_cannot_work_is_refused_by_name(text: str, problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        parse_rule(text)
    assert problem in str(caught.value)
    assert repr(text.strip()) in str(caught.value) or repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "covered", "not_covered"),
    [
        ("mcp__calc", "mcp__calc__add", "mcp__calculus__add"),
        ("mcp__calc__*", "mcp__calc__add", "mcp__calculus__add"),
        ("mcp__calc__add", "mcp__calc__add", "mcp__calc__add_all"),
        ("mcp__calc__get_*", "mcp__calc__get_x", "mcp__calc__set_x"),
    ],
)
def test_rules_for_servers_and_their_tools(rule: str, covered: str, not_covered: str) -> None:
    assert verdict(named(covered), allow=[rule]) == "allow"
    assert verdict(named(not_covered), allow=[rule]) == "ask"
    assert verdict(named(covered), deny=[rule]) == "deny"


@pytest.mark.parametrize("rule", ["*", "mcp__*", "*add"])
def test_deny_rules_take_any_name_pattern(rule: str) -> None:
    assert verdict(named("mcp__calc__add"), deny=[rule]) == "deny"
    assert verdict(PermissionCall("Bash", command="npm test"), deny=["mcp__*"]) == "ask"


def test_a_forbidding_rule_may_look_at_one_parameter() -> None:
    assert verdict(named("mcp__db__query", table="users"), allow=["mcp__db"], deny=["mcp__db__query(table:us*)"]) == "deny"
    assert verdict(named("mcp__db__query", table="logs"), allow=["mcp__db"], deny=["mcp__db__query(table:us*)"]) == "allow"
    assert verdict(named("mcp__db__query", table=["users"]), allow=["mcp__db"], deny=["mcp__db__query(table:us*)"]) == "ask"
    assert verdict(named("mcp__db__query", dry=False), allow=["mcp__db"], ask=["mcp__db__query(dry:false)"]) == "ask"
    assert verdict(named("mcp__db__query", at="a:b"), allow=["mcp__db"], deny=["mcp__db__query(at:a:b)"]) == "deny"


def test_rules_for_agents_name_the_agent() -> None:
    assert verdict(PermissionCall("Agent", {"subagent_type": "Explore"}), allow=["Agent(Explore)"]) == "allow"
    assert verdict(PermissionCall("Agent", {"subagent_type": "Plan"}), allow=["Agent(Explore)"]) == "ask"
    assert verdict(PermissionCall("Agent", {}), allow=["Agent(Explore)"]) == "ask"


@pytest.mark.parametrize(("tool", "field"), [("Agent", "subagent_type"), ("Skill", "skill")])
def test_forbidding_rules_for_agents_and_skills_name_them(tool: str, field: str) -> None:
    rules = {"allow": [tool], "deny": [f"{tool}(deploy*)"]}
    assert verdict(PermissionCall(tool, {field: "deploy-all"}), **rules) == "deny"
    assert verdict(PermissionCall(tool, {field: "explore"}), **rules) == "allow"
    assert verdict(PermissionCall(tool, {field: ["deploy"]}), **rules) == "ask"


FETCHED = "huggingface.co github.com raw.githubusercontent.com docs.anthropic.com localhost".split()  # noqa: SIM905 — a word list


@pytest.mark.parametrize("host", FETCHED)
def test_no_host_is_allowed_that_no_rule_names(host: str) -> None:
    """A path or query can carry anything out: `https://huggingface.co/?stolen=…`."""
    fetch = PermissionCall("WebFetch", {"url": f"https://{host}/a?b={'c' * 4000}"}, hosts=(host,), read_only=True)
    assert {judge(fetch, mode).behavior for mode in ("default", "acceptEdits", "plan", "auto")} == {"ask"}
    assert judge(fetch, "dontAsk").behavior == "deny"
    assert verdict(fetch, allow=[f"WebFetch(domain:{host})"]) == "allow"
    with pytest.raises(OptionsError, match="domain"):
        RuleSet.parse(allow=[f"WebFetch(domain:{host}/docs)"])


@pytest.mark.parametrize(
    ("rule", "host", "expected"),
    [
        *(("domain:example.com", "example.com", True), ("domain:Example.com", "EXAMPLE.com.", True)),
        *(("domain:example.com", "example.com.evil.test", False), ("domain:example.com", "a.example.com", False)),
        *(("domain:*.example.com", "a.example.com", True), ("domain:*.example.com", "example.com", False)),
        *(("domain:*.example.com", "evilexample.com", False), ("domain:*", "anything.test", True)),
    ],
)
def test_rules_for_domains(rule: str, host: str, expected: bool) -> None:
    call = PermissionCall("WebFetch", {"url": "x"}, hosts=(host,), read_only=True)
    assert verdict(call, allow=[f"WebFetch({rule})"]) == ("allow" if expected else "ask")
    assert verdict(call, deny=[f"WebFetch({rule})"], allow=["WebFetch"]) == ("deny" if expected else "allow")


def test_a_fetch_whose_host_is_unknown_is_asked_about() -> None:
    assert verdict(PermissionCall("WebFetch"), allow=["WebFetch"], deny=["WebFetch(domain:example.com)"]) == "ask"
    assert verdict(PermissionCall("WebFetch"), allow=["WebFetch(domain:*)"]) == "ask"


@pytest.mark.parametrize(
    ("pattern", "path", "allowed", "denied"),
    [
        ("//etc/hosts", "/etc/hosts", True, True),
        ("//etc/**", "/etc/ssh/key", True, True),
        ("//etc/**", "/etc", False, True),
        ("/etc/hosts", "/etc/hosts", False, False),
        ("/src/a", "/work/app/src/a", True, True),
        ("~/x/**", "/home/ada/x/y", True, True),
        ("~", "/home/ada/deep/y", True, True),
        ("~/x/**", "/home/eve/x/y", False, False),
        ("src/**", "/work/app/src/a", True, True),
        ("src/**", "/work/app/lib/src/a", False, True),
        ("src/**", "/work/lib/src/a", False, True),
        ("./src/**", "/work/app/src/a", True, True),
        ("src/*.py", "/work/app/src/a.py", True, True),
        ("src/*.py", "/work/app/src/b/a.py", False, False),
        (".env", "/work/app/deep/.env", True, True),
        (".env", "/work/other/.env", False, True),
        (".env", "/work/app/.environment", False, False),
        (".env", "/work/app/line\nbreak/.env", False, True),
        ("secret", "/work/app/secret/key", True, True),
        ("secret", "/work/app//./x/../secret/key", True, True),
    ],
)
def test_path_patterns_and_their_anchors(pattern: str, path: str, allowed: bool, denied: bool) -> None:
    edit = PermissionCall("Edit", {}, writes=(path,))
    assert verdict(edit, allow=[f"Edit({pattern})"]) == ("allow" if allowed else "ask")
    assert verdict(edit, deny=[f"Edit({pattern})"], allow=["Edit"]) == ("deny" if denied else "allow")


def test_a_pattern_with_one_slash_is_relative_to_its_settings_file() -> None:
    rules = RuleSet([parse_rule("Edit(/src/**)", base="/work/lib")])
    for path, expected in (("/work/lib/src/a", "allow"), ("/work/app/src/a", "ask")):
        assert decide(PermissionCall("Edit", writes=(path,)), rules=rules, mode="default", place=PLACE).behavior == expected


def test_edit_patterns_cover_every_tool_that_writes_but_the_bare_name_does_not() -> None:
    write = PermissionCall("Write", writes=("/work/app/ok/a",))
    assert verdict(write, allow=["Edit(ok/**)"]) == "allow"
    assert verdict(write, allow=["Edit"]) == "ask"
    assert verdict(write, allow=["Read(ok/**)"]) == "ask"


def test_what_may_not_be_read_may_not_be_written() -> None:
    assert verdict(PermissionCall("Write", writes=("/work/app/.env",)), allow=["Write"], deny=["Read(.env)"]) == "deny"
    assert verdict(PermissionCall("Grep", reads=("/work/app/secret",), read_only=True), deny=["Read(secret/**)"]) == "deny"


def test_path_rules_do_not_cover_commands_or_servers() -> None:
    assert verdict(PermissionCall("Bash", command="npm a", reads=("/work/app/a",)), allow=["Read(**)"]) == "ask"
    assert verdict(PermissionCall("mcp__fs__read", reads=("/work/app/a",), is_mcp=True), allow=["Read(**)"]) == "ask"


def update(
    kind: str, *rules: tuple[str, str | None], behavior: PermissionBehavior | None = "allow", **more: object
) -> PermissionUpdate:
    data = {
        "type": kind,
        "rules": [{"toolName": tool, "ruleContent": content} for tool, content in rules],
        "behavior": behavior,
    }
    return PermissionUpdate.from_dict({**data, **more})


def test_updates_add_replace_and_remove_rules_and_leave_the_old_set_alone() -> None:
    start = RuleSet.parse(allow=["Read"], deny=["Bash"])
    added = start.with_update(update("addRules", ("Bash", "npm test"), ("Glob", "*")))
    assert {str(rule) for rule in added.rules} == {"Read", "Bash", "Bash(npm test)", "Glob"}
    replaced = added.with_update(update("replaceRules", ("Write", None)))
    assert {str(rule) for rule in replaced.rules} == {"Read", "Bash", "Write"}
    removed = replaced.with_update(update("removeRules", ("Write", None), ("Read", None)))
    assert {str(rule) for rule in removed.rules} == {"Read", "Bash"}, "Read came from the options, not from the session"
    assert {str(rule) for rule in start.rules} == {"Read", "Bash"}


def test_updates_that_are_not_about_rules_change_no_rule() -> None:
    rules = RuleSet.parse(allow=["Read"])
    assert rules.with_update(PermissionUpdate("setMode", mode="plan")) is rules


def test_an_update_with_an_impossible_rule_or_no_behavior_is_refused() -> None:
    with pytest.raises(OptionsError, match="names no command"):
        RuleSet().with_update(update("addRules", ("Bash", ":*")))
    with pytest.raises(OptionsError, match="needs a behavior"):
        RuleSet().with_update(update("addRules", ("Bash", None), behavior=None))


def test_updated_names_are_made_canonical() -> None:
    rules = RuleSet().with_update(
        PermissionUpdate("addRules", [PermissionRuleValue("Task")], "deny"), canonical=lambda _: "Agent"
    )
    assert rules.rules == (Rule("Agent", None, "deny", "session"),)


def test_sets_with_the_same_rules_are_equal() -> None:
    assert (
        RuleSet.parse(allow=["A", "B"])
        == RuleSet.parse(allow=["B", "A", "A"])
        == RuleSet.parse(allow=["A"]) | RuleSet.parse(allow=["B"])
    )


def test_a_rule_without_more_is_an_allow_rule_of_the_options() -> None:
    assert parse_rule("Read") == Rule("Read", None, "allow", "options")
    assert RuleSet.parse(allow=["Read"]) == RuleSet([Rule("Read", None, "allow", "options")])
    assert len({RuleSet.parse(allow=["Read"]), RuleSet.parse(allow=["Read"]), RuleSet.parse(deny=["Read"])}) == 2
    assert RuleSet() != object()


def test_a_set_hands_on_what_its_rules_are_read_by() -> None:
    (rule,) = RuleSet.parse(deny=["Task(x)"], source="userSettings", base="/a", canonical={"Task": "Agent"}.__getitem__).rules
    assert (rule.tool, rule.source, rule.base) == ("Agent", "userSettings", "/a")


@pytest.mark.parametrize("text", ["mcp__a__b(x)", "a b(c)", "(x)", "Bash(: *)", "Bash(*: )"])
def test_more_rules_that_could_never_work(text: str) -> None:
    with pytest.raises(OptionsError, match="from here"):
        parse_rule(text, "deny", where="here")


@pytest.mark.parametrize(
    ("rule", "tool", "expected"),
    [
        ("Edit", "MultiEdit", "deny"),
        ("Edit", "NotebookEdit", "deny"),
        ("Read", "NotebookRead", "deny"),
        ("mcp__a", "mcp__a__b__c", "deny"),
        ("mcp__a__b", "mcp__a__b__c", "deny"),
        ("mcp__a__b__c", "mcp__a__b__c", "deny"),
        ("mcp__a", "mcp__ab__c", "ask"),
        ("mcp__a___b", "mcp__a___b__c", "deny"),
        ("mcp__a__*", "mcp__a__b", "deny"),
        ("mcp__a__*", "mcp__ab__c", "ask"),
        ("mcp__*", "mcp__a__b", "deny"),
    ],
)
def test_a_rule_about_a_name_covers_its_forms_and_its_servers_tools(rule: str, tool: str, expected: str) -> None:
    assert verdict(named(tool), deny=[rule]) == expected


def test_rules_that_are_added_leave_those_that_are_there() -> None:
    first = RuleSet().with_update(PermissionUpdate("addRules", rules=[PermissionRuleValue("A")], behavior="deny"))
    both = first.with_update(PermissionUpdate("addRules", rules=[PermissionRuleValue("B")], behavior="deny"))
    assert {rule.tool for rule in both.rules} == {"A", "B"}
    kept = RuleSet([Rule("A", None, "deny", "session", base="/x")])
    assert not kept.with_update(PermissionUpdate("removeRules", rules=[PermissionRuleValue("A")], behavior="deny")).rules
    with pytest.raises(OptionsError, match="needs a behavior"):
        first.with_update(PermissionUpdate("addRules", rules=[PermissionRuleValue("B")]))


def test_an_update_says_whose_rules_they_are_and_names_tools_as_people_do() -> None:
    update = PermissionUpdate("addRules", rules=[PermissionRuleValue("Task")], behavior="deny", destination="session")
    assert RuleSet().with_update(update, canonical={"Task": "Agent"}.__getitem__).rules == (
        Rule("Agent", None, "deny", "session"),
    )


@pytest.mark.parametrize(
    "command", ["./deploy.sh x", "timeout 5 ./deploy.sh x", "env A=1 nice ./deploy.sh x", "sudo ./deploy.sh x"]
)
@pytest.mark.parametrize("rule", ["Bash(./deploy.sh:*)", "Bash(deploy.sh:*)", "Bash(./deploy.sh *)"])
def test_a_forbidden_program_is_found_by_its_path_and_by_its_name_behind_every_wrapper(rule: str, command: str) -> None:
    assert judge(bash(command), deny=[rule], allow=["Bash"]).behavior == "deny"


@pytest.mark.parametrize("command", ["$x a", '"$x" a', "${x}m -rf a", "{a,$x} b"])
def test_a_program_that_is_not_known_may_be_the_forbidden_one_and_is_never_the_allowed_one(command: str) -> None:
    decision = judge(bash(command), deny=["Bash(rm:*)"], allow=["Bash"])
    assert decision.behavior == "ask"
    assert str(decision.rule) == "Bash(rm:*)"
    part = next(read_command(command).certain_parts)
    assert not allows("*", part, effect(part))


@pytest.mark.parametrize("rule", ["mcp__a", "mcp__a__b", "mcp__a__b__c", "mcp__a__b__c__d", "mcp__a__b__*", "mcp__a___b"])
def test_a_rule_for_a_server_finds_its_tools_wherever_its_name_may_end(rule: str) -> None:
    tool = "mcp__a___b__c" if "___" in rule else "mcp__a__b__c__d"
    assert verdict(named(tool), deny=[rule]) == "deny"
    assert verdict(named(f"{tool[:5]}x{tool[5:]}"), deny=[rule]) == "ask"


@pytest.mark.parametrize(
    ("rule", "server", "expected"),
    [
        *(("mcp__a", "mcp__a__b", "ask"), ("mcp__a__*", "mcp__a__b", "ask"), ("mcp__a__b*", "mcp__a__b", "ask")),
        *(("mcp__a__b", "mcp__a__b", "allow"), ("mcp__a__b__*", "mcp__a__b", "allow"), ("mcp__a__b__c*", "mcp__a__b", "allow")),
        *(("mcp__a", "mcp__a", "allow"), ("mcp__a__b__c", "mcp__a__b", "allow"), ("mcp__a__b__c", "mcp__a", "allow")),
    ],
)
def test_an_allow_rule_for_a_server_is_not_about_one_whose_key_begins_with_it(rule: str, server: str, expected: str) -> None:
    assert verdict(PermissionCall("mcp__a__b__c", is_mcp=True, server=server), allow=[rule]) == expected
    assert verdict(PermissionCall("mcp__a__b__c", is_mcp=True, server=server), deny=["mcp__a"]) == "deny"
