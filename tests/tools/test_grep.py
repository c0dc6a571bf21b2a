from __future__ import annotations

import os
import shutil
import tracemalloc
from pathlib import Path

import anyio
import pytest

from support_tools import call, error_of, make_workspace, open_descriptors, running, text_of
from toolwright.base import landlock
from toolwright.processes import ripgrep
from toolwright.tools import grep, results
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio

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


def shown(text: str) -> list[str]:
    return [line for line in text.splitlines() if line not in ("No matches found", "No files found")]


async def test_matches_leave_out_the_lines_around_and_need_no_numbers(workspace: Workspace) -> None:
    fields = {"pattern": "alpha", "path": "a.py", "output_mode": "content", "-n": False, "-C": 1}
    output = await call("Grep", workspace, **fields)
    assert output.structured["matches"] == [{"file": f"{workspace.home}/a.py", "line": 2, "content": "def alpha():"}]


@pytest.mark.parametrize("kind", ["tsx", "jsx"])
async def test_types_that_ripgrep_does_not_know(kind: str, workspace: Workspace) -> None:
    (Path(workspace.home) / f"view.{kind}").write_text("TODO\n")
    assert await text_of("Grep", workspace, pattern="TODO", type=kind) == f"view.{kind}"


async def test_the_three_modes(workspace: Workspace) -> None:
    files = await call("Grep", workspace, pattern="TODO", glob="*.py")
    assert files.content == "a.py\nsrc/x:y 12-z.py"
    assert files.structured["filenames"][0] == f"{workspace.home}/a.py"
    lines = await call("Grep", workspace, pattern="TODO", include="*.py", output_mode="content")
    assert lines.content == "a.py:4:# TODO one\na.py:8:# TODO two\nsrc/x:y 12-z.py:1:TODO odd name"
    assert lines.structured["matches"] == [
        {"file": f"{workspace.home}/a.py", "line": 4, "content": "# TODO one"},
        {"file": f"{workspace.home}/a.py", "line": 8, "content": "# TODO two"},
        {"file": f"{workspace.home}/src/x:y 12-z.py", "line": 1, "content": "TODO odd name"},
    ]
    counts = await call("Grep", workspace, pattern="TODO", output_mode="count", type="py", exclude="src/c*")
    assert counts.content == "a.py:2\nsrc/x:y 12-z.py:1"
    assert counts.structured["numMatches"] == 3


async def test_ignored_files_are_left_out_in_a_repository_only(workspace: Workspace) -> None:
    assert "ignored" not in await text_of("Grep", workspace, pattern="TODO")
    shutil.rmtree(Path(workspace.home) / ".git")
    assert "ignored" in await text_of("Grep", workspace, pattern="TODO")


async def test_pages_fit_together_and_tell_the_total(workspace: Workspace) -> None:
    whole = shown(await text_of("Grep", workspace, pattern="TODO", output_mode="content"))
    first = (await text_of("Grep", workspace, pattern="TODO", output_mode="content", head_limit=3)).splitlines()
    second = (await text_of("Grep", workspace, pattern="TODO", output_mode="content", head_limit=3, offset=3)).splitlines()
    assert first == [*whole[:3], f"[lines 1-3 of {len(whole)}; continue with offset=3]"]
    assert second[:3] == whole[3:6]
    past = await text_of("Grep", workspace, pattern="TODO", offset=99)
    assert past.startswith("[offset 99 is past the end: there are")


async def test_one_file_is_searched_by_itself(workspace: Workspace) -> None:
    assert await text_of("Grep", workspace, pattern="import", path="src/c.py", output_mode="content") == "src/c.py:2:import sys"
    assert await text_of("Grep", workspace, pattern="import", path="a.py") == "a.py"
    assert await text_of("Grep", workspace, pattern="import", path="src", output_mode="count") == "src/c.py:1"


async def test_a_pattern_or_glob_is_never_an_option(workspace: Workspace) -> None:
    for pattern in ("--pre=touch pwned", "-f/etc/passwd", "--files", "-"):
        await call("Grep", workspace, pattern=pattern, glob="--pre=x", type="")
    assert not list(Path(workspace.home).rglob("pwned"))
    assert "does not exist" in await error_of("Grep", workspace, pattern="root", path="-f/etc/passwd")


async def test_refusals_come_in_the_words_of_ripgrep(workspace: Workspace) -> None:
    assert "regex parse error" in await error_of("Grep", workspace, pattern="(")
    assert "unrecognized file type: nope" in await error_of("Grep", workspace, pattern="x", type="nope")
    assert "error parsing glob" in await error_of("Grep", workspace, pattern="x", glob="[")
    assert "does not exist" in await error_of("Grep", workspace, pattern="x", path="nothing")
    for path in ("..", "link", "up", "/etc", "up/secret"):
        assert "Access denied" in await error_of("Grep", workspace, pattern="x", path=path)
    assert await text_of("Grep", workspace, pattern="surely not there") == "No files found"


async def test_links_are_not_searched(workspace: Workspace) -> None:
    assert "outside" not in await text_of("Grep", workspace, pattern="TODO", output_mode="content")


async def test_answers_too_many_to_order_are_ordered_by_ripgrep(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"pattern": "o", "output_mode": "content", "-C": 1, "head_limit": 7, "offset": 2}
    usual = await call("Grep", workspace, **fields)
    monkeypatch.setattr(results, "MAX_BYTES_TO_ORDER", 10)
    assert await call("Grep", workspace, **fields) == usual


async def test_more_than_fits_is_cut_at_a_line_and_can_be_paged(workspace: Workspace) -> None:
    (Path(workspace.home) / "many").write_text("".join(f"hit {n}\n" for n in range(20_000)))
    text = await text_of("Grep", workspace, pattern="hit", output_mode="content")
    assert len(text) < 40_000
    assert "of 20000; continue with offset=" in text


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


async def test_the_time_limit_ends_the_search_and_says_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    os.truncate(Path(workspace.home) / "b.ts", 1 << 42)
    monkeypatch.setattr(grep, "SEARCH_TIMEOUT", 0.3)
    text = await text_of("Grep", workspace, pattern="time-is-up", output_mode="count", path="b.ts")
    assert "stopped after" in text
    assert not running("time-is-up")


async def test_names_with_line_feeds_and_bytes_that_are_no_text(workspace: Workspace) -> None:
    root = Path(workspace.home)
    (root / "new\n\nline").write_text("needle\n")
    (root / "new\n12:x").write_text("needle\n\nneedle\n")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_bytes(b"needle \xfe\n")
    fields = {"pattern": "needle", "glob": "[!a-m]*"}
    assert await text_of("Grep", workspace, **fields) == "new\n\nline\nnew\n12:x\n\\xff"
    counted = await call("Grep", workspace, output_mode="count", **fields)
    assert counted.content == "new\n\nline:1\nnew\n12:x:2\n\\xff:1"
    assert counted.structured["numMatches"] == 4
    content = await call("Grep", workspace, output_mode="content", **fields)
    assert content.content == "new\n\nline:1:needle\nnew\n12:x:1:needle\nnew\n12:x:3:needle\n\\xff:1:needle \\xfe"
    assert content.structured["totalLines"] == 4


async def test_utf16_and_crlf_are_read_as_text(workspace: Workspace) -> None:
    (Path(workspace.home) / "sixteen.txt").write_bytes("eins\r\nneedle ü\r\n".encode("utf-16"))
    (Path(workspace.home) / "crlf.txt").write_bytes(b"needle\r\nzwei\r\n")
    text = await text_of("Grep", workspace, pattern="needle", output_mode="content", **{"-A": 1})
    assert text == "crlf.txt:1:needle\ncrlf.txt-2-zwei\n--\nsixteen.txt:2:needle ü"


async def test_a_binary_file_is_remarked_on_where_it_was_left(workspace: Workspace) -> None:
    (Path(workspace.home) / "half.dat").write_bytes(b"needle\n" * 20_000 + b"\0\0")
    last = await text_of("Grep", workspace, pattern="needle", output_mode="content", glob="*.dat", offset=18_000)
    assert "half.dat: WARNING: stopped searching binary file after match" in last
    alone = await text_of("Grep", workspace, pattern="TODO", path="bin", output_mode="content")
    assert alone.startswith("bin: binary file matches")


async def test_a_page_deep_in_one_large_answer_is_found(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = 300_000
    (Path(workspace.home) / "many.log").write_text("".join(f"hit {number}\n" for number in range(lines)))
    fields = {"pattern": "hit", "output_mode": "content", "glob": "*.log", "head_limit": 1}
    expected = f"many.log:290001:hit 290000\n[lines 290001-290001 of {lines}; continue with offset=290001]"
    assert await text_of("Grep", workspace, offset=290_000, **fields) == expected
    assert await text_of("Grep", workspace, offset=290_000, path="many.log", **fields) == expected


async def test_memory_does_not_grow_with_the_answer(workspace: Workspace) -> None:
    for number in range(40):
        (Path(workspace.home) / f"many{number}.log").write_text("hit and some more text to print\n" * 10_000)
    tracemalloc.start()
    try:
        text = await text_of("Grep", workspace, pattern="hit", output_mode="content", glob="*.log", head_limit=5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text.endswith("[lines 1-5 of 400000; continue with offset=5]")
    assert peak < 5_000_000


async def test_the_ignore_files_of_the_repository_around_the_workspace_count(tmp_path: Path) -> None:
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".git/info/exclude").write_text("private\n")
    (tmp_path / ".gitignore").write_text("/ws/built\n*.log\n[\n")
    workspace = make_workspace(tmp_path)
    for name in ("built", "a.log", "private", "seen"):
        (tmp_path / "ws" / name).write_text("needle\n")
    assert await text_of("Grep", workspace, pattern="needle") == "seen"
    (tmp_path / "ws/inner").mkdir()
    (tmp_path / "ws/inner/b.log").write_text("needle\n")
    (tmp_path / "ws/inner/c.txt").write_text("needle\n")
    assert await text_of("Grep", workspace, pattern="needle", path="inner") == "inner/c.txt"
    shutil.rmtree(tmp_path / ".git")
    assert await text_of("Grep", workspace, pattern="needle", path="inner") == "inner/b.log\ninner/c.txt"


@pytest.mark.skipif(not landlock.is_available(), reason="this kernel has no Landlock")
async def test_a_ripgrep_that_loads_libraries_can_be_confined_too(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shutil.which("ls", path="/bin:/usr/bin")
    assert program is not None
    monkeypatch.setattr(ripgrep, "ripgrep_path", lambda: os.path.realpath(program))
    monkeypatch.setattr(ripgrep, "_ALWAYS", ())
    seen: list[bytes] = []

    async def collect(piece: bytes) -> None:
        seen.append(piece)

    with workspace.search_place(".") as place:
        end = await workspace.search(place, [], on_output=collect, timeout=10)
        assert end.exit_code == 0
        assert b"a.py" in b"".join(seen)
        outside = await ripgrep.run_ripgrep([str(tmp_path)], directory=place.folder, on_output=collect, timeout=10)
    assert outside.exit_code == 2
    assert "Permission denied" in outside.message
