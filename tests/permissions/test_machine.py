"""Decisions that depend on what lies on the disk: links, patterns, repositories, told by a machine made of a few names."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any

import pytest

from support_permissions import KnownFiles, bash, judge, strictly
from toolwright.permissions import SessionFolders
from toolwright.types import PermissionMode


class Machine(KnownFiles):
    """Files by name; a link's target beside it. The repository in `sub` names programs."""

    def __init__(self, *names: str, **links: str) -> None:
        self.names = [f"/work/app/{name}" for name in (*names, *links)]
        self.links = {f"/work/app/{name}": target for name, target in links.items()}

    def spellings(self, path: str) -> tuple[str, ...]:
        return (self.links[path], path) if path in self.links else (path,)

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        return tuple(name for name in self.names if fnmatch(name, pattern) and name.count("/") == pattern.count("/"))

    def holds(self, folder: str, covers: Callable[[str], bool]) -> bool | None:
        return any(covers(name) for name in self.names if name.startswith(f"{folder}/"))

    def git_is_plain(self, folder: str, *, caged: bool = False) -> bool:
        return folder != "/work/app/sub"


def verdict(command: str, machine: Machine, mode: PermissionMode = "default", **rules: Any) -> str:
    return judge(bash(command), mode, SessionFolders("/work/app", (), "/home/ada", machine), **rules).behavior


@pytest.mark.parametrize(("command", "expected"), [("cp x/.m* .", "ask"), ("cp x/.m* sub", "ask"), ("cp x/a* .", "allow")])
def test_a_copy_by_a_pattern_makes_the_names_that_it_matches(command: str, expected: str) -> None:
    assert verdict(command, Machine("x/.mcp.json", "x/a.txt"), "acceptEdits") == expected


def test_a_comparison_that_reads_through_links_asks_if_one_lies_there() -> None:
    assert verdict("diff a b", Machine("a", "b")) == "allow"
    assert verdict("diff sub b", Machine("sub/x", "b")) == "allow"
    linked = Machine("b")
    linked.names.append("/work/app/sub/x")
    linked.links["/work/app/sub/x"] = "/etc/passwd"
    assert verdict("diff sub b", linked) == "ask"


@pytest.mark.parametrize(("names", "expected"), [((".env", "a"), "ask"), (("sub/.env",), "ask"), (("a", "b"), "allow")])
@pytest.mark.parametrize("command", ["grep -r k .", "rg k", "grep -r k sub ."])
def test_a_search_below_a_folder_asks_if_a_rule_hides_something_in_it(
    command: str, names: tuple[str, ...], expected: str
) -> None:
    assert verdict(command, Machine(*names), deny=["Read(.env)"]) == expected
    assert verdict(command, Machine(*names), ask=["Read(.env)"]) == expected
    assert verdict(command, Machine(*names)) == "allow"


@pytest.mark.parametrize(
    ("command", "expected"),
    [("cat link/../x", "ask"), ("cat link/..", "ask"), ("cat sub/../x", "allow"), ("cd link && cd .. && cat x", "ask")],
)
def test_what_stands_above_a_link_is_what_stands_above_its_end(command: str, expected: str) -> None:
    assert verdict(command, Machine("x", "sub/y", link="/etc/dir")) == expected


@pytest.mark.parametrize("rule", ["Read(//etc/**)", "Read(//work/app/link/**)"])
@pytest.mark.parametrize(
    "command", ["cat link/a", "cd link; cat a", "cd link; cd sub; cat a", "cd link; cd sub; cd more; cat a"]
)
def test_a_rule_about_either_end_of_a_link_holds_wherever_the_command_has_gone(command: str, rule: str) -> None:
    class Linked(Machine):
        def spellings(self, path: str) -> tuple[str, ...]:
            real = path.replace("/work/app/link", "/etc")
            return tuple(dict.fromkeys((real, path)))

    assert verdict(command, Linked(), allow=["Bash"], deny=[rule]) == "deny"


def test_a_repository_is_judged_where_the_command_stands() -> None:
    place = SessionFolders("/work/app", (), "/home/ada", Machine())
    assert strictly("git status", place) == "allow"
    assert strictly("cd sub && git status", place) == "ask"
    assert judge(bash("git status"), place=place, cage=True).caged
    assert judge(bash("cd sub && git status"), place=place, cage=True).behavior == "ask"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > a", "allow"),
        ("echo x > b", "ask"),
        ("echo x > /dev/null > b", "ask"),
        ("echo x > a > b", "ask"),
        ("echo x > a 2> /dev/null", "allow"),
        ("echo x <> a", "allow"),
        ("echo x <> b", "ask"),
        ("echo x < b", "allow"),
        ("echo x < /etc/x", "allow"),
        ("echo x < /etc/y", "ask"),
        ("echo x < b < /etc/y", "ask"),
        ("echo x < /etc/x < /etc/y", "ask"),
        ("echo x > link", "ask"),
        ("echo x > $X", "ask"),
    ],
)
def test_every_redirection_needs_its_own_leave(command: str, expected: str) -> None:
    machine = Machine("a", "b", link="/work/app/a")
    assert verdict(command, machine, allow=["Bash(echo:*)", "Edit(a)", "Read(//etc/x)"]) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > a > /etc/b", "ask"),
        ("echo x > a > b", "allow"),
        ("touch a /etc/b", "ask"),
        ("mv a b", "allow"),
        ("mv a /etc/b", "ask"),
    ],
)
def test_accepted_edits_are_those_inside(command: str, expected: str) -> None:
    assert verdict(command, Machine("a"), "acceptEdits") == expected


@pytest.mark.parametrize(
    "command", ["mv a /etc/b", "cp a /etc/b", "ln -s a /etc/b", "touch /etc/b", "mkdir /etc/b", "tee /etc/b", "chmod +x /etc/b"]
)
def test_a_rule_for_a_program_does_not_reach_outside(command: str) -> None:
    assert verdict(command, Machine("a"), allow=[f"Bash({command.split()[0]}:*)"]) == "ask"


def test_the_longest_line_that_a_rule_covers() -> None:
    assert verdict("npm " + "x" * 9_996, Machine(), allow=["Bash(npm:*)"]) == "allow"
    assert verdict("npm " + "x" * 9_997, Machine(), allow=["Bash(npm:*)"]) == "ask"
