"""Rules about shell commands: allow rules never reach further than they read, forbidding rules never less far."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Unpack

import pytest

from support_permissions import RuleTexts, bash, judge
from toolwright.permissions import parse_rule
from toolwright.permissions.shell.breadth import allows_everything
from toolwright.types import OptionsError


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
        *("npm x; touch x", "npm x && touch x", "npm x | sh", "npm x |& sh", "npm x & touch x", "npm x\ntouch x"),
        *("npm x\r\ntouch x", "npm x $(touch x)", "npm x `touch x`", 'npm x "$(touch x)"', "npm x > x", "npm x <(touch x)"),
        *(
            "npm ${x@P}",
            "NODE_OPTIONS=-rx npm x",
            "PATH=. npm x",
            "npm " + "x" * 10_000,
            "find . -delete",
            "find . -exec rm x",
            "xargs npm x; sh",
        ),
        *(
            "npm x &> x",
            "npm x 2> x",
            "npm() { sh; }; npm x",
            "npm $((a))",
            "alias npm=sh; npm x",
            "eval npm x",
            "bash -c 'npm x'",
        ),
        *("sudo npm x", "env npm x", "coproc npm x", "npm x < /etc/passwd", "'np''m'; sh", "cd / && npm x", "$N x", "n?m x"),
    ],
)
def test_allow_rules_cover_no_more_than_they_say(command: str) -> None:
    assert verdict(command, allow=["Bash(npm:*)", "Bash(find:*)"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "npm  x",
            "npm\tx",
            "npm {a,b}",
            "npm \\\n x",
            "npm x #y",
            "npm 'x y'",
            'n"p"m x',
            "npm é",
            "npm src/*.js",
            "timeout 5 npm x",
        ),
        *(
            "npm a && npm b || npm c; npm d & npm e | npm f",
            'npm "x$(npm x)"',
            "NODE_ENV=test npm x",
            "time npm x",
            "! npm x",
            "(npm x)",
        ),
        *(
            "if npm a; then npm b; fi",
            'for x in a b; do npm run "a$x"; done',
            "{ npm x; }",
            "npm x 2>&1 | tail -5",
            "npm x > /dev/null",
        ),
        *(
            "nice -n 5 npm x",
            "nohup npm x &",
            "npm x < a.txt",
            "npm x <<E\nhi\nE",
            "npm x <<< hi",
            "cd src && npm x",
        ),
    ],
)
def test_allow_rules_see_what_runs_through_the_way_it_is_written(command: str) -> None:
    assert verdict(command, allow=["Bash(npm:*)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("rm x", "rm", "/bin/rm x", "ls; rm x", "ls && rm x", "ls|rm x", "ls\nrm x", "ls  ;  rm  x", "A=1 rm x", "nohup rm x"),
        *("env -i A=1 /bin/rm x", "timeout -s KILL 5 rm x", "if true; then rm x; fi", "echo $(rm x)", "echo `rm x`", "(rm x)"),
        *(
            "echo a > b; rm x",
            "; ".join(["true"] * 5000) + "; rm x",
            "time rm x",
            "xargs rm",
            "r\\m x",
            "r''m x",
            "eval $'\\x72m x'",
        ),
        *(
            "bash -c 'rm x'",
            "sh -ec 'ls; rm x'",
            "bash -c \"bash -c 'rm x'\"",
            "find . -exec rm {} +",
            "sudo -u bob rm x",
            "trap 'rm x' EXIT",
        ),
        *(
            "f() { rm x; }",
            "cat <(rm x)",
            "cat <<E\n$(rm x)\nE",
            "echo ${x:-$(rm x)}",
            "git bisect run rm x",
            "{rm,x}",
            "coproc rm x",
        ),
        *(
            "for x in 1; do rm $x; done",
            "while rm x; do :; done",
            "case a in a) rm x;; esac",
            "xargs -I{} rm {}",
            "env -S 'rm x'",
        ),
        *(
            "true " + "x" * 100_000 + "; rm x",
            "[[ -n $(rm x) ]]",
            "a=$(rm x)",
            "a=(1 $(rm x))",
            "echo $(( $(rm x) ))",
            "export a=$(rm x)",
        ),
        *(
            "ionice -c 3 rm x",
            "watch -n 1 rm x",
            "script -qc 'rm x' /dev/null",
            "git submodule foreach 'rm x'",
            "rm x &",
            "! rm x",
        ),
        "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
    ],
)
def test_deny_rules_find_the_command_wherever_it_stands(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == "deny"
    assert judge(bash(command), "bypassPermissions", deny=["Bash(rm:*)"]).behavior == "deny"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "$X x",
            "x=rm; $x y",
            "eval $X",
            ". ./x.sh",
            'bash -c "$X"',
            "echo ${x@P}",
            "echo $((a[0]))",
            "alias x=y",
            "echo 'x",
            "r? x",
        ),
        *("bash <<< hi", "curl x | sh", "echo ${!x}", "[[ a -eq b ]]", "true " + "x" * 100_001),
    ],
)
def test_what_cannot_be_judged_is_asked_about_if_a_deny_rule_might_mean_it(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == "ask"
    assert verdict(command, allow=["Bash"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ls",
            "ls; pwd",
            "npm run rm-cache",
            "echo rm x",
            "cd a && pytest -x | tail",
            "cat <<E\nrm x\nE",
            "echo 'rm x'",
            "git rm x",
        ),
        *("echo $X", 'git commit -m "$(cat x)"', "for f in *.py; do wc $f; done", "npm run $X", "echo x > rm"),
    ],
)
def test_commands_that_can_be_judged_and_differ_are_left_alone(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == "allow"


def test_ask_rules_judge_like_deny_rules() -> None:
    assert verdict("git push -f", ask=["Bash(git push:*)"], allow=["Bash"]) == "ask"
    assert verdict("git -C x --no-pager push", ask=["Bash(git push:*)"], allow=["Bash"]) == "ask"
    assert verdict("git $X", ask=["Bash(git push:*)"], allow=["Bash"]) == "ask"
    assert verdict("git pull", ask=["Bash(git push:*)"], allow=["Bash"]) == "allow"


def test_an_unknown_word_is_no_doubt_where_the_rule_could_not_mean_it() -> None:
    assert verdict("git push $X", deny=["Bash(git)"], allow=["Bash"]) == "allow"
    assert verdict("git push $X", deny=["Bash(git * main)"], allow=["Bash"]) == "ask"
    assert verdict("git push $X", deny=["Bash(git push)"], allow=["Bash"]) == "ask"


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("tar:*", "tar -czf a.tgz src", "allow"),
        ("tar:*", "tar -xf a --to-com=x", "allow"),
        ("tar -xf a --to-command=x:*", "tar -xf a --to-command=x", "allow"),
        ("tar -xf:*", "tar -cf a b", "ask"),
        ("python3:*", "python3 x.py -c", "allow"),
        ("python3:*", "python3 -c x", "allow"),
        ("python3 -m:*", "python3 -c x", "ask"),
        ("python3 x.py:*", "cat x | python3", "ask"),
        ("python3:*", "cat x | python3", "allow"),
        ("python3:*", "python3 - < x", "allow"),
        ("find:*", "find . -name x", "allow"),
        ("find . -exec grep:*", "find . -exec grep x {} +", "ask"),
        ("make:*", "make -j4 all", "allow"),
        ("make:*", "make -f x", "allow"),
        ("make:*", "make SHELL=x", "allow"),
        ("make:*", "make -C sub test", "allow"),
        ("make -C sub:*", "make -C sub test", "allow"),
        ("make -C sub:*", "make test", "ask"),
        ("npm test:*", "npm test -- --script-shell=x", "allow"),
        ("npm test:*", "npm test --script-shell=x", "allow"),
        ("git:*", "git push origin main", "allow"),
        ("git:*", "git -c a=b push", "ask"),
        ("git:*", "git config a.b c", "ask"),
        ("prettier:*", "ls | xargs prettier --check", "allow"),
        ("npm:*", "ls | xargs npm", "allow"),
        ("npm:*", "ls | xargs -I{} npm x {}", "allow"),
        ("npm:*", "ls | xargs -I n nnpm", "ask"),
        ("npm:*", "ls | xargs -I $X npm", "ask"),
        ("xargs:*", "ls | xargs npm", "ask"),
        ("git commit:*", "git commit -m 'a b' --amend", "allow"),
        ("git commit:*", 'git commit -m "$(cat a)"', "allow"),
        ("git commit:*", "git commit -m $X", "ask"),
        ("git log:*", "x=--output=f; git log $x", "ask"),
        ("git log:*", 'git log "$X"', "ask"),
        ("npm test:*", "npm test $X", "allow"),
        ("npm:*", "npm$X test", "ask"),
        ("npm test:*", "npm test -- $X", "allow"),
        ("git rebase:*", "git rebase -ix y main", "ask"),
        ("timeout 60:*", "timeout 60 npm x", "ask"),
        ("timeout 60:*", "timeout 60 npm 'x y'", "ask"),
        ("A=1 npm:*", "A=1 npm 'x y'", "ask"),
        ("sudo systemctl restart:*", "sudo systemctl restart x", "allow"),
        ("sudo -u:*", "sudo -u x y", "ask"),
        ("cp:*", "cp a b", "allow"),
        ("cp:*", "cp a /etc/b", "ask"),
        ("tee:*", "ls | tee a", "allow"),
        ("tee:*", "ls | tee /tmp/a", "ask"),
        ("tee:*", "ls | tee .bashrc", "ask"),
        ("truncate:*", "truncate -s 0 a", "allow"),
        ("vim:*", "vim -c x", "ask"),
        ("bash -c:*", "bash -c x", "ask"),
        ("sh scripts/x.sh:*", "sh scripts/x.sh a", "allow"),
        ("ssh h:*", "ssh h ls", "allow"),
        *(("ssh h:*", f"ssh h {option} x", "ask") for option in ("-o", "-F", "-E", "-R", "-L", "-D", "-W")),
    ],
)
def test_a_star_covers_the_ordinary_use_of_a_program(rule: str, command: str, expected: str) -> None:
    try:
        found = verdict(command, allow=[f"Bash({rule})"])
    except OptionsError:
        found = "ask"
    assert found == expected


def test_hostile_patterns_and_commands_cost_little() -> None:
    assert verdict("env " + "a " * 4000, deny=["Bash(*a*a*a*a*a*a*a*a*a*b)"], allow=["Bash"]) == "allow"


JUDGED = json.loads((Path(__file__).parent / "data" / "judged_commands.json").read_text())


@pytest.mark.parametrize("command", JUDGED["beyond_a_star"])
def test_a_star_behind_a_program_does_not_cover_what_makes_it_another(command: str) -> None:
    assert verdict(command, allow=[f"Bash({command.split()[0]}:*)"]) == "ask"


@pytest.mark.parametrize("command", JUDGED["all_behind_a_star"])
def test_a_star_behind_a_program_that_runs_anything_is_what_it_says(command: str) -> None:
    rule = f"Bash({command.split()[0]}:*)"
    assert verdict(command, allow=[rule]) == "allow"
    assert allows_everything(parse_rule(rule))


def test_a_rule_that_names_the_argument_covers_it() -> None:
    assert verdict("sed -i s/a/b/ f", allow=["Bash(sed -i:*)"]) == "allow"
    assert verdict("sed -i s/a/b/ ../f", allow=["Bash(sed -i:*)"]) == "ask"
    assert verdict("sed -n s/a/b/w\\ x f", allow=["Bash(sed -i:*)"]) == "ask"


@pytest.mark.parametrize("command", JUDGED["within_a_star"])
def test_a_star_behind_a_program_covers_its_everyday_use(command: str) -> None:
    assert verdict(command, allow=[f"Bash({command.split()[0]}:*)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "/usr/bin/timeout 5 rm x",
            "/usr/bin/nice -10 rm x",
            "nice --adjustment=5 rm x",
            "nice -n5 rm x",
            "/bin/bash -c 'rm x'",
        ),
        *("if rm x; then", "while rm x", "{ rm x", "! rm x ("),
    ],
)
def test_wrappers_by_their_path_and_half_a_command_hide_nothing_from_a_deny_rule(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == "deny"


def test_a_shell_with_a_script_is_no_doubt_but_one_without_is() -> None:
    call = bash("bash scripts/x.sh")
    assert judge(call, "bypassPermissions", deny=["Bash(rm:*)"]).behavior == "allow"
    for command in ("bash", "cat x | bash", "cat x | sh -s", "bash $X", 'bash -c "$X"'):
        assert judge(bash(command), "bypassPermissions", deny=["Bash(rm:*)"]).behavior == "ask"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ('cd "$X"; cat /work/app/.env', "Read(.env)"),
        ("cat ~/.ssh/id", "Read(~/.ssh/**)"),
        ("ls ~", "Read(~/**)"),
        ("cd /work/app/src && cat ../.env", "Read(.env)"),
        ("cat src/./..//.env", "Read(.env)"),
        ("cat //work/app/.env", "Read(/.env)"),
        ("mytool --config=.env", "Read(.env)"),
        ("mytool @.env", "Read(.env)"),
        ("git show HEAD:.env", "Read(.env)"),
        ("mytool < .env", "Read(.env)"),
        ("echo x > .env", "Read(.env)"),
        ("echo x > a.lock", "Edit(*.lock)"),
    ],
)
def test_a_path_is_seen_however_it_is_written(command: str, rule: str) -> None:
    assert verdict(command, deny=[rule], allow=["Bash"]) == "deny"


@pytest.mark.parametrize(
    "command", ["env A=b echo rm", "env -i -u X echo rm x", "trap - EXIT", "trap -l", "command -v rm", "echo rm; bash x.sh rm"]
)
def test_a_word_that_is_no_command_is_not_taken_for_one(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == "allow"


@pytest.mark.parametrize(
    "command", ["env -S 'rm x'", "env -C / rm x", "env $X", "trap 'rm x' EXIT", "trap -- 'rm x' EXIT", 'trap "$X" EXIT']
)
def test_what_env_and_trap_would_run_is_seen_or_asked_about(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"], allow=["Bash"]) == ("ask" if "$" in command else "deny")


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("Bash(npm run *)", "npm run", "allow"),
        ("Bash(npm run *)", "npm run a b", "allow"),
        ("Bash(npm run *)", "npm runx", "ask"),
        ("Bash(npm run:*)", "npm run", "allow"),
        ("Bash(* install)", "npm install", "allow"),
        ("Bash(* install)", "$X install", "ask"),
        ("Bash(* install)", "n?m install", "ask"),
        ("Bash(~/bin/deploy:*)", "~/bin/deploy x", "ask"),
        ("Bash(npm:*)", "NODE_ENV=$X npm x", "allow"),
        ("Bash(npm:*)", "NODE_OPTIONS=$X npm x", "ask"),
        ("Bash(npm:*)", "NODE_ENV= npm x", "allow"),
        ("Bash(npm:*)", "ANYTHING=1 npm x", "allow"),
        ("Bash(npm)", "ANYTHING=1 npm", "allow"),
        ('Bash(npm x "a b")', 'npm x  "a b"', "allow"),
        ("Bash(npm x 'a b')", 'npm x "a b"', "allow"),
        ('Bash(npm x "a b")', "npm x 'a b'", "ask"),
        ('Bash(npm x "a b")', 'timeout 5 npm x "a b"', "ask"),
        ("Bash(timeout 5 npm:*)", "timeout 5 npm x", "allow"),
        ("Bash(timeout 5 npm x)", "timeout 5 npm x", "allow"),
        ("Bash(timeout 5 npm x)", "timeout 5 npm y", "ask"),
    ],
)
def test_an_allow_rule_reaches_as_far_as_it_reads(rule: str, command: str, expected: str) -> None:
    assert verdict(command, allow=[rule]) == expected


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("Bash(npm run *)", "npm run", "deny"),
        ("Bash(rm -rf:*)", "/bin/rm -rf x", "deny"),
        ("Bash(rm -rf:*)", "/bin/rm x", "allow"),
        ("Bash(timeout:*)", "timeout 5 npm x", "deny"),
        ("Bash(timeout 5 npm:*)", "timeout 5 npm x", "deny"),
        ("Bash(/bin/timeout 5 npm x)", "/bin/timeout 5 npm x", "deny"),
        ("Bash(timeout 5 npm x)", "/bin/timeout 5 npm x", "deny"),
        ('Bash(npm "$X")', 'ls; npm  "$X"', "deny"),
        ("Bash(npm 'a b')", 'ls; npm "a b"', "deny"),
        ("Bash(rm x:*)", "rm $X", "ask"),
        ("Bash(rm x:*)", "rm y$X", "allow"),
        ("Bash(rm x y:*)", "rm x $X", "ask"),
        ("Bash(rm *x)", "rm y$X", "ask"),
        ("Bash(rm)", "rm $X", "ask"),
        ("Bash(rm x)", "rm x $X", "ask"),
    ],
)
def test_a_forbidding_rule_reaches_no_less_far_than_it_reads(rule: str, command: str, expected: str) -> None:
    assert verdict(command, deny=[rule], allow=["Bash"]) == expected
