"""What a session knows of files, across resume, fork and going back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support_runtime import Frame, play, results, text_of
from toolwright.models.scripted import Call, Say, ScriptedModel, Turn

pytestmark = pytest.mark.anyio

FILES: dict[str, Any] = {"allowed_tools": ["Read", "Write", "Edit"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "workspace/file.txt"
    file.parent.mkdir()
    file.write_text("one\ntwo\n")
    return file


async def run(folder: Path, *calls: Call, **more: Any) -> list[Frame]:
    """Have the model make these calls, in one answer each."""
    return await play(folder, ScriptedModel([*calls, Say("done")]), **FILES, **more)


async def first_run(folder: Path, *calls: Call) -> str:
    return str((await run(folder, *calls))[-1]["session_id"])


def read(file: Path) -> Call:
    return Call("Read", {"file_path": str(file)})


def write(file: Path) -> Call:
    return Call("Write", {"file_path": str(file), "content": "three\n"})


def edit(file: Path, **more: Any) -> Call:
    return Call("Edit", {"file_path": str(file), "old_string": "one", "new_string": "1", **more})


def only_result(frames: list[Frame]) -> str:
    (result,) = results(frames)
    return text_of(result)


def transcript(folder: Path, session: str) -> Path:
    (path,) = (folder / "config/projects").rglob(f"{session}.jsonl")
    return path


def states(path: Path) -> list[dict[str, Any]]:
    return [entry for line in path.read_text().splitlines() if (entry := json.loads(line))["type"] == "file-read-state"]


async def test_a_file_read_before_can_be_changed_after_a_resume(tmp_path: Path, file: Path) -> None:
    session = await first_run(tmp_path, read(file))
    assert "updated successfully" in only_result(await run(tmp_path, edit(file), resume=session))
    assert "updated successfully" in only_result(await run(tmp_path, write(file), resume=session))
    assert file.read_text() == "three\n"


async def test_a_file_changed_meanwhile_is_noticed_after_a_resume(tmp_path: Path, file: Path) -> None:
    session = await first_run(tmp_path, read(file))
    status = file.stat()
    file.write_text("one\nTWO\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # only the bytes tell
    assert "has changed on disk since it was read" in only_result(await run(tmp_path, write(file), resume=session))
    assert "has changed" in only_result(await run(tmp_path, edit(file, replace_all=True), resume=session))
    assert "had changed on disk since it was read" in only_result(await run(tmp_path, edit(file), resume=session))
    assert file.read_text() == "1\nTWO\n"


async def test_a_mere_touch_between_two_runs_is_no_change(tmp_path: Path, file: Path) -> None:
    session = await first_run(tmp_path, read(file))
    os.utime(file, (1, 1))
    text = only_result(await run(tmp_path, write(file), resume=session))
    assert "updated successfully" in text
    assert "changed on disk" not in text


async def test_what_the_session_wrote_itself_is_known_after_a_resume(tmp_path: Path, file: Path) -> None:
    new = file.with_name("new.txt")
    session = await first_run(tmp_path, Call("Write", {"file_path": str(new), "content": "one\n"}), read(file), edit(file))
    assert "updated successfully" in only_result(await run(tmp_path, edit(new), resume=session))
    assert "updated successfully" in only_result(await run(tmp_path, write(file), resume=session))


async def test_a_file_that_was_never_read_stays_unread(tmp_path: Path, file: Path) -> None:
    session = await first_run(tmp_path)
    assert "has not been read yet" in only_result(await run(tmp_path, write(file), resume=session))


async def test_a_fork_knows_what_its_source_knew(tmp_path: Path, file: Path) -> None:
    session = await first_run(tmp_path, read(file))
    frames = await run(tmp_path, write(file), resume=session, fork_session=True)
    assert frames[-1]["session_id"] != session
    assert "updated successfully" in only_result(frames)


async def test_a_session_taken_back_to_before_the_read_does_not_know_the_file(tmp_path: Path, file: Path) -> None:
    session = await first_run(tmp_path)
    beginning = json.loads(transcript(tmp_path, session).read_text().splitlines()[0])["uuid"]
    await run(tmp_path, read(file), resume=session)
    for more in ({}, {"fork_session": True}):
        frames = await run(tmp_path, write(file), resume=session, resume_session_at=beginning, **more)
        assert "has not been read yet" in only_result(frames)


async def test_damaged_lines_make_a_file_unread_and_nothing_worse(tmp_path: Path, file: Path) -> None:
    session = await first_run(tmp_path, read(file))
    path = transcript(tmp_path, session)
    for damage in ('"sha1":"zz', '"sha1":["', '"mtimeNs":"x","old":"'):
        lines = [
            line.replace('"sha1":"', damage) if '"file-read-state"' in line else line for line in path.read_text().splitlines()
        ]
        fork = path.with_name("99999999-2222-4333-8444-555555555555.jsonl")
        fork.write_text("\n".join(lines) + "\n")
        assert "has not been read yet" in only_result(await run(tmp_path, write(file), resume=fork.stem))
        fork.unlink()


async def test_reading_an_unchanged_file_again_adds_no_line(tmp_path: Path, file: Path) -> None:
    session = await first_run(tmp_path, read(file), read(file))
    assert [state["path"] for state in states(transcript(tmp_path, session))] == [str(file)]
    await run(tmp_path, read(file), resume=session)
    assert len(states(transcript(tmp_path, session))) == 1


async def test_reads_of_one_answer_are_all_remembered(tmp_path: Path, file: Path) -> None:
    other = file.with_name("other.txt")
    other.write_text("one\n")
    both = Turn([read(file), read(other)])
    session = str((await play(tmp_path, ScriptedModel([both, Say("done")]), **FILES))[-1]["session_id"])
    frames = await run(tmp_path, edit(file), edit(other), resume=session)
    assert all("updated successfully" in text_of(result) for result in results(frames))
