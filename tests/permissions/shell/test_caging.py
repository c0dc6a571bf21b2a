"""What only looks runs in the cage, whatever its arguments are; what the cage would surely stop is asked about at once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from support_permissions import KNOWN_FILES, PLACE, KnownFiles, bash, judge, read
from toolwright.permissions import PermissionCall, SessionFolders
from toolwright.permissions.policy import STOPPED_IN_CAGE
from toolwright.permissions.shell.policy import NO_CAGE
from toolwright.types import PermissionMode

CAGED = SessionFolders(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES, cage=True, readable=("/usr", "/etc/os-release"))

LOOKING = [
    *(
        "find . -name '*.py' | xargs wc -l",
        "find . -type f -exec grep -l x {} +",
        "xargs -I{} cat {} < a",
        "cat $(git ls-files)",
    ),
    *("diff <(sort a) <(sort b)", 'while read -r f; do wc -l "$f"; done < a', "for ((i = 0; i < 3; i++)); do echo $i; done"),
    *(
        "if [[ $x -gt 3 ]]; then echo ${x/a/b}; fi",
        "echo $((x + 1))",
        "[ $x -gt 3 ] && ls",
        'f() { grep x "$1"; }; f a',
        "echo ${!x} ${x@Q}",
    ),
    *(
        "git grep -n x",
        "git log --unknown-option x",
        "git -C sub log",
        "git branch -a",
        "git stash list",
        "git submodule status",
    ),
    *(
        "npm ls",
        "npm pkg get name",
        "pip list",
        "pip show x",
        "cargo tree",
        "go list ./...",
        "go env GOPATH",
        "cargo --version",
    ),
    *("grep -R x .", "rg -z x", "sed ':a;N;$!ba;s/x/y/' a", "awk '/a|b/ {n += $1 > 3} END {print n}' a", "jq '.env' a.json"),
    *("shopt -s globstar; ls **/*.py", "mapfile -t x < a; echo ${#x[@]}", "VERSION=$(git describe); echo $VERSION", "cat $F"),
    *("cd $D && ls", "cd sub && ls && cd ..", "cat /usr/share/x", "cat /etc/os-release", "ls 2> /dev/null", "X=1 ls", "less a"),
    *(
        "/usr/bin/grep --weird x a",
        "timeout 5 rg x",
        "time ls",
        "(ls; pwd) | cat",
        "{ ls; } 2>&1",
        "ls & wait",
        "export A=1; ls",
    ),
]


@pytest.mark.parametrize("command", LOOKING)
@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk", "acceptEdits", "auto"])
def test_what_only_looks_runs_in_the_cage_in_every_mode(command: str, mode: PermissionMode) -> None:
    decision = judge(bash(command), mode, CAGED)
    assert (decision.behavior, decision.caged) == ("allow", True), decision.reason


ACTING = [
    *("rm a", "touch a", "mkdir a", "tee a", "cp a b", "ls > a", "ls >> a", "ls &> $X", "cat <> a", "ls > >(cat)"),
    *("sed -i s/a/b/ f", "sed -ni p f", "sed 's/a/b/w f' x", "sed '1e id' x", "sort -o a b", "sort --outp=a b", "uniq a b"),
    *("find . -delete", "find . -exec rm {} +", "find . -fprint a", "find . -ok cat {} \\;", "find . -exec sh -c x \\;"),
    *("awk 'BEGIN {system(\"id\")}'", "awk '{print > \"x\"}' a", "awk '{print | \"sh\"}' a", "awk 'BEGIN {print ENVIRON[1]}'"),
    *("xargs rm", "xargs sh", "xargs -a f cat", "cat ~/.gitconfig", "cat /root/x", "ls ..", "cat ../x", "cat /proc/1/environ"),
    *("grep --file=/etc/shadow x", "cat < /dev/tcp/h/80", "cd /tmp && ls", "git -C ../x log", "git log -- ../x"),
    *("curl x", "wget x", "ssh h", "ping h", "ps aux", "lsof", "pgrep x", "pidof x", "top", "kill 1", "ss", "netstat"),
    *("env", "printenv", "printenv A", "export", "declare -p", "set", "jq env a", "systemctl", "journalctl", "dmesg"),
    *("eval ls", "eval $X", ". ./a", "source a", "bash -c ls", "$X", "$(cat a)", "./a", "sub/ls", "coproc ls", "alias a=b"),
    *("git -c a=b log", "git -p log", "git diff --output=x", "git grep -O./x y", "git branch x", "git stash", "git ls-remote"),
    *("PATH=. ls", "LD_PRELOAD=x ls", "GIT_PAGER=x git log", "export PATH=.; ls", "RIPGREP_CONFIG_PATH=x rg y", "IFS=x; ls"),
    *("npm view x", "npm install", "pip install x", "cargo build", "go vet", "docker ps", "f() { rm a; }; f", "ls; unknown"),
    *(
        "echo 'x",
        "rg --pre x y",
        "fd -x rm",
        "tree -o a",
        "date -s x",
        "hostname x",
        "file -C -m x",
        "xxd -r a b",
        "go env -w A=b",
    ),
]


@pytest.mark.parametrize("command", ACTING)
@pytest.mark.parametrize("mode", ["default", "plan", "auto"])
def test_what_the_cage_would_stop_or_cannot_be_seen_is_asked_about(command: str, mode: PermissionMode) -> None:
    decision = judge(bash(command), mode, CAGED)
    assert decision.behavior == "ask", decision.reason


@pytest.mark.parametrize("rule", ["git log:*", "git *", "find:*", "awk:*", "sed *", "xargs:*", "cat:*"])
def test_a_rule_for_a_program_that_looks_runs_it_in_the_cage_too(rule: str) -> None:
    for command in ("git log -p $X", "find . -weird", "awk '/a|b/' f", "sed ':a' f", "ls | xargs cat", "cat $X"):
        assert judge(bash(command), place=CAGED, allow=[f"Bash({rule})"]).caged


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("cat:*", "cat /var/log/x", "ask"),
        ("cat /var/log/*", "cat /var/log/x", "allow"),
        ("cat /var/log:*", "cat /var/log/x", "ask"),
        ("cat /var/log/x", "cat /var/log/x", "allow"),
        ("sort:*", "sort -o a b", "ask"),
        ("sort -o:*", "sort -o a b", "allow"),
        ("git log:*", "git log --output=x", "ask"),
        ("xargs:*", "ls | xargs rm", "ask"),
        ("find:*", "find . -delete", "ask"),
        ("git branch:*", "git branch x", "allow"),
        ("git stash:*", "git stash pop", "allow"),
        ("Bash", "cat /var/log/x", "allow"),
    ],
)
def test_outside_the_cage_a_rule_has_to_say_more_than_the_name_of_a_program_that_looks(
    rule: str, command: str, expected: str
) -> None:
    decision = judge(bash(command), place=CAGED, allow=[rule if rule == "Bash" else f"Bash({rule})"])
    assert (decision.behavior, decision.caged) == (expected, False)


def test_a_line_with_a_program_that_a_rule_allows_runs_outside_so_the_rest_must_be_known_to_the_last_word() -> None:
    allow = ["Bash(npm test:*)", "Bash(cat:*)"]
    for command in ("npm test | head", "npm test; git log -1"):
        decision = judge(bash(command), place=CAGED, allow=allow)
        assert (decision.behavior, decision.caged) == ("allow", False)
    for command in ("npm test; cat $X", "npm test; git grep x", "npm test; echo $((x))", "npm test | xargs wc"):
        assert judge(bash(command), place=CAGED, allow=allow).behavior == "ask"


def test_a_command_that_the_cage_stopped_is_put_to_a_person() -> None:
    stopped = replace(bash("git log"), stopped_in_cage=True)
    for allow in ((), ("Bash(git log:*)",)):
        decision = judge(stopped, place=CAGED, allow=allow)
        assert (decision.behavior, decision.reason) == ("ask", STOPPED_IN_CAGE)
    assert judge(stopped, "dontAsk", CAGED).behavior == "deny"
    allowed = judge(stopped, place=CAGED, allow=["Bash(git log)"])
    assert (allowed.behavior, allowed.caged) == ("allow", False)


def test_bypass_runs_everything_outside_the_cage() -> None:
    decision = judge(bash("git log"), "bypassPermissions", CAGED)
    assert (decision.behavior, decision.caged) == ("allow", False)


def test_mode_plan_cages_also_what_rules_allow_outright() -> None:
    for allow in ("Bash", "Bash(git log -1)"):
        assert judge(bash("git log -1"), "plan", CAGED, allow=[allow]).caged
    assert judge(bash("npm test"), "plan", CAGED, allow=["Bash"]).behavior == "ask"


@pytest.mark.parametrize("command", ["git log $X", "echo $((x))", "f() { ls; }; f", "cat <(ls)"])
def test_a_rule_that_forbids_is_as_strict_as_without_the_cage(command: str) -> None:
    place = replace(CAGED, cage=False)
    for deny in ("Bash(git log -p:*)", "Bash(ls:*)", "Bash(touch:*)"):
        without, within = (judge(bash(command), place=here, deny=[deny], allow=["Bash"]) for here in (place, CAGED))
        if without.behavior != "allow":
            assert within.behavior == without.behavior


class Holding(KnownFiles):
    """Every folder holds a file that is hidden, and git tracks it."""

    def holds(self, folder: str, covers: object) -> bool | None:
        return True

    def git_tracks(self, folder: str, covers: object) -> bool:
        return True


@pytest.mark.parametrize("command", ["grep -r x .", "rg x", "cat $X", "grep -R x .", "find . -exec cat {} +"])
def test_what_deny_rules_hide_is_hidden_by_the_cage(command: str) -> None:
    place = replace(CAGED, files=Holding())
    for allow in ((), ("Bash",), (f"Bash({command})",)) if "-R" not in command and "find" not in command else ((),):
        decision = judge(bash(command), place=place, deny=["Read(.env)"], allow=allow)
        assert (decision.behavior, decision.caged) == ("allow", True), decision.reason
    assert judge(bash(command), place=place, ask=["Read(.env)"]).behavior == "ask"
    assert judge(bash("cat .env"), place=place, deny=["Read(.env)"]).behavior == "deny"


def test_no_rule_or_hook_takes_a_command_out_of_the_cage_that_may_read_what_is_hidden() -> None:
    decision = judge(bash("grep -r x ."), place=replace(CAGED, files=Holding()), deny=["Read(.env)"], allow=["Bash"])
    assert (decision.caged, decision.reason_type) == (True, "safetyCheck")
    bypassing = judge(bash("grep -r x ."), "bypassPermissions", replace(CAGED, files=Holding()), deny=["Read(.env)"])
    assert bypassing.behavior == "ask"


@pytest.mark.parametrize("command", ["git grep x", "git log --weird -p", "git show", "git diff"])
def test_git_still_asks_where_it_keeps_a_file_that_is_hidden(command: str) -> None:
    assert judge(bash(command), place=replace(CAGED, files=Holding()), deny=["Read(.env)"]).behavior == "ask"
    assert judge(bash("git status"), place=replace(CAGED, files=Holding()), deny=["Read(.env)"]).caged


@pytest.mark.parametrize("command", ["ls -la", "cat a b", "cd src && ls", "grep -rn x src | head -5", "find . -type f"])
def test_without_a_cage_plain_commands_still_run(command: str) -> None:
    for mode in ("default", "plan"):
        decision = judge(bash(command), mode, replace(CAGED, cage=False))
        assert (decision.behavior, decision.caged) == ("allow", False)


@pytest.mark.parametrize(
    "command",
    ["git status", "cat *", "echo $X", "cat 'a b'", "ls > /dev/null", "awk x a", "cat <<E\nE", "(ls)", "X=1 ls", "ls\nls"],
)
def test_without_a_cage_nothing_else_does(command: str) -> None:
    place = replace(CAGED, cage=False)
    assert judge(bash(command), place=place).behavior == "ask"
    assert judge(bash(command), "plan", place).behavior == "ask"
    assert judge(bash("git status"), place=place).reason == NO_CAGE
    assert judge(bash("git status"), place=place, allow=["Bash(git status:*)"]).behavior == "allow"


@pytest.mark.parametrize(
    ("path", "expected"), [("/usr/lib/x", "allow"), ("/usr", "allow"), ("/usrx", "ask"), ("/etc/shadow", "ask")]
)
def test_file_tools_read_the_same_places(path: str, expected: str) -> None:
    assert judge(read(path), place=CAGED).behavior == expected
    assert judge(read(path), place=CAGED, deny=["Read(//usr/**)"]).behavior in ("deny", "ask")


def test_a_link_out_of_a_readable_place_is_asked_about() -> None:
    call = PermissionCall("Read", {}, reads=("/usr/x", "/etc/shadow"), read_only=True)
    assert judge(call, place=CAGED).behavior == "ask"


def test_nothing_is_written_where_only_reading_is_free() -> None:
    assert judge(bash("touch /usr/x"), "acceptEdits", CAGED).behavior == "ask"
    assert judge(PermissionCall("Write", {}, writes=("/usr/x",)), "acceptEdits", CAGED).behavior == "ask"
    assert judge(bash("ls | tee /usr/x"), place=CAGED, allow=["Bash(tee:*)"]).behavior == "ask"


class HostileSub(KnownFiles):
    """A machine where the repository in `/work/app/sub` names programs, one of which the cage's environment overrules."""

    def git_is_plain(self, folder: str, *, caged: bool = False) -> bool:
        return folder != f"{PLACE.cwd}/sub" and (caged or folder != f"{PLACE.cwd}/hooked")


@pytest.mark.parametrize(
    ("command", "caged"),
    [
        ("git status", True),
        ("git -C other log -p", True),
        ("cd hooked && git status", True),
        ("cd sub && git status", False),
        ("git -C sub log -p", False),
        ("git -C ./other/../sub log -p", False),
        ("git --no-pager -C sub diff", False),
        ('git -C "$x" log', False),
        ("git -C other -C ../sub log", False),
        ("ls | xargs git -C sub blame", False),
        ("cat $(git -C sub ls-files)", False),
    ],
)
def test_git_looks_unasked_only_at_repositories_that_name_no_program(command: str, caged: bool) -> None:
    place = replace(CAGED, files=HostileSub())
    found = judge(bash(command), place=place, cage=True)
    assert found.caged is caged
    assert caged or found.behavior == "ask"


@pytest.mark.parametrize("words", ["GIT_CONFIG_COUNT", "x GIT_PAGER", "-v PATH", '"$x"'])
def test_what_the_environment_holds_against_programs_is_not_taken_away_unasked(words: str) -> None:
    assert judge(bash(f"unset {words}; git status"), place=CAGED, cage=True).behavior == "ask"


def test_variables_of_a_script_may_be_unset() -> None:
    assert judge(bash("x=1; unset x; git status"), place=CAGED, cage=True).caged
