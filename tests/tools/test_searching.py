"""What rules hide, and what a hostile input tries, for both search tools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from support_runtime import play, results
from support_runtime import text_of as result_text
from support_tools import TOOLS, call, error_of, make_workspace
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.processes.ripgrep import SearchEnd
from toolwright.tools.base import ToolContext
from toolwright.tools.searching import as_glob, notices

pytestmark = pytest.mark.anyio

FILES = ["a.py", ".env", "sub/.env", "secret/deep/key", "secret/b.py", "sub/secret/c.py", "real/open", "real/closed", "z.py"]
RULES = ["Read(**/.env)", "Read(secret/**)", "Read(link/closed)"]
SEEN = ["a.py", "real/open", "z.py"]
"""`link/closed` is the same file as `real/closed`: the rule that names it by its way through the link hides it by any name."""


def fill(root: Path) -> None:
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle\nneedle\n")
        os.utime(root / name, (1, 1))
    (root / "link").symlink_to("real")
    (root / "to-env").symlink_to(".env")
    (root / "to-secret").symlink_to("secret")


async def answers(folder: Path, *calls: Call, rules: list[str] = RULES) -> list[dict[str, Any]]:
    """Each call in a session of its own rules: its text and its structured result."""
    (folder / "workspace").mkdir(exist_ok=True)
    fill(folder / "workspace")
    model = ScriptedModel([*calls, Say("done")])
    frames = await play(folder, model, disallowed_tools=rules)
    structured = [frame["tool_use_result"] for frame in frames if frame["type"] == "user" and frame.get("tool_use_result")]
    texts = [result_text(result) for result in results(frames)]
    return [{"text": text, "structured": value} for text, value in zip(texts, structured, strict=True)]


async def test_what_a_rule_denies_to_read_is_neither_listed_nor_counted(tmp_path: Path) -> None:
    listed, found, counted, content = await answers(
        tmp_path,
        Call("Glob", {"pattern": "**"}),
        Call("Grep", {"pattern": "needle"}),
        Call("Grep", {"pattern": "needle", "output_mode": "count"}),
        Call("Grep", {"pattern": "needle", "output_mode": "content", "-C": 1}),
    )
    assert listed["text"].splitlines() == SEEN
    assert listed["structured"]["totalMatches"] == 3
    assert found["text"].splitlines() == SEEN
    assert found["structured"]["totalFiles"] == 3
    assert counted["text"].splitlines() == [f"{name}:2" for name in SEEN]
    assert counted["structured"]["numMatches"] == 6
    assert content["text"].splitlines() == "--\n".join(f"{name}:1:needle\n{name}:2:needle\n" for name in SEEN).splitlines()
    assert content["structured"]["totalLines"] == 8


async def test_pages_and_totals_know_only_what_is_seen(tmp_path: Path) -> None:
    fields = {"pattern": "needle", "output_mode": "content", "head_limit": 2, "offset": 2}
    (page,) = await answers(tmp_path, Call("Grep", fields))
    expected = "real/open:1:needle\nreal/open:2:needle\n[lines 3-4 of 6; continue with offset=4]"
    assert page["text"] == expected


@pytest.mark.parametrize("path", ["secret", "to-secret", "secret/deep", "sub/secret", ".env", "to-env"])
async def test_no_link_and_no_folder_leads_to_what_is_hidden(tmp_path: Path, path: str) -> None:
    for answer in await answers(
        tmp_path, Call("Grep", {"pattern": "needle", "path": path}), Call("Glob", {"pattern": "*", "path": path})
    ):
        assert "denied by the rule" in answer["text"]


async def test_a_folder_reached_through_a_link_is_judged_as_it_was_written_too(tmp_path: Path) -> None:
    grep, glob = Call("Grep", {"pattern": "needle", "path": "link"}), Call("Glob", {"pattern": "*", "path": "link"})
    for answer in await answers(tmp_path, grep, glob):
        assert answer["text"] == "real/open"


async def test_complaints_do_not_name_what_is_hidden() -> None:
    message = "rg: ./secret/x: y: Permission denied (os error 13)\nrg: ./new\nline: Permission denied (os error 13)"
    end = SearchEnd(2, message, message_is_cut=False, timed_out=False)
    (both,) = notices(end, None)
    assert both.startswith("2 entries could not be read, the first: ./secret/x: y: Permission denied")
    (one,) = notices(end, lambda name: name.startswith(b"./secret/"))
    assert one == "1 entries could not be read, the first: ./new\nline: Permission denied (os error 13)"
    (cut,) = notices(SearchEnd(2, f"{message}\nrg: ./ha", message_is_cut=True, timed_out=False), None)
    assert cut.startswith("2 or more entries")


HOSTILE = [
    "--pre=./canary.sh",
    "-e",
    "--pre",
    ";touch C",
    "$(touch C)",
    "`touch C`",
    "-exec touch C",
    "-",
    "--",
    "--files",
    "-f/etc/passwd",
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_nothing_in_an_input_is_an_option_or_a_command(tmp_path: Path, text: str) -> None:
    workspace = make_workspace(tmp_path)
    root = Path(workspace.home)
    (root / "canary.sh").write_text("#!/bin/sh\ntouch C\n")
    (root / "canary.sh").chmod(0o755)
    (root / "plain").write_text("root\n")
    for field in ("pattern", "glob", "exclude", "type", "path"):
        output = await call("Grep", workspace, **{"pattern": "root", field: text})
        assert "daemon" not in str(output.content)
    for field in ("pattern", "path"):
        await call("Glob", workspace, **{"pattern": "*", field: text})
    assert sorted(os.listdir(root)) == ["canary.sh", "plain"]


async def test_a_pattern_that_looks_like_an_option_is_searched_for(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (Path(workspace.home) / "--pre=x").write_text("a --pre=x b\n")
    output = await call("Grep", workspace, pattern="--pre=x", glob="--pre=*", output_mode="content")
    assert output.content == "--pre=x:1:a --pre=x b"
    assert (await call("Glob", workspace, pattern="--pre=*")).content == "--pre=x"


async def test_a_planted_program_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_workspace(tmp_path)
    planted = Path(workspace.home) / "rg"
    planted.write_text("#!/bin/sh\ntouch C\n")
    planted.chmod(0o755)
    monkeypatch.chdir(workspace.home)
    monkeypatch.setenv("PATH", f".:{workspace.home}:{os.environ['PATH']}")
    assert (await call("Grep", workspace, pattern="touch")).content == "rg"
    assert (await call("Glob", workspace, pattern="*")).content == "rg"
    assert os.listdir(workspace.home) == ["rg"]


@pytest.mark.parametrize(("given", "taken"), [("*.py", "*.py"), ("./a", "a"), ("#a", "\\#a"), ("a ", "a[ ]"), ("", "")])
async def test_a_glob_reaches_ripgrep_as_it_was_meant(given: str, taken: str) -> None:
    assert as_glob(given) == taken


async def test_a_missing_place_is_an_error(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    assert "does not exist" in await error_of("Grep", workspace, pattern="x", path="gone")
    assert "does not exist" in await error_of("Glob", workspace, pattern="*", path="gone")


async def test_only_what_the_context_hides_is_left_out(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (Path(workspace.home) / "x").write_text("needle\n")
    context = ToolContext(workspace, hidden=lambda path: path.endswith("/x"))
    parsed = TOOLS["Glob"].parse({"pattern": "*"})
    assert (await TOOLS["Glob"].run(parsed, context)).content == "No files found"
    assert (await TOOLS["Glob"].run(parsed, ToolContext(workspace))).content == "x"
