from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support_tools import call, error_of, make_workspace, open_descriptors, running, text_of
from toolwright.tools import results
from toolwright.workspace import Workspace
from toolwright.workspace.ripgrep import ripgrep_path

FILES = {
    "a.py": "import os\ndef alpha():\n    return 1\n# TODO one\n\n\n\n# TODO two\n",
    "b.ts": "const todo = 1\n// TODO: ts\n",
    "src/c.py": "# todo lower\nimport sys\n",
    "src/deep/d.txt": "nothing here\nTODO\n",
    "src/x:y 12-z.py": "TODO odd name\n",
    ".hidden": "TODO hidden\n",
    ".git/config": "TODO git\n",
    "ignored/i.py": "TODO ignored\n",
    "long.txt": "TODO " + "x" * 5000 + "\n",
}


def fill(folder: Path) -> Workspace:
    workspace = make_workspace(folder)
    for name, content in FILES.items():
        file = folder / "ws" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (folder / "ws/.gitignore").write_text("ignored\n")
    (folder / "secret").write_text("TODO outside\n")
    (folder / "ws/link").symlink_to(folder / "secret")
    (folder / "ws/up").symlink_to(folder)
    (folder / "ws/bin").write_bytes(b"\0\0TODO\n")
    return workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return fill(tmp_path)


def by_hand(folder: str, *arguments: str) -> list[str]:
    base = ["--no-config", "--no-ignore-global", "--hidden", "-g", "!.git", "--sort=path", "--no-heading", "--with-filename"]
    done = subprocess.run([ripgrep_path(), *base, *arguments], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
    return [line.removeprefix("./") for line in done.stdout.decode().splitlines()]


def shown(text: str) -> list[str]:
    return [line for line in text.splitlines() if line not in ("No matches found", "No files found")]


@pytest.mark.anyio
async def test_the_three_modes(workspace: Workspace) -> None:
    files = await call("Grep", workspace, pattern="TODO", glob="*.py")
    assert files.content == "a.py\nsrc/x:y 12-z.py"
    assert files.structured["filenames"][0] == f"{workspace.home}/a.py"
    lines = await call("Grep", workspace, pattern="TODO", include="*.py", output_mode="content")
    assert lines.content == "a.py:4:# TODO one\na.py:8:# TODO two\nsrc/x:y 12-z.py:1:TODO odd name"
    counts = await call("Grep", workspace, pattern="TODO", output_mode="count", type="py", exclude="src/c*")
    assert counts.content == "a.py:2\nsrc/x:y 12-z.py:1"
    assert counts.structured["numMatches"] == 3


@pytest.mark.anyio
async def test_ignored_files_are_left_out_in_a_repository_only(workspace: Workspace) -> None:
    assert "ignored" not in await text_of("Grep", workspace, pattern="TODO")
    shutil.rmtree(Path(workspace.home) / ".git")
    assert "ignored" in await text_of("Grep", workspace, pattern="TODO")


@pytest.mark.anyio
async def test_pages_fit_together_and_tell_the_total(workspace: Workspace) -> None:
    whole = shown(await text_of("Grep", workspace, pattern="TODO", output_mode="content"))
    first = (await text_of("Grep", workspace, pattern="TODO", output_mode="content", head_limit=3)).splitlines()
    second = (await text_of("Grep", workspace, pattern="TODO", output_mode="content", head_limit=3, offset=3)).splitlines()
    assert first == [*whole[:3], f"[lines 1-3 of {len(whole)}; continue with offset=3]"]
    assert second[:3] == whole[3:6]
    past = await text_of("Grep", workspace, pattern="TODO", offset=99)
    assert past.startswith("[offset 99 is past the end: there are")


@pytest.mark.anyio
async def test_one_file_is_searched_by_itself(workspace: Workspace) -> None:
    assert await text_of("Grep", workspace, pattern="import", path="src/c.py", output_mode="content") == "src/c.py:2:import sys"
    assert await text_of("Grep", workspace, pattern="import", path="a.py") == "a.py"
    assert await text_of("Grep", workspace, pattern="import", path="src", output_mode="count") == "src/c.py:1"


@pytest.mark.anyio
async def test_a_pattern_or_glob_is_never_an_option(workspace: Workspace) -> None:
    for pattern in ("--pre=touch pwned", "-f/etc/passwd", "--files", "-"):
        await call("Grep", workspace, pattern=pattern, glob="--pre=x", type="")
    assert not list(Path(workspace.home).rglob("pwned"))
    assert "does not exist" in await error_of("Grep", workspace, pattern="root", path="-f/etc/passwd")


@pytest.mark.anyio
async def test_refusals_come_in_the_words_of_ripgrep(workspace: Workspace) -> None:
    assert "regex parse error" in await error_of("Grep", workspace, pattern="(")
    assert "unrecognized file type: nope" in await error_of("Grep", workspace, pattern="x", type="nope")
    assert "error parsing glob" in await error_of("Grep", workspace, pattern="x", glob="[")
    assert "does not exist" in await error_of("Grep", workspace, pattern="x", path="nothing")
    for path in ("..", "link", "up", "/etc", "up/secret"):
        assert "Access denied" in await error_of("Grep", workspace, pattern="x", path=path)
    assert await text_of("Grep", workspace, pattern="surely not there") == "No files found"


@pytest.mark.anyio
async def test_links_are_not_searched(workspace: Workspace) -> None:
    assert "outside" not in await text_of("Grep", workspace, pattern="TODO", output_mode="content")


@pytest.mark.anyio
async def test_answers_too_many_to_order_are_ordered_by_ripgrep(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"pattern": "o", "output_mode": "content", "-C": 1, "head_limit": 7, "offset": 2}
    usual = await call("Grep", workspace, **fields)
    monkeypatch.setattr(results, "MOST_BYTES_TO_ORDER", 10)
    assert await call("Grep", workspace, **fields) == usual


@pytest.mark.anyio
async def test_more_than_fits_is_cut_at_a_line_and_can_be_paged(workspace: Workspace) -> None:
    (Path(workspace.home) / "many").write_text("".join(f"hit {n}\n" for n in range(20_000)))
    text = await text_of("Grep", workspace, pattern="hit", output_mode="content")
    assert len(text) < 40_000
    assert "of 20000; continue with offset=" in text


@pytest.mark.anyio
async def test_cancelling_kills_ripgrep(workspace: Workspace) -> None:
    os.truncate(Path(workspace.home) / "b.ts", 1 << 42)
    before = open_descriptors()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: call("Grep", workspace, pattern="cancel-me-please", path="b.ts", output_mode="count"))
        with anyio.fail_after(10):
            while not running("cancel-me-please"):
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert not running("cancel-me-please")
    assert open_descriptors() == before


FIELDS = st.fixed_dictionaries(
    {"pattern": st.sampled_from(["TODO", "todo", "^import", "o", "one|two", "r.*1", "zzz", r"\bsys\b", "x{3}", "TODO two\n"])},
    optional={
        "glob": st.sampled_from(["*.py", "*.{py,ts}", "src/**", "!*.py"]),
        "type": st.sampled_from(["py", "ts", "txt"]),
        "-i": st.booleans(),
        "-n": st.booleans(),
        "-o": st.booleans(),
        "-A": st.integers(0, 2),
        "-B": st.integers(0, 2),
        "-C": st.integers(0, 2),
        "multiline": st.booleans(),
        "output_mode": st.sampled_from(["content", "files_with_matches", "count"]),
    },
)


def hand_arguments(fields: dict[str, Any]) -> list[str]:
    mode = fields.get("output_mode", "files_with_matches")
    content = mode == "content"
    around = fields.get("-C") or 0
    arguments = {"content": ["--max-columns=2000", "--max-columns-preview"], "count": ["-c"], "files_with_matches": ["-l"]}[
        mode
    ]
    if content:
        arguments = [*arguments, "-n" if fields.get("-n", True) else "-N"]
        arguments += ["-A", str(fields.get("-A") or around), "-B", str(fields.get("-B") or around)]
        arguments += ["-o"] if fields.get("-o") else []
    arguments = (
        arguments + (["-i"] if fields.get("-i") else []) + (["-U", "--multiline-dotall"] if fields.get("multiline") else [])
    )
    arguments += ["-t", fields["type"]] if "type" in fields else []
    arguments += ["-g", fields["glob"]] if "glob" in fields else []
    return [*arguments, "-e", fields["pattern"], "./"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(FIELDS)
def test_answers_equal_those_of_ripgrep_by_hand(tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]) -> None:
    folder = tmp_path_factory.getbasetemp() / "differential"
    if not folder.exists():
        folder.mkdir()
        fill(folder)
    workspace = make_workspace(folder)

    async def answer() -> str:
        return str((await call("Grep", workspace, **fields)).content)

    text = anyio.run(answer)
    if "the literal" in text and "not allowed" in text:
        return
    assert shown(text) == by_hand(workspace.home, *hand_arguments(fields))
