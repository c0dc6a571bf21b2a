"""Programs that run what stands behind them, in all their spellings: `tool x` or `rm x` is what they run."""

from __future__ import annotations

import shlex

import pytest

from support_permissions import bash, judge

HARMLESS = [
    *("timeout 5", "timeout -k 5 10", "timeout -s KILL 5", "timeout --kill-after 5 10", "timeout --signal KILL 5"),
    *("timeout --signal=KILL 5s", "timeout -v 5m", "timeout --foreground 1.5h", "nice", "nice -n 5", "nice --adjustment 5"),
    *(
        "nice --adjustment=5",
        "nice -5",
        "stdbuf -o0",
        "stdbuf -o 0",
        "stdbuf -i 0 -e L",
        "stdbuf --output=L",
        "time",
        "time -p",
    ),
    *("command", "command -p", "nohup", "xargs", "xargs -n 1", "xargs -L 1", "xargs -P 4", "xargs --max-args 1"),
    *(
        "xargs --max-procs 4",
        "xargs -0 -r",
        "xargs -I{}",
        "xargs -I {}",
        "xargs -d , -0r",
        "xargs --replace={}",
        "timeout 5 nice nohup",
        "\\time -p",
    ),
]
OTHERS = [
    *(
        "timeout x",
        "timeout $X",
        "timeout -z 5",
        "timeout 5 -z",
        "nice -x",
        "stdbuf -x",
        "xargs -I@@ @@",
        "xargs -I $X",
        "xargs -n $X",
        "xargs -a f",
        "command -x",
    ),
    *(
        "env",
        "env -i",
        "env ]=1 a.b=2",
        "env A=1",
        "sudo",
        "sudo -u bob",
        "watch",
        "setsid",
        "flock f",
        "ionice",
        "busybox",
        "coproc",
        "strace -o f",
    ),
    *("env -u A", "env --unset A", "env --unset=A", "env -C /", "env --chdir=/", "env -S", "env -vS", "env --split-string"),
    *(
        "/usr/bin/env",
        "/bin/timeout 5 sudo",
        "eval",
        "exec",
        "unshare",
        "nsenter -t 1",
        "ssh h",
        "script -c",
        "su -c",
        "bash -c",
    ),
    *(
        "find . -exec",
        "find . -execdir",
        "find . -ok",
        "find . -okdir",
        "git bisect run",
        "git submodule foreach",
        "git rebase -x",
    ),
    *(
        "git rebase --exec",
        "find . -exec echo ';' -exec",
        "find . -exec echo {} + -ok",
        "env 'A=1\n2'",
        "/lib/ld-linux-x86-64.so.2",
    ),
]
TEXTS = [
    *(
        "bash -c '@@'",
        "bash -ec '@@' y",
        "bash -Bc '@@'",
        "bash -c -- '@@'",
        "bash -c +x '@@'",
        "bash --norc -c '@@'",
        "sh -xc '@@'",
        "/bin/sh -c '@@'",
    ),
    *(
        "bash -O extglob -c '@@'",
        "eval '@@'",
        "eval 'echo;' @@",
        "eval 'echo a; rm' x",
        "trap '@@' EXIT",
        "trap -- '@@' EXIT INT",
    ),
    *("watch '@@'", "watch -n 1 '@@'", "flock f -c '@@'", "ssh h '@@'", "su -c '@@'", "su bob -c '@@'", "script -c '@@' f"),
    *(
        "env -S '@@'",
        "env -vS '@@'",
        "env --split-string '@@'",
        "sudo sh -c '@@'",
        "git rebase -x '@@'",
        "git submodule foreach '@@'",
    ),
    *(
        "find . -exec sh -c '@@' ';'",
        "find . -exec sh -c '@@' {} +",
        "xargs sh -c '@@'",
        "timeout 5 bash -c '@@'",
        "env A=1 sh -c '@@'",
    ),
]


@pytest.mark.parametrize("wrapper", HARMLESS)
def test_harmless_wrappers_are_taken_off(wrapper: str) -> None:
    assert judge(bash(f"{wrapper} tool x"), allow=["Bash(tool:*)"]).behavior == "allow"
    assert judge(bash(f"{wrapper} tool x"), allow=["Bash(other:*)"]).behavior == "ask"
    if "time" not in wrapper.split():  # a word of the shell's own, which may stand alone
        assert judge(bash(wrapper), allow=["Bash(tool:*)"]).behavior == "ask"
    assert judge(bash(f"{wrapper} $X"), allow=["Bash(tool:*)"]).behavior == "ask"
    assert judge(bash(f"{wrapper} to?l x"), allow=["Bash(tool:*)"]).behavior == "ask"


@pytest.mark.parametrize("wrapper", OTHERS)
def test_no_rule_for_what_they_run_allows_the_others(wrapper: str) -> None:
    assert judge(bash(f"{wrapper} tool x"), allow=["Bash(tool:*)"]).behavior == "ask"


@pytest.mark.parametrize(
    "line", [*(f"{wrapper} rm x" for wrapper in (*HARMLESS, *OTHERS)), *(text.replace("@@", "rm x") for text in TEXTS)]
)
def test_a_forbidding_rule_sees_what_they_run(line: str) -> None:
    if line.startswith(("timeout x", "timeout -z", "timeout 5 -z", "command -x", "script -c rm", "su -c rm", "bash -c rm")):
        return  # none of these runs `rm x`
    assert judge(bash(line), "bypassPermissions", deny=["Bash(rm:*)"]).behavior == "deny"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        *(
            ("trap - EXIT", "allow"),
            ("trap -l", "allow"),
            ("trap -p INT", "allow"),
            ("trap '' INT", "allow"),
            ("trap", "allow"),
        ),
        *(
            ("trap $X EXIT", "ask"),
            ("trap - $X", "ask"),
            ("command -v rm", "allow"),
            ("command -V rm", "allow"),
            ("command", "allow"),
        ),
        *(("sudo $X", "ask"), ("env $X", "ask"), ("env", "allow"), ("env A=1", "allow"), ("bash", "ask"), ("bash -x", "ask")),
        *(
            ("bash $X", "ask"),
            ("bash x.sh", "allow"),
            ('bash -c "$X"', "ask"),
            ("eval $X", "ask"),
            ("source x", "ask"),
            (". x", "ask"),
        ),
        *(
            ("find . -exec {} ';'", "ask"),
            ("find . -name '{}'", "allow"),
            ("find . -exec", "allow"),
            ("git rebase main", "allow"),
        ),
        *(("watch $X y", "ask"), ("watch y $X", "ask"), ("watch y", "allow"), ("timeout 5 r? x", "ask"), ("nohup $X x", "ask")),
        *(
            ("bash -s a", "ask"),
            ("sh -es a b", "ask"),
            ("bash +s a", "ask"),
            ("env -S 'ls a'", "ask"),
            ("env -vS 'ls a' b", "ask"),
        ),
        *(("eval", "allow"), ("xargs", "allow"), ("timeout 5", "allow"), ("git -x", "allow")),
    ],
)
def test_what_cannot_be_seen_is_in_doubt_and_the_rest_is_not(line: str, expected: str) -> None:
    assert judge(bash(line), "bypassPermissions", deny=["Bash(rm x)"]).behavior == expected


@pytest.mark.parametrize(
    "wrapper", ["watch {}", "su -c {} u", "script -c {} f", "ssh host {}", "parallel {}", "env -S {}", "entr -s {}"]
)
def test_a_text_behind_a_wrapper_is_read_as_a_line(wrapper: str) -> None:
    for text in ("true; rm x", "true && (rm x)", "echo $(rm x)", "a=1 rm x", "if true; then rm x; fi"):
        assert judge(bash(wrapper.format(shlex.quote(text))), deny=["Bash(rm:*)"], allow=["Bash"]).behavior == "deny", text
    expected = "ask" if "-S" in wrapper else "allow"  # env takes a text apart by rules of its own
    assert judge(bash(wrapper.format("'true; ls x'")), deny=["Bash(rm:*)"], allow=["Bash"]).behavior == expected
