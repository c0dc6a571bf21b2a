"""decide(): the order of its steps, and the laws that hold whatever the rules are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support_permissions import PLACE, KnownFiles, bash, judge, mcp, read, write
from toolwright.permissions import PermissionCall, Rule, RuleSet, SessionFolders, decide, denies_reading
from toolwright.types import OptionsError, PermissionMode

STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
MODES: tuple[PermissionMode, ...] = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")


FUNCTION = PermissionCall("weather", {"city": "Oslo"}, preapproved=True)


def test_reading_inside_the_working_folders_needs_no_permission() -> None:
    assert judge(read("/work/app/a.py")).behavior == "allow"
    assert judge(read("/work/lib/a.py")).reason_type == "workingDir"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/work/app-evil/s", "/work/app/../app-evil/s", "/work", "relative.txt", "/a\0b"]
)
def test_reading_elsewhere_asks(path: str) -> None:
    decision = judge(read(path))
    assert (decision.behavior, decision.blocked_path) == ("ask", path)


@pytest.mark.parametrize(
    "path", ["/work/app/.env", "//work/app/.env", "/work//app/./.env", "/work/app/x/../.env", "/work/app/.env/"]
)
def test_however_a_path_is_spelled_its_rule_holds(path: str) -> None:
    assert judge(read(path), deny=["Read(.env)"]).behavior == "deny"
    assert judge(bash(f"cat {path}"), deny=["Read(.env)"]).behavior == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "cd $X && cat /work/app/.env",
        "cd $X && cat ~/.env",
        "cd $X; cp /work/app/.env x",
        "tool --file=.env",
        "tool @.env",
        "git show HEAD:.env",
        "tool a:b:.env",
        "docker run -v .env:/mnt image",
        "docker run -v=.env:/mnt image",
        "tool --a=b=.env",
        "tool < .env",
        "tool <> .env",
        "tool > .env",
    ],
)
def test_a_rule_that_hides_a_path_finds_it_in_every_corner_of_a_command(command: str) -> None:
    assert judge(bash(command), deny=["Read(.env)"], allow=["Bash"]).behavior == "deny"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        *(("git log -p", "ask"), ("git show", "ask"), ("git diff HEAD~1", "ask"), ("git --no-pager diff -U9", "ask")),
        *(("git log", "allow"), ("git diff --stat", "allow"), ("git show --name-only", "allow"), ("git status", "allow")),
        *(
            ("git diff --stat -p", "ask"),
            ("git log --oneline --patch", "ask"),
            ("git stash show -p", "ask"),
            ("git stash list", "ask"),
            ("git blame a", "ask"),
            ("git cat-file -p abc123", "ask"),
            ("git diff-tree -p HEAD", "ask"),
            ("git diff-tree HEAD", "allow"),
        ),
    ],
)
def test_git_does_not_show_a_tracked_file_that_a_rule_hides(command: str, expected: str) -> None:
    class Tracking(KnownFiles):
        def git_tracks(self, folder: str, covers: Callable[[str], bool]) -> bool:
            return covers(f"{folder}/.env")

    place = replace(PLACE, files=Tracking())
    for judged, cage in ((bash(f"make; {command}"), False), (bash(command), True)):
        hiding = judge(judged, place=place, cage=cage, deny=["Read(.env)"], allow=["Bash(make)"])
        assert (hiding.behavior, hiding.caged) == (expected, cage and expected == "allow")
        others = judge(judged, place=place, cage=cage, deny=["Read(.other)"], allow=["Bash(make)"])
        assert (others.behavior, others.caged) == ("allow", cage)


def test_git_in_a_folder_that_is_not_known_is_judged_as_in_the_session_s() -> None:
    class Tracking(KnownFiles):
        def git_tracks(self, folder: str, covers: Callable[[str], bool]) -> bool:
            return folder == PLACE.cwd

    hiding = judge(bash('cd "$X"; git log -p'), place=replace(PLACE, files=Tracking()), deny=["Read(.env)"], allow=["Bash"])
    assert hiding.behavior == "ask"


@pytest.mark.parametrize(
    "command", ['cat "$X"', 'cp ./"$X" b', 'mv ./"$X" b', 'ln ./"$X" b', 'install ./"$X" b', 'grep k ./"$X"', 'cat < "$X"']
)
def test_what_may_be_a_hidden_path_is_asked_about_under_every_rule(command: str) -> None:
    assert judge(bash(command), deny=["Read(.env)"], allow=["Bash"]).behavior == "ask"
    assert judge(bash(command), allow=["Bash"]).behavior == "allow"


@pytest.mark.parametrize(("rule", "call"), [("Read(/top)", read("/work/app/top")), ("Edit(/top)", write("/work/app/top"))])
def test_a_rule_that_asks_about_a_path_asks(rule: str, call: PermissionCall) -> None:
    decision = judge(call, "acceptEdits", ask=[rule], allow=["Read", "Edit", "Write"])
    assert (decision.behavior, str(decision.rule)) == ("ask", rule)


def test_a_path_with_two_slashes_is_the_path_with_one() -> None:
    assert judge(read("//work/app/a")).behavior == "allow"
    assert judge(read("/work/app/a\0b")).behavior == "ask"


def test_in_the_root_everything_is_inside() -> None:
    assert SessionFolders("/").root_of("/etc/passwd") == "/"
    assert judge(read("/etc/passwd"), place=SessionFolders("/")).behavior == "allow"


def test_nothing_is_assumed_of_a_machine_that_is_not_known() -> None:
    assert judge(bash("git status")).behavior == "ask"
    assert judge(bash("git log -p"), deny=["Read(.env)"], allow=["Bash"]).behavior == "ask"
    assert judge(bash("cat *")).behavior == "ask"


@pytest.mark.parametrize(
    "call", [write("/work/app/a"), bash("npm test"), mcp("mcp__calc__add"), PermissionCall("WebFetch", read_only=True)]
)
def test_what_no_rule_and_no_mode_allows_is_asked(call: PermissionCall) -> None:
    assert judge(call).behavior == "ask"


def test_a_server_that_calls_its_tool_read_only_is_not_believed() -> None:
    assert judge(replace(mcp("mcp__calc__add"), read_only=True, reads=("/work/app/a",))).behavior == "ask"


def test_functions_of_the_developer_run_without_a_question() -> None:
    assert judge(FUNCTION).reason_type == "preapproved"
    assert judge(FUNCTION, deny=["weather"]).behavior == "deny"
    assert judge(FUNCTION, ask=["weather"]).behavior == "ask"
    assert judge(FUNCTION, "plan").behavior == "ask"
    assert judge(replace(FUNCTION, read_only=True), "plan").behavior == "allow"


def test_the_decision_names_the_rule_that_decided() -> None:
    decision = judge(bash("npm test"), deny=["Bash(npm:*)"])
    assert decision.rule == Rule("Bash", "npm:*", "deny", "options")
    assert "Bash(npm:*)" in decision.reason


@pytest.mark.parametrize("mode", MODES)
def test_a_deny_rule_holds_in_every_mode(mode: PermissionMode) -> None:
    assert judge(bash("rm -r x"), mode, deny=["Bash(rm:*)"], allow=["Bash"]).behavior == "deny"
    assert judge(read("/work/app/.env"), mode, deny=["Read(.env)"], allow=["Read"]).behavior == "deny"


def test_an_ask_rule_and_a_must_ask_tool_reach_the_person_even_under_bypass() -> None:
    assert judge(bash("git push"), "bypassPermissions", ask=["Bash(git push:*)"]).behavior == "ask"
    assert (
        judge(PermissionCall("AskUserQuestion", must_ask=True), "bypassPermissions", allow=["AskUserQuestion"]).behavior
        == "ask"
    )


def test_dont_ask_denies_what_would_be_asked_and_still_reads() -> None:
    assert judge(bash("npm test"), "dontAsk").behavior == "deny"
    assert judge(bash("npm test"), "dontAsk", allow=["Bash(npm test:*)"]).behavior == "allow"
    assert judge(bash("ls src"), "dontAsk").behavior == "allow"
    assert judge(read("/work/app/a"), "dontAsk").behavior == "allow"
    assert judge(PermissionCall("AskUserQuestion", must_ask=True), "dontAsk").behavior == "deny"


def test_plan_only_looks_whatever_the_allow_rules_say() -> None:
    assert judge(write("/work/app/a"), "plan", allow=["Write"]).behavior == "ask"
    assert judge(read("/work/app/a"), "plan").behavior == "allow"
    assert judge(bash("ls src | head"), "plan").behavior == "allow"
    assert judge(bash("ls > x"), "plan", allow=["Bash", "Edit"]).behavior == "ask"
    assert judge(bash("npm test"), "plan", allow=["Bash"]).behavior == "ask"


def test_accept_edits_allows_edits_inside_the_working_folders_only() -> None:
    assert judge(write("/work/lib/a"), "acceptEdits").behavior == "allow"
    assert judge(write("/etc/a"), "acceptEdits").behavior == "ask"
    assert judge(replace(write("/work/app/a"), reads=("/etc/a",)), "acceptEdits").behavior == "ask"
    assert judge(replace(write("/work/app/a"), is_mcp=True), "acceptEdits").behavior == "ask"
    assert judge(replace(bash("npm test"), writes=("/work/app/a",)), "acceptEdits").behavior == "ask"


PROTECTED = [
    *(
        "/work/app/.git/hooks/pre-commit",
        "/work/app/.GIT/config",
        "/work/app/.git./config",
        "/work/app/sub/.claude/settings.json",
    ),
    *("/work/app/.bashrc", "/work/app/.config/git/config", "/work/app/.yarnrc.yml", "/work/app/.mcp.json", "/work/app/.vscode"),
    *("/work/app/.toolwright/settings.json", "/work/app/x/.claude/worktrees", "/home/ada/.zshrc"),
]


@pytest.mark.parametrize("path", PROTECTED)
def test_protected_paths_are_written_only_under_bypass_or_with_an_answer(path: str) -> None:
    decision = judge(write(path), "acceptEdits", allow=["Write", "Edit(//**)"])
    assert (decision.behavior, decision.reason_type) == ("ask", "safetyCheck")
    assert judge(write(path), "bypassPermissions").behavior == "allow"


NOT_ALL_IS_KNOWN = [
    *(
        'cd "$X"; echo x > {}',
        "cd - && touch {}",
        'echo x > "$X/{}"',
        'tee "$X" {}',
        'cp "$X" {}',
        'cp a "$X/{}"',
        "cp --new a {}",
    ),
    *(
        'mv {} "$X"',
        "sed -i s/a/b/ $X {}",
        'sed -i "$X" {}',
        "chmod $X {}",
        'ln -s "$X" {}',
        "install $X {}",
        'mkdir -p "$X"/{}',
    ),
]


@pytest.mark.parametrize("command", NOT_ALL_IS_KNOWN)
def test_what_is_not_known_of_a_command_hides_no_write(command: str) -> None:
    assert judge(bash(command.format(".git/config")), allow=["Bash"]).reason_type == "safetyCheck"
    assert judge(bash(command.format("kept/a")), allow=["Bash"], deny=["Edit(//work/app/kept/**)"]).behavior == "deny"
    assert judge(bash(command.format("other/a")), allow=["Bash"], deny=["Edit(kept/**)"]).behavior == "allow"


def test_names_above_the_working_folder_and_worktrees_inside_protect_nothing() -> None:
    inside = SessionFolders("/home/ada/.claude/worktrees/fix")
    assert judge(write("/home/ada/.claude/worktrees/fix/a.py"), "acceptEdits", inside).behavior == "allow"
    assert judge(write("/work/app/.claude/worktrees/fix/a.py"), "acceptEdits").behavior == "allow"
    assert judge(write("/work/app/.claude/worktrees/fix/.git/config"), "acceptEdits").behavior == "ask"


def test_a_path_that_cannot_be_judged_is_asked_about_even_under_bypass() -> None:
    assert judge(read("secret"), "bypassPermissions", deny=["Read(secret)"]).behavior == "ask"


def test_both_ends_of_a_link_count() -> None:
    through_link = PermissionCall("Read", reads=("/work/app/l/k", "/secret/k"), read_only=True)
    assert judge(through_link, deny=["Read(//secret/**)"]).behavior == "deny"
    assert judge(through_link).behavior == "ask"
    assert judge(through_link, allow=["Read(l/**)"]).behavior == "ask"
    assert judge(through_link, allow=["Read(l/**)", "Read(//secret/**)"]).behavior == "allow"


def test_searches_can_ask_what_is_hidden() -> None:
    rules = RuleSet.parse(deny=["Read(.env)", "Read(./private/**)"])
    assert denies_reading("/work/app/x/.env", rules=rules, place=PLACE)
    assert denies_reading("/work/app/private/a", rules=rules, place=PLACE)
    assert denies_reading("/work/app/a", rules=rules, place=PLACE) is None


CALLS = [
    read("/work/app/src/a.py"),
    read("/etc/passwd"),
    write("/work/app/src/a.py"),
    write("/work/app/.git/config"),
    bash("npm run build"),
    bash("npm run build && rm -r x"),
    bash('echo "$(rm x)"'),
    bash("cd src && cat a.py > b"),
    bash("timeout 5 npm run build; grep -r x ."),
    mcp("mcp__calc__add", a=1),
    PermissionCall("WebFetch", {"url": "https://example.com/x"}, hosts=("example.com",), read_only=True),
    FUNCTION,
]
RULES = [
    *("Read", "Edit", "Write", "Bash", "WebFetch", "weather", "mcp__calc", "mcp__calc__*", "mcp__calc__add", "Read(src/**)"),
    *(
        "Read(//etc/*)",
        "Edit(*.py)",
        "Read(~/x)",
        "Bash(npm run build)",
        "Bash(npm:*)",
        "Bash(rm *)",
        "Bash(cat *)",
        "Bash(timeout 5 npm run:*)",
        "Edit(src/**)",
        "WebFetch(domain:example.com)",
    ),
]
rules = st.lists(
    st.builds(lambda text, behavior: (text, behavior), st.sampled_from(RULES), st.sampled_from(["allow", "ask", "deny"])),
    max_size=8,
)


def rule_set(pairs: list[tuple[str, str]]) -> RuleSet:
    def texts(kind: str) -> list[str]:
        return [text for text, behavior in pairs if behavior == kind]

    return RuleSet.parse(allow=texts("allow"), ask=texts("ask"), deny=texts("deny"))


@settings(deadline=None)
@given(pairs=rules, call=st.sampled_from(CALLS), mode=st.sampled_from(MODES), data=st.data())
def test_order_of_rules_is_irrelevant(
    pairs: list[tuple[str, str]], call: PermissionCall, mode: PermissionMode, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(pairs))
    assert decide(call, rules=rule_set(pairs), mode=mode, place=PLACE) == decide(
        call, rules=rule_set(shuffled), mode=mode, place=PLACE
    )


@settings(deadline=None)
@given(pairs=rules, extra=st.sampled_from(RULES), call=st.sampled_from(CALLS), mode=st.sampled_from(MODES))
def test_adding_a_deny_or_ask_rule_never_widens(
    pairs: list[tuple[str, str]], extra: str, call: PermissionCall, mode: PermissionMode
) -> None:
    before = decide(call, rules=rule_set(pairs), mode=mode, place=PLACE)
    for behavior in ("deny", "ask"):
        after = decide(call, rules=rule_set([*pairs, (extra, behavior)]), mode=mode, place=PLACE)
        assert STRICTNESS[after.behavior] >= STRICTNESS[before.behavior]


@settings(deadline=None)
@given(pairs=rules, call=st.sampled_from(CALLS), mode=st.sampled_from(MODES))
def test_deny_always_wins(pairs: list[tuple[str, str]], call: PermissionCall, mode: PermissionMode) -> None:
    assert decide(call, rules=rule_set([*pairs, (call.name, "deny")]), mode=mode, place=PLACE).behavior == "deny"


@settings(deadline=None)
@given(text=st.text(max_size=30), behavior=st.sampled_from(["allow", "ask", "deny"]))
def test_any_text_is_a_rule_or_a_typed_error(text: str, behavior: str) -> None:
    for written in (text, f"Bash({text})", f"Read({text})", f"Edit({text})", f"mcp__a__{text}"):
        try:
            rules = rule_set([(written, behavior)])
        except OptionsError:
            continue
        for call in CALLS:
            decide(call, rules=rules, mode="default", place=PLACE)
