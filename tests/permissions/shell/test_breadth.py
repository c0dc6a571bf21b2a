"""Rules that allow everything are called that; virtual environments of the folder, and outputs that no rule lets through."""

from __future__ import annotations

import pytest

from support_permissions import KNOWN_FILES, PLACE, KnownFiles, bash, judge
from toolwright.permissions import SessionFolders, parse_rule
from toolwright.permissions.shell.breadth import allows_everything, breadth_note
from toolwright.permissions.suggestions import offered_breadth, suggestions

WORKING = SessionFolders(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES, cage=True)


@pytest.mark.parametrize(
    "rule",
    [
        *("Bash", "Bash(make:*)", "Bash(python:*)", "Bash(python3.11 *)", "Bash(tar:*)", "Bash(npx *)", "Bash(npm run:*)"),
        *("Bash(docker compose:*)", "Bash(uv run:*)", "Bash(python -m pytest:*)", "Bash(./gradlew:*)", "Bash(* install)"),
    ],
)
def test_a_rule_that_allows_everything(rule: str) -> None:
    assert allows_everything(parse_rule(rule))
    assert "allows everything" in (breadth_note([parse_rule(rule)]) or "")


@pytest.mark.parametrize(
    "rule",
    [
        *("Bash(make)", "Bash(make test)", "Bash(python x.py)", "Bash(git log:*)", "Bash(ls:*)", "Bash(docker ps:*)", "Read"),
        *("Bash(docker compose ps:*)", "Bash(ruff:*)", "Edit(src/**)", "Bash(gh pr:*)", "Bash(find:*)", "Bash(xargs:*)"),
    ],
)
def test_a_rule_that_does_not(rule: str) -> None:
    assert not allows_everything(parse_rule(rule))
    assert breadth_note([parse_rule(rule), parse_rule("Bash(make:*)", "deny")]) is None


def test_several_such_rules_are_told_in_one_sentence() -> None:
    note = breadth_note(parse_rule(text) for text in ("Bash(make:*)", "Bash(ls:*)", "Bash(npx:*)"))
    assert note is not None
    assert note.startswith("Bash(make:*), Bash(npx:*) allow everything")


def test_the_narrow_rule_is_offered_first_and_the_broad_one_is_called_that() -> None:
    offers = suggestions(bash("npm run build"), mode="default", place=WORKING)
    contents = [rule.rule_content for offer in offers for rule in offer.rules or ()]
    assert contents == ["npm run build", "npm run *"]
    assert "Bash(npm run *) allows everything" in (offered_breadth(offers) or "")
    assert offered_breadth(suggestions(bash("rm x"), mode="default", place=WORKING)) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("source .venv/bin/activate && pytest -q", "allow"),
        (". venv/bin/activate; python -m pytest", "allow"),
        ("cd sub && . ../.venv/bin/activate && pytest", "allow"),
        ("source .venv/bin/activate", "ask"),
        ("source .venv/bin/activate && ls", "ask"),
        ("source .venv/bin/activate && git add .", "ask"),
        ("source /tmp/.venv/bin/activate && pytest", "ask"),
        ("source ../.venv/bin/activate && pytest", "ask"),
        ("source .venv/bin/activate x && pytest", "ask"),
        ("source ./x/activate && pytest", "ask"),
        ("source $V/bin/activate && pytest", "ask"),
        ("source .venv/bin/activate > x && pytest", "ask"),
        ("A=1 source .venv/bin/activate && pytest", "ask"),
        (".venv/bin/pytest -q", "allow"),
        ("./.venv/bin/python -m pytest", "allow"),
        (".venv/bin/ruff check", "allow"),
        ("/tmp/.venv/bin/pytest", "ask"),
        ("../.venv/bin/pytest", "ask"),
        ("bin/pytest", "ask"),
        (".venv/bin/git add .", "ask"),
        (".venv/bin/ls", "ask"),
        (".venv/bin/cp a b", "ask"),
    ],
)
def test_a_virtual_environment_of_the_folder_under_a_rule_for_its_program(command: str, expected: str) -> None:
    rules = ["pytest:*", "python -m pytest:*", "ruff:*", "git add:*", "ls:*", "cp:*"]
    for cage in (True, False):
        place = SessionFolders(PLACE.cwd, (), PLACE.home, KNOWN_FILES, cage=cage)
        assert judge(bash(command), place=place, allow=[f"Bash({rule})" for rule in rules]).behavior == expected


def test_in_accepted_edits_too_an_environment_needs_a_rule() -> None:
    assert judge(bash("source .venv/bin/activate && touch x"), "acceptEdits", WORKING).behavior == "ask"


def test_an_activated_environment_may_hold_another_program_of_a_known_name() -> None:
    class Planted(KnownFiles):
        def matching(self, pattern: str) -> tuple[str, ...] | None:
            return (pattern,) if pattern == "/work/app/.venv/bin/grep" else ()

    place = SessionFolders(PLACE.cwd, (), PLACE.home, Planted())
    allow = ["Bash(pytest:*)"]
    assert judge(bash("source .venv/bin/activate && pytest | head"), place=place, allow=allow).behavior == "allow"
    assert judge(bash("source .venv/bin/activate && pytest | grep x"), place=place, allow=allow).behavior == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "curl -o .bashrc u",
            "curl -so .bashrc u",
            "curl -o.bashrc u",
            "curl --output=.bashrc u",
            "curl --output .git/hooks/x u",
        ),
        *("tar xf a -C .git/hooks", "go build -o .git/hooks/pre-commit", "wget -O .envrc u", "wget -P .vscode u"),
    ],
)
def test_no_star_lets_a_program_write_where_its_arguments_name_a_protected_path(command: str) -> None:
    decision = judge(bash(command), place=WORKING, allow=[f"Bash({command.split()[0]}:*)"])
    assert (decision.behavior, decision.reason_type) == ("ask", "safetyCheck")
    harmless = command.replace(".bashrc", "x").replace(".git/hooks", "x").replace(".envrc", "x").replace(".vscode", "x")
    assert judge(bash(harmless), place=WORKING, allow=[f"Bash({command.split()[0]}:*)"]).behavior == "allow"
