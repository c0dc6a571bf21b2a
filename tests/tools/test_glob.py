from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_tools import call, error_of, make_workspace, open_descriptors, text_of
from toolwright.tools.glob import Newest
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio

FILES = ["a.py", "b.md", "src/c.py", "src/deep/d.py", "src/deep/e.ts", ".hidden.py", "node_modules/m.py", ".git/hook.py"]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path)
    for age, name in enumerate(FILES):
        file = tmp_path / "ws" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (1000 - age, 1000 - age))
    (tmp_path / "ws/.gitignore").write_text("node_modules\n")
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "ws-evil/secret.py").touch()
    (tmp_path / "ws/out").symlink_to(tmp_path / "ws-evil")
    (tmp_path / "ws/secret.py").symlink_to(tmp_path / "ws-evil/secret.py")
    return made


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"pattern": "*.py"}, ["a.py", "src/c.py", "src/deep/d.py", ".hidden.py", "node_modules/m.py"]),
        ({"pattern": "src/*.py"}, ["src/c.py"]),
        ({"pattern": "./*.py"}, ["a.py", ".hidden.py"]),
        ({"pattern": "src/**/*.{py,ts}"}, ["src/c.py", "src/deep/d.py", "src/deep/e.ts"]),
        ({"pattern": "[ab].??"}, ["a.py", "b.md"]),
        ({"pattern": "!*.py", "path": "src"}, ["src/deep/e.ts"]),
        ({"pattern": "*.py", "cwd": "src/deep"}, ["src/deep/d.py"]),
        ({"pattern": "src/../*.md"}, ["b.md"]),
        ({"pattern": ".git/*"}, [".git/hook.py"]),
        ({"pattern": "{a,/etc}*"}, ["a.py"]),
        ({"pattern": "*.rs"}, ["No files found"]),
    ],
)
async def test_patterns_find_files_newest_first(workspace: Workspace, fields: dict[str, str], expected: list[str]) -> None:
    assert (await text_of("Glob", workspace, **fields)).splitlines() == expected


async def test_the_list_has_both_names(workspace: Workspace) -> None:
    structured = (await call("Glob", workspace, pattern="**/*.py")).structured
    assert structured["files"] == structured["filenames"]
    assert structured["count"] == len(structured["files"]) > 0


async def test_an_absolute_pattern_is_taken_apart(workspace: Workspace) -> None:
    output = await call("Glob", workspace, pattern=f"{workspace.home}/src/*.py")
    assert output.content == "src/c.py"
    assert output.structured["filenames"] == [f"{workspace.home}/src/c.py"]
    assert {key: output.structured[key] for key in ("numFiles", "truncated", "totalMatches", "countIsComplete")} == {
        "numFiles": 1,
        "truncated": False,
        "totalMatches": 1,
        "countIsComplete": True,
    }


@pytest.mark.parametrize("pattern", ["../**", "../ws-evil/*", "/etc/*", "src/../../ws-evil/*", "out/*", "!../x", "out/s*"])
async def test_no_pattern_lists_what_is_outside(workspace: Workspace, pattern: str) -> None:
    output = await call("Glob", workspace, pattern=pattern)
    assert "secret" not in str(output.content)
    assert "passwd" not in str(output.content)
    assert "secret" not in str((await call("Glob", workspace, pattern="**", path="out")).content)


async def test_refusals_say_why(workspace: Workspace) -> None:
    assert "Access denied" in await error_of("Glob", workspace, pattern="*", path="..")
    assert "Access denied" in await error_of("Glob", workspace, pattern="*", path="out")
    assert "Directory does not exist" in await error_of("Glob", workspace, pattern="*", path="nothing")
    assert "is a file" in await error_of("Glob", workspace, pattern="*", path="a.py")
    assert "unclosed character class" in await error_of("Glob", workspace, pattern="[")
    assert ".. after a wildcard" in await error_of("Glob", workspace, pattern="*/../x")


async def test_the_total_is_told_when_the_list_is_cut(workspace: Workspace) -> None:
    for number in range(150):
        (Path(workspace.home) / f"n{number}.txt").touch()
    text = await text_of("Glob", workspace, pattern="*.txt")
    assert len(text.splitlines()) == 101
    assert text.endswith("[the newest 100 of 150 files; narrow the pattern or path to see others]")


async def test_names_that_are_not_utf8_and_hold_newlines_are_listed(workspace: Workspace) -> None:
    (Path(workspace.home) / "new\nline.odd").touch()
    os.close(os.open(os.fsencode(workspace.home) + b"/\xff.odd", os.O_CREAT))
    output = await call("Glob", workspace, pattern="*.odd")
    assert sorted(os.path.basename(name) for name in output.structured["filenames"]) == ["\\xff.odd", "new\nline.odd"]


async def test_a_planted_ripgrep_is_never_run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = Path(workspace.home) / "rg"
    planted.write_text("#!/bin/sh\ntouch planted-ran\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", workspace.home)
    monkeypatch.chdir(workspace.home)
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(planted))
    before = open_descriptors()
    await text_of("Glob", workspace, pattern="*")
    await text_of("Grep", workspace, pattern="x")
    assert open_descriptors() == before
    assert not (Path(workspace.home) / "planted-ran").exists()


@settings(max_examples=30)
@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 9), st.integers(1, 40))
def test_the_newest_are_kept_however_the_list_is_cut(
    tmp_path_factory: pytest.TempPathFactory, ages: list[int], limit: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("newest")
    for number, age in enumerate(ages):
        (folder / str(number)).touch()
        os.utime(folder / str(number), (age, age))
    listing = b"".join(b"%d\0" % number for number in range(len(ages)))
    descriptor = os.open(folder, os.O_RDONLY)
    newest = Newest(descriptor, limit)
    for start in range(0, len(listing), size):
        coroutine = newest.feed(listing[start : start + size])
        with pytest.raises(StopIteration):
            coroutine.send(None)
    os.close(descriptor)
    assert newest.total == len(ages)
    assert [ages[int(name)] for name in newest.names()] == sorted(ages, reverse=True)[:limit]
