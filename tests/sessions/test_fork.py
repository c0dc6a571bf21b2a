"""A fork is the same conversation under new ids."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from support_sessions import SESSION, assert_valid, journal, write_sample
from toolwright.sessions import JournalError, is_session_id
from toolwright.sessions.fork import fork
from toolwright.sessions.load import load
from toolwright.types import OptionsError

NEW = "99999999-2222-4333-8444-555555555555"


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    log = journal(tmp_path)
    write_sample(log)
    return log.path


def test_a_fork_says_the_same_under_new_ids(source: Path) -> None:
    before = source.read_bytes()
    copy = fork(source)
    old, new = load(source), load(copy)
    assert [(message.role, message.content) for message in new.messages] == [
        (message.role, message.content) for message in old.messages
    ]
    assert new.session_id == copy.stem != SESSION
    assert is_session_id(copy.stem)
    assert {entry.get("uuid") for entry in entries(source)}.isdisjoint(
        {entry["uuid"] for entry in entries(copy) if "uuid" in entry}
    )
    assert source.read_bytes() == before
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_each_entry_remembers_where_it_came_from(source: Path) -> None:
    copied = [entry for entry in entries(fork(source, session_id=NEW)) if "uuid" in entry]
    originals = [entry["uuid"] for entry in entries(source) if "uuid" in entry]
    assert [entry["forkedFrom"] for entry in copied] == [{"sessionId": SESSION, "messageUuid": uuid} for uuid in originals]
    assert {entry["sessionId"] for entry in copied} == {NEW}
    answer = copied[5]
    assert answer["sourceToolAssistantUUID"] == answer["parentUuid"]


def test_a_fork_may_end_at_a_message(source: Path) -> None:
    cut = fork(source, up_to=entries(source)[2]["uuid"])
    assert [message.role for message in load(cut).messages] == ["user", "assistant"]
    with pytest.raises(OptionsError, match="holds no message"):
        fork(source, up_to="nothing")


def test_progress_and_subagents_stay_behind_and_the_chain_holds(tmp_path: Path) -> None:
    log = journal(tmp_path)
    log.user("a", uuid="u1")
    common = {"sessionId": SESSION, "parentUuid": "u1"}
    log.append_many(
        [
            {"type": "user", "uuid": "s1", "isSidechain": True, "message": {"role": "user", "content": "sub"}, **common},
            {"type": "progress", "uuid": "p1", **common},
        ]
    )
    log.user("b")
    first, second = entries(fork(log.path))
    assert second["parentUuid"] == first["uuid"]


def test_the_title_says_that_it_is_a_fork(source: Path, tmp_path: Path) -> None:
    assert entries(fork(source))[-1]["customTitle"] == "Bug hunt (fork)"
    again = entries(fork(fork(source)))
    assert [entry["customTitle"] for entry in again if entry["type"] == "custom-title"] == ["Bug hunt (fork) (fork)"]
    copy = fork(source, title="Mine", folder=tmp_path / "other" / "project")
    assert entries(copy)[-1] == {"type": "custom-title", "customTitle": "Mine", "sessionId": copy.stem}


def test_a_fork_never_overwrites(source: Path) -> None:
    with pytest.raises(JournalError, match=r"There is a session .* already"):
        fork(source, session_id=SESSION)
    with pytest.raises(OptionsError, match="is not a session id"):
        fork(source, session_id="../x")
    assert_valid(load(source).messages)
