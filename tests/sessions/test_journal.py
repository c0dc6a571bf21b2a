"""Writing transcripts: their layout, their privacy, and what a failing disk leaves behind."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support_sessions import SESSION, assert_valid, call, journal, text, write_sample
from toolwright.sessions import Journal, JournalError, JournalInUse
from toolwright.sessions.load import load


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_entries_have_the_layout_that_other_readers_expect(tmp_path: Path) -> None:
    log = journal(tmp_path)
    write_sample(log)
    first, *rest = entries(log.path)
    assert {
        key: first[key]
        for key in ("type", "parentUuid", "isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version")
    } == {
        "type": "user",
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "entrypoint": "sdk-py",
        "cwd": str(tmp_path),
        "sessionId": SESSION,
        "version": "1.0",
    }
    assert first["timestamp"].endswith("Z")
    assert len(first["timestamp"]) == len("2026-01-31T12:00:00.000Z")
    chained = [entry for entry in (first, *rest) if "uuid" in entry]
    assert [entry["parentUuid"] for entry in chained[1:]] == [entry["uuid"] for entry in chained[:-1]]
    assert [entry["message"]["id"] for entry in chained if entry["type"] == "assistant"] == ["m1"] * 4 + ["m2"]
    assert all(len(entry["message"]["content"]) == 1 for entry in chained if entry["type"] == "assistant")


def test_tool_results_carry_their_structured_form_and_the_call_they_answer(tmp_path: Path) -> None:
    log = journal(tmp_path)
    write_sample(log)
    answer = entries(log.path)[5]
    assert answer["toolUseResult"] == {"file": {"n": 2}}
    assert answer["sourceToolAssistantUUID"] == answer["parentUuid"]


def test_notes_begin_with_their_type_and_are_not_in_the_chain(tmp_path: Path) -> None:
    log = journal(tmp_path)
    log.note("tag", tag="x")
    assert log.path.read_bytes() == b'{"type":"tag","tag":"x","sessionId":"%s"}\n' % SESSION.encode()
    assert log.last_uuid is None


def test_meta_and_synthetic_messages_are_marked(tmp_path: Path) -> None:
    log = journal(tmp_path)
    log.user("continue", is_meta=True)
    log.assistant(text("API error"), message_id="m", model="<synthetic>")
    log.system("compact_boundary", logicalParentUuid="x")
    meta, synthetic, boundary = entries(log.path)
    assert (meta["isMeta"], synthetic["isApiErrorMessage"], boundary["subtype"]) == (True, True, "compact_boundary")


def test_given_uuids_are_kept_and_new_ones_are_version_4(tmp_path: Path) -> None:
    log = journal(tmp_path, last_uuid="earlier")
    assert log.user("a", uuid="mine") == "mine"
    made = log.user("b")
    assert (made[14], made[19] in "89ab", len(made)) == ("4", True, 36)
    assert [entry["parentUuid"] for entry in entries(log.path)] == ["earlier", "mine"]


def test_no_file_exists_before_the_first_entry(tmp_path: Path) -> None:
    log = journal(tmp_path / "deep" / "er")
    assert list(tmp_path.iterdir()) == []
    with log.batch():
        pass
    assert list(tmp_path.iterdir()) == []
    log.user("now")
    assert log.path.exists()


def test_a_batch_is_one_write_with_an_unbroken_chain(tmp_path: Path) -> None:
    log = journal(tmp_path)
    with log.batch():
        first = log.user("a")
        with log.batch():
            second = log.user("b")
        assert not log.path.exists()
    assert [(entry["uuid"], entry["parentUuid"]) for entry in entries(log.path)] == [(first, None), (second, first)]


def test_complete_entries_are_appended_as_they_are(tmp_path: Path) -> None:
    log = journal(tmp_path)
    given: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "unknown": {"kept": True}},
        {"type": "tag", "uuid": "x"},
    ]
    log.append_many(given)
    log.append_many([])
    assert entries(log.path) == given
    assert log.last_uuid == "u1"


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_files_and_folders_are_the_owners_alone_under_any_umask(tmp_path: Path, mask: int) -> None:
    log = journal(tmp_path / "config" / "projects")
    before = os.umask(mask)
    try:
        log.user("a")
        log.user("b")
    finally:
        os.umask(before)
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (log.path.parent, log.path.parent.parent)} == {0o700}


def test_a_link_or_a_pipe_in_place_of_the_file_is_refused_and_its_target_untouched(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    log = journal(tmp_path)
    log.path.symlink_to(target)
    with pytest.raises(JournalError, match="it is a symbolic link"):
        log.user("a")
    assert target.read_text() == "precious"
    log.path.unlink()
    os.mkfifo(log.path)
    with pytest.raises(JournalError, match="not a regular file"):
        log.user("a")


def test_an_entry_after_a_torn_line_begins_a_new_one(tmp_path: Path) -> None:
    log = journal(tmp_path)
    log.user("a")
    with log.path.open("ab") as file:
        file.write(b'{"type":"user","uu')
    log.user("b")
    assert [message.content[0]["text"] for message in load(log.path).messages] == ["a", "b"]


@pytest.mark.parametrize(
    "value", ["\ud800", "a\udc00b\x00\u2028", {1, 2}, 10**30, float("nan"), b"\xff", Path("/x"), {5: {"\ud800": 1}}]
)
def test_anything_can_be_written(tmp_path: Path, value: Any) -> None:
    log = journal(tmp_path)
    log.user(str(value), tool_use_result={"value": value})
    log.user("next")
    assert len(entries(log.path)) == 2
    assert load(log.path).problems == ()


def test_nesting_beyond_all_measure_can_be_written(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    log = journal(tmp_path)
    log.user("a", tool_use_result={"value": deep, "surrogate": "\ud800"})
    assert "nested more than" in log.path.read_text()


def test_nothing_is_held_open(tmp_path: Path) -> None:
    log = journal(tmp_path)
    log.user("a")
    before = len(os.listdir("/proc/self/fd"))
    write_sample(log)
    assert len(os.listdir("/proc/self/fd")) == before


FULL_DISK = """
import resource, sys
from pathlib import Path
from toolwright.sessions import Journal, JournalError
from toolwright.sessions.load import load
log = Journal(Path(sys.argv[1]), session_id="s", cwd="/", version="1")
first = log.user("kept")
size = log.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 500, resource.RLIM_INFINITY))
for attempt in (lambda: log.user("x" * 2000), lambda: batch()):
    def batch():
        with log.batch():
            log.user("small")
            log.user("x" * 2000)
    try:
        attempt()
    except JournalError as error:
        assert str(log.path) in str(error), error
    else:
        raise SystemExit("a full disk went unnoticed")
    assert log.path.stat().st_size == size and log.last_uuid == first
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.user("works again")
assert [message.content[0]["text"] for message in load(log.path).messages] == ["kept", "works again"]
assert load(log.path).problems == ()
"""


def test_a_full_disk_fails_loudly_and_harms_nothing_written_before(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


WRITER = """
import sys
from pathlib import Path
from toolwright.sessions import Journal
log = Journal(Path(sys.argv[1]), session_id="s", cwd="/", version="1")
for number in range(int(sys.argv[2])):
    log.user(f"{sys.argv[3]}{number}", uuid=f"{sys.argv[3]}{number}")
    print(number, flush=True)
"""


def test_of_two_writers_one_is_told_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    writers = {
        name: subprocess.Popen([sys.executable, "-c", WRITER, str(path), "200", name], stdout=-1, stderr=-1, text=True)
        for name in ("a", "b")
    }
    outputs = {name: writer.communicate() for name, writer in writers.items()}
    told = [name for name, (_, errors) in outputs.items() if "JournalInUse" in errors or "JournalBusy" in errors]
    assert told
    assert all(writers[name].returncode == 0 for name in "ab" if name not in told)
    acknowledged = {f"{name}{number}" for name, (numbers, _) in outputs.items() for number in numbers.split()}
    assert acknowledged <= {entry["uuid"] for entry in entries(path)}


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path), "1000000", "x"], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(50)]
        writer.send_signal(signal.SIGKILL)
    transcript = load(path)
    said = {message.content[0]["text"] for message in transcript.messages}
    assert {f"x{number}" for number in acknowledged} <= said


def test_a_lock_that_stays_is_a_typed_error(tmp_path: Path) -> None:
    import fcntl

    log = journal(tmp_path)
    log.user("a")
    with log.path.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(JournalInUse, match="is in use"):
            log.user("b")
    log.user("c")
    assert len(entries(log.path)) == 2


@pytest.mark.anyio
async def test_a_held_file_is_open_and_locked_until_the_last_lets_go(tmp_path: Path) -> None:
    import fcntl

    log = journal(tmp_path)
    async with log.held():
        assert not log.path.exists()
        log.user("a")
        with log.path.open("rb") as other:
            async with log.held():
                log.user("b")
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            before = set(os.listdir("/proc/self/fd"))
    assert len(before - set(os.listdir("/proc/self/fd"))) == 2
    with log.path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert len(entries(log.path)) == 2


@pytest.mark.anyio
async def test_a_file_that_is_replaced_while_it_is_held_is_not_written_to(tmp_path: Path) -> None:
    log = journal(tmp_path)
    async with log.held():
        log.user("a")
        os.rename(log.path, tmp_path / "away")
        log.path.write_bytes((tmp_path / "away").read_bytes())
        with pytest.raises(JournalError, match="removed or cut short"):
            log.user("b")
    assert len(entries(log.path)) == 1


def test_the_branch_is_read_without_running_anything(tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (repository / "sub").mkdir()
    log = Journal(tmp_path / "s.jsonl", session_id="s", cwd=str(repository / "sub"), version="1")
    log.user("a")
    assert entries(log.path)[0]["gitBranch"] == "feature/x"


@pytest.mark.parametrize(("head", "branch"), [("0123456789abcdef\n", "HEAD"), ("ref: refs/heads/a\x1bb\n", ""), ("", "")])
def test_odd_heads_do_no_harm(tmp_path: Path, head: str, branch: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "HEAD").write_text(head)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: ../real\n")
    log = Journal(tmp_path / "s.jsonl", session_id="s", cwd=str(tmp_path / "tree"), version="1")
    log.user("a")
    assert entries(log.path)[0]["gitBranch"] == branch


def test_a_pipe_as_head_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    log = journal(tmp_path)
    log.assistant(call("t1"), message_id="m", model="x")
    assert entries(log.path)[0]["gitBranch"] == ""
    assert_valid(load(log.path).messages)
