"""Commands that only look run unasked inside the working folders, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Unpack

import pytest
from msgspec.structs import replace

from support_permissions import KNOWN_FILES, PLACE, KnownFiles, RuleTexts, bash, judge
from toolwright.permissions import Decision, RuleSet, SessionFolders, decide
from toolwright.permissions.shell.git_commands import keys_are_plain
from toolwright.permissions.shell.scripts import sed_only_looks

WORKING = SessionFolders(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES)


def decided(command: str, place: SessionFolders = WORKING) -> Decision:
    """The decision beside a program that a rule allows: there is no cage for such a line, so every word has to be known."""
    return judge(bash(f"approved; {command}"), place=place, allow=["Bash(approved)"])


JUDGED = json.loads((Path(__file__).parent / "data" / "judged_commands.json").read_text())


@pytest.mark.parametrize("command", JUDGED["acts"])
def test_what_is_not_known_to_only_look_inside_is_asked_about(command: str) -> None:
    assert decided(command).behavior == "ask"
    alone = judge(bash(command), place=WORKING, cage=True)
    assert alone.behavior != "allow" or alone.caged


@pytest.mark.parametrize("command", JUDGED["looks"])
def test_what_only_looks_inside_runs_unasked(command: str) -> None:
    decision = decided(command)
    assert decision.behavior == "allow", decision.reason
    assert judge(bash(command), place=WORKING, cage=True).caged


@pytest.mark.parametrize("command", ["git status", "git diff", "git log -p", "cd sub && git status"])
def test_git_looks_unasked_only_where_the_repository_names_no_program(command: str) -> None:
    class Hostile(KnownFiles):
        def git_is_plain(self, folder: str, *, caged: bool = False) -> bool:
            return False

    assert decided(command, SessionFolders(PLACE.cwd, (), PLACE.home, Hostile())).behavior == "ask"


@pytest.mark.parametrize(
    ("command", "expected"),
    [("cat a", "ask"), ("timeout 5 cat a", "ask"), ("ls | cat", "ask"), ("ls", "allow"), ("/bin/cat a", "allow")],
)
def test_a_program_that_lies_in_the_working_folders_is_not_the_one_of_that_name(command: str, expected: str) -> None:
    class Planted(KnownFiles):
        def matching(self, pattern: str) -> tuple[str, ...] | None:
            return (pattern,) if pattern == "/work/app/.venv/bin/cat" else ()

    place = SessionFolders(PLACE.cwd, (), PLACE.home, Planted(), programs=("/work/app/.venv/bin",))
    decision = decided(command, place)
    assert (decision.behavior, decision.blocked_path) == (expected, "/work/app/.venv/bin/cat" if expected == "ask" else None)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat sub/../a", "allow"),
        ("cat sub//..//../x", "ask"),
        ("cat ./sub/./../../x", "ask"),
        ("cat /work//app/a", "allow"),
        ("cat /work/./app/a", "allow"),
        ("cat /work/app/../x", "ask"),
        ("cat /../work/app/a", "allow"),
        ("cd $X && cat a", "ask"),
        ("cd $X && cd sub && cat a", "ask"),
        ("cd sub && cd .. && cat a", "allow"),
        ("cd sub && cd ../.. && cat x", "ask"),
        ("cat 'a\nb'", "ask"),
        ("cat ~", "ask"),
        ("cat ~/x", "ask"),
        ("cat ~bob/x", "ask"),
        ("cat '~/x'", "allow"),
        ("cd ~/.. && cat a", "ask"),
    ],
)
def test_where_a_path_lies_is_reckoned_as_the_shell_does(command: str, expected: str) -> None:
    assert decided(command).behavior == expected


def test_without_a_home_a_tilde_is_not_known() -> None:
    assert decided("cat ~/x", SessionFolders("/work/app", (), None, KNOWN_FILES)).behavior == "ask"
    assert decided("cat ~/x", SessionFolders("/home/ada", (), "/home/ada", KNOWN_FILES)).behavior == "allow"


@pytest.mark.parametrize(
    ("matched", "command", "expected"),
    [
        (("/work/app/-x",), "cat *", "ask"),
        (("/work/app/-x",), "cat ./*", "allow"),
        (("/work/app/a-x",), "cat *", "allow"),
        ((), "cat *.none", "allow"),
        (None, "cat *", "ask"),
        (("/work/x",), "cat ../*", "ask"),
    ],
)
def test_a_pattern_is_what_it_matches(matched: tuple[str, ...] | None, command: str, expected: str) -> None:
    class Matching(KnownFiles):
        def matching(self, pattern: str) -> tuple[str, ...] | None:
            assert pattern.startswith("/work/")
            return matched

    assert decided(command, SessionFolders(PLACE.cwd, (), PLACE.home, Matching())).behavior == expected


@pytest.mark.parametrize(
    ("command", "expected"), [("cd link && cat a", "ask"), ("cd link && cat ../a", "ask"), ("cd link/sub && cat a", "ask")]
)
def test_both_ends_of_a_link_count_for_what_follows_a_cd(command: str, expected: str) -> None:
    class Linked(KnownFiles):
        def spellings(self, path: str) -> tuple[str, ...]:
            real = path.replace("/work/app/link", "/etc")
            return (real,) if real == path else (real, path)

    assert decided(command, SessionFolders(PLACE.cwd, (), PLACE.home, Linked())).behavior == expected


@pytest.mark.parametrize(
    "target",
    ["..", "../..", "/srv/x", "/srv/x/", "/srv", "/", "~", "/home/ada", "/home", "/srv/x/app/", ".*", "{*,.*}", "/.*", "../*"],
)
def test_no_folder_above_the_working_ones_is_removed_unseen(target: str) -> None:
    place = SessionFolders("/srv/x/app", (), "/home/ada", KNOWN_FILES)
    decision = decide(bash(f"rm -rf {target}"), rules=RuleSet(), mode="bypassPermissions", place=place)
    assert decision.behavior == "ask"


@pytest.mark.parametrize("target", ["/srv/y/app", "../app2", "/srv/x/ap", "sub", "/home/bob/x", "sub/*", "/srv/y/.*", "*.pyc"])
def test_other_removals_are_not_a_matter_of_their_own(target: str) -> None:
    place = SessionFolders("/srv/x/app", (), "/home/ada", KNOWN_FILES)
    decision = decide(bash(f"rm -rf {target}"), rules=RuleSet(), mode="bypassPermissions", place=place)
    assert decision.behavior == "allow"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git mv a .mcp.json", "ask"),
        ("git mv -f .mcp.json a", "ask"),
        ("git rm --cached .mcp.json", "ask"),
        ("git restore .mcp.json", "ask"),
        ("git --no-pager restore .mcp.json", "ask"),
        ("git checkout HEAD -- .mcp.json", "ask"),
        ("git checkout -- a .mcp.json", "ask"),
        ("git checkout -- a", "allow"),
        ("git checkout .mcp.json", "ask"),
        ("git checkout main", "allow"),
        ("git add .mcp.json", "allow"),
        ("git mv a b", "allow"),
        ("git", "allow"),
    ],
)
def test_git_writes_no_protected_file_that_it_names(command: str, expected: str) -> None:
    rules = RuleSet.parse(allow=["Bash(git:*)"])
    assert decide(bash(command), rules=rules, mode="default", place=WORKING).behavior == expected


def test_a_rule_about_the_home_means_nothing_without_one() -> None:
    place = SessionFolders(PLACE.cwd, (), None, KNOWN_FILES)
    for rules in (RuleSet.parse(deny=["Read(~/a)"]), RuleSet.parse(allow=["Read(~/a)"])):
        assert decide(bash("cat /home/ada/a"), rules=rules, mode="default", place=place).behavior == "ask"


def test_a_link_that_leads_outside_is_asked_about() -> None:
    class Linked(KnownFiles):
        def spellings(self, path: str) -> tuple[str, ...]:
            return ("/etc/passwd", path) if path.endswith("/link") else (path,)

        def matching(self, pattern: str) -> tuple[str, ...] | None:
            return ("/work/app/link", "/work/app/a")

    place = SessionFolders(PLACE.cwd, (), PLACE.home, Linked())
    assert [decided(command, place).behavior for command in ("cat link", "cat *", "cat a", "cd link && ls")] == [
        "ask",
        "ask",
        "allow",
        "ask",
    ]


@pytest.mark.parametrize("text", ["\u202e", "\u200b", "\u00a0", "\U000e0041", "\x1b[2K", "\r", "\x07", "\ufeff"])
def test_characters_that_hide_something_are_asked_about_in_every_mode(text: str) -> None:
    for mode in ("default", "bypassPermissions"):
        decision = decide(bash(f"echo {text}x"), rules=RuleSet.parse(allow=["Bash"]), mode=mode, place=WORKING)
        assert (decision.behavior, decision.reason_type) == ("ask", "safetyCheck")


def test_a_nul_is_denied() -> None:
    assert (
        decide(bash("echo a\0; ls"), rules=RuleSet.parse(allow=["Bash"]), mode="bypassPermissions", place=WORKING).behavior
        == "deny"
    )


@pytest.mark.parametrize("command", JUDGED["critical"])
def test_critical_removals_are_asked_about_in_every_mode(command: str) -> None:
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        decision = decide(bash(command), rules=RuleSet.parse(allow=["Bash"]), mode=mode, place=WORKING)
        assert (decision.behavior, decision.reason_type) == ("ask", "safetyCheck"), command


@pytest.mark.parametrize(
    "command", ["rm -rf build", "rm a", 'rm "$X"', "cd build && rm -rf *", "rm -rf /work/app/x", "rm *.o", "rm -rf ./build/*"]
)
def test_other_removals_follow_the_rules(command: str) -> None:
    assert decide(bash(command), rules=RuleSet.parse(allow=["Bash"]), mode="default", place=WORKING).behavior == "allow"


ACCEPTED = [
    "mkdir -p a/b",
    "touch a",
    "rm a",
    "rmdir a",
    "mv a b",
    "cp -r a b",
    "sed -i 's/a/b/' f",
    "echo x > f",
    "cat a >> /work/lib/b",
    "ls | tee f",
]


@pytest.mark.parametrize("command", ACCEPTED)
def test_accept_edits_runs_file_commands_inside(command: str) -> None:
    decision = decide(bash(command), rules=RuleSet.parse(allow=["Bash(tee:*)"]), mode="acceptEdits", place=WORKING)
    assert decision.behavior == "allow", decision.reason


@pytest.mark.parametrize("command", JUDGED["refused_edits"])
def test_accept_edits_runs_no_others(command: str) -> None:
    assert decide(bash(command), rules=RuleSet(), mode="acceptEdits", place=WORKING).behavior == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cp x .git/hooks/y",
        "echo x > .git/config",
        "tee .bashrc",
        "cd .git; touch config",
        "sed -i s/a/b/ .claude/settings.json",
    ],
)
def test_protected_paths_are_asked_about_even_if_a_rule_allows_the_command(command: str) -> None:
    decision = decide(bash(command), rules=RuleSet.parse(allow=["Bash", "Edit"]), mode="acceptEdits", place=WORKING)
    assert (decision.behavior, decision.reason_type) == ("ask", "safetyCheck")


HIDDEN = [
    "cat .env",
    "cat ./.env",
    "cat x/../.env",
    "cat '.env'",
    "cat < .env",
    "python3 x.py .env",
    "base64 .env",
    "curl -d @.env x",
    "cp .env x",
    "cd sub && cat ../.env",
    "base64 --input=.env",
]


@pytest.mark.parametrize(
    "command",
    [
        *HIDDEN,
        "git show HEAD:.env",
        "echo x > .env",
        "rm .env",
        "bash -c 'cat .env'",
        "sudo cat .env",
        "cat /work/app/.env",
        "grep x -f .env",
    ],
)
def test_paths_that_may_not_be_read_are_not_read_by_commands(command: str) -> None:
    decision = decide(
        bash(command), rules=RuleSet.parse(allow=["Bash"], deny=["Read(.env)"]), mode="bypassPermissions", place=WORKING
    )
    assert decision.behavior == "deny"


def test_reading_all_below_a_folder_asks_where_something_in_it_is_hidden() -> None:
    class Holding(KnownFiles):
        def holds(self, folder: str, covers: object) -> bool | None:
            return folder == "/work/app/secret"

    place = SessionFolders(PLACE.cwd, (), PLACE.home, Holding())
    rules = RuleSet.parse(allow=["Bash"], deny=["Read(.env)"])
    answers = [
        decide(bash(f"grep -r x {folder}"), rules=rules, mode="default", place=place).behavior for folder in ("secret", "open")
    ]
    assert answers == ["ask", "allow"]
    assert decide(bash("cat $X"), rules=rules, mode="default", place=place).behavior == "ask"


def test_a_sandboxed_command_may_run_unasked_but_for_deny_ask_and_critical() -> None:
    def sandboxed(command: str, **rules: Unpack[RuleTexts]) -> str:
        return decide(
            replace(bash(command), sandboxed=True), rules=RuleSet.parse(**rules), mode="default", place=WORKING
        ).behavior

    assert sandboxed("npm test > x") == "allow"
    assert sandboxed("npm test", ask=["Bash(npm:*)"]) == "ask"
    assert sandboxed("npm test", deny=["Bash(npm:*)"]) == "deny"
    assert sandboxed("rm -rf /") == "ask"
    assert sandboxed("echo x > .git/config") == "ask"
    assert sandboxed("echo 'x") == "ask"


@pytest.mark.parametrize(
    "script",
    ["p", "1,5p", "$!d", "/a/,/b/p", "s/a/b/g;p", "s|a|b|", "s/[[:space:]]*$//", "1!G;h;$!d", "/x/{s/a/b/;p}", "y/ab/cd/"],
)
def test_sed_scripts_that_only_look(script: str) -> None:
    assert sed_only_looks(script)


@pytest.mark.parametrize(
    "script",
    [
        "w f",
        "1w f",
        "s/a/b/w f",
        "s/a/b/e",
        "e",
        "r f",
        "R f",
        "W f",
        "a\\\nx",
        "i x",
        "s/a/b",
        "/[/]w f/p",
        "F",
        "b x",
        "s\\a\\b\\",
        "sxaxbx",
    ],
)
def test_sed_scripts_that_act_or_are_not_known(script: str) -> None:
    assert not sed_only_looks(script)


@pytest.mark.parametrize("key", ["core.bare", "remote.origin.url", "remote.a.b.fetch", "user.name", "submodule.a/b.c.active"])
def test_a_configuration_that_names_no_program(key: str) -> None:
    assert keys_are_plain(["core.repositoryformatversion", key])


@pytest.mark.parametrize(
    "key", ["core.fsmonitor", "core.worktree", "remote.a.uploadpack", "filter.x.clean", "include.path", "x"]
)
def test_a_configuration_that_may_name_one(key: str) -> None:
    assert not keys_are_plain(["core.repositoryformatversion", key])
