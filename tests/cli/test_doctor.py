from __future__ import annotations

import json
from typing import Any

import pytest

from support_cli import command
from support_sandbox import need
from toolwright.cli.doctor import report
from toolwright.cli.main import main


def findings(**more: Any) -> dict[str, Any]:
    probes = [
        {"name": "a", "title": "One holds", "held": True, "promised": True, "detail": ""},
        {"name": "b", "title": "Two is not promised", "held": False, "promised": False, "detail": "why not"},
    ]
    program = {"name": "nsenter", "found": None, "package": "util-linux", "purpose": "domains", "remedy": "install it"}
    mechanisms = [
        {"name": "bubblewrap", "works": False, "problem": "bwrap is not installed", "remedy": "apt install bubblewrap"}
    ]
    base = {"ok": True, "mechanism": "Landlock", "user": 1000, "mechanisms": mechanisms, "programs": [program], "seconds": 1.5}
    limit = {"key": "processes", "mechanism": "none: RLIMIT_NPROC does not bind root", "holds": False, "missing": "a cgroup"}
    cage = {"mechanism": "Landlock", "probes": [{"title": "write a file", "held": True}]}
    return {**base, "probes": probes, "limits": [limit], "cage": cage, "undumpable": True, **more}


def test_what_is_missing_is_named_with_the_package_that_brings_it() -> None:
    text = report(findings())
    assert "bwrap is not installed. What helps: apt install bubblewrap" in text
    assert "missing (package util-linux)\n         Needed for domains. What helps: install it" in text
    assert "no     Two is not promised" in text
    assert "processes   none: RLIMIT_NPROC does not bind root\n         What helps: a cgroup" in text
    assert "1 of 2 held, in 1.5 s. Everything that is promised held." in text


def test_it_is_said_who_can_look_into_the_runtime() -> None:
    assert "toolwright  no\n  a library   yes, until" in report(findings())
    assert "toolwright  yes\n" in report(findings(undumpable=False))


def test_a_hole_is_not_to_be_overlooked() -> None:
    hole = {"name": "c", "title": "Three", "held": False, "promised": True, "detail": "a file outside was changed"}
    text = report(findings(probes=[hole]))
    assert "HOLE   Three\n         a file outside was changed" in text
    assert "Not held: c. Do not rely on this sandbox." in text


def test_what_holds_the_cage_is_said() -> None:
    assert "Landlock    holds it\n    stops  to write a file" in report(findings())
    hole = {"mechanism": "bubblewrap", "probes": [{"title": "write a file", "held": False}]}
    assert "does NOT hold\n    HOLE   to write a file" in report(findings(cage=hole))
    assert "only plain commands of two dozen programs run unasked" in report(findings(cage={"mechanism": None, "probes": []}))


def test_no_mechanism_at_all_is_said() -> None:
    assert "sessions that ask for one will refuse to run commands" in report(findings(mechanism=None))


def test_the_machine_is_examined_for_real_and_told_as_json() -> None:
    need("bubblewrap")
    done = command("doctor", "--json")
    code, found = done.returncode, json.loads(done.stdout)
    assert [each["name"] for each in found["probes"] if not each["held"]] == []
    assert (code, found["ok"], found["mechanism"]) == (0, True, "bubblewrap")
    assert found["undumpable"] is True
    assert {each["name"] for each in found["programs"] if each["found"]} >= {"shfmt", "rg"}
    assert found["cage"]["mechanism"] in ("Landlock", "bubblewrap")
    assert len(found["cage"]["probes"]) == 5
    assert all(each["held"] for each in found["cage"]["probes"])
    assert {each["key"] for each in found["limits"]} >= {"cpuSeconds", "memoryMb", "processes", "scratchMb"}


@pytest.mark.parametrize("arguments", [["doctor", "x"], ["doctor", "--mechanism", "magic"], ["doctor", "--nope"]])
def test_a_wrong_command_line_is_refused(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2


def test_help_is_there(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--help"]) == 0
    assert "Usage: toolwright doctor" in capfd.readouterr().out
