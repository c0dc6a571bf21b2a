"""Shell commands judged by plain words: allow rules never reach further, forbidding rules never less far."""

from __future__ import annotations

from typing import Unpack

import pytest

from support_permissions import RuleTexts, bash, judge


def verdict(command: str, **rules: Unpack[RuleTexts]) -> str:
    return judge(bash(command), **rules).behavior


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        *(("npm run build", "npm run build", True), ("npm run build", "npm run build --x", False)),
        *(
            ("ls:*", "ls", True),
            ("ls:*", "ls -la src", True),
            ("ls:*", "lsof", False),
            ("ls *", "ls", True),
            ("ls*", "lsof", True),
        ),
        *(
            ("npm *", "npm run x", True),
            ("git * main", "git push origin main", True),
            ("git * main", "git push origin mainly", False),
        ),
        *(("timeout 60 pytest:*", "timeout 60 pytest -x", True), ("* --version", "node --version", True)),
        *(("* --version", "env touch x --version", False), ("make *", "make -j4 CC=gcc all", True)),
        ('pytest -k "not slow"', 'pytest -k "not slow"', True),
    ],
)
def test_allow_rules_cover_plain_words(rule: str, command: str, expected: bool) -> None:
    assert verdict(command, allow=[f"Bash({rule})"]) == ("allow" if expected else "ask")


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ls; touch x",
            "ls && touch x",
            "ls | sh",
            "ls |& sh",
            "ls & touch x",
            "ls\ntouch x",
            "ls\r\ntouch x",
            "ls $(touch x)",
        ),
        *(
            "ls `touch x`",
            'ls "$(touch x)"',
            "ls > x",
            "ls <(touch x)",
            "ls ${x@P}",
            "A=1 ls",
            "ls *",
            "ls ~",
            "ls  x",
            "ls\tx",
            "ls {a,b}",
        ),
        *("ls \\\n x", "ls #x", "ls 'x'", "ls !x", "ls é", "ls " + "x" * 10_000, "find . -delete", "find . -exec rm x"),
    ],
)
def test_allow_rules_with_a_wildcard_cover_nothing_but_plain_words(command: str) -> None:
    assert verdict(command, allow=["Bash(ls:*)", "Bash(find:*)"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *("rm x", "rm", "/bin/rm x", "ls; rm x", "ls && rm x", "ls|rm x", "ls\nrm x", "ls  ;  rm  x", "A=1 rm x", "nohup rm x"),
        *("env -i A=1 /bin/rm x", "timeout -s KILL 5 rm x", "if true; then rm x; fi", "echo $(rm x)", "echo `rm x`", "(rm x)"),
        *("echo a > b; rm x", "; ".join(["true"] * 5000) + "; rm x", "time rm x", "xargs rm"),
    ],
)
def test_deny_rules_find_the_command_where_it_can_be_seen(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == "deny"


@pytest.mark.parametrize(
    "command", ["r\\m x", "r''m x", "$X x", "eval $'\\x72m x'", "x=rm; $x y", "cat <<E\nhi\nE", "echo " + "x" * 10_001]
)
def test_what_cannot_be_judged_is_asked_about_if_a_deny_rule_might_mean_it(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == "ask"
    assert verdict(command, allow=["Bash"]) == "allow"


@pytest.mark.parametrize("command", ["ls", "ls; pwd", "npm run rm-cache", "echo rm x", "cd a && pytest -x | tail"])
def test_commands_that_can_be_judged_and_differ_are_left_alone(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == "allow"


def test_ask_rules_judge_like_deny_rules() -> None:
    assert verdict("git push -f", ask=["Bash(git push:*)"], allow=["Bash"]) == "ask"
    assert verdict("git pull", ask=["Bash(git push:*)"], allow=["Bash"]) == "allow"


def test_hostile_patterns_and_commands_cost_little() -> None:
    assert verdict("env " + "a " * 4000, deny=["Bash(*a*a*a*a*a*a*a*a*a*b)"], allow=["Bash"]) == "allow"
