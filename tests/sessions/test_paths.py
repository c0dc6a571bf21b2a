"""Where transcripts lie, and finding them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_sessions import SESSION
from toolwright.sessions import (
    Journal,
    config_dir,
    project_dir,
    project_key_for_directory,
    transcript_path,
)
from toolwright.sessions.find import find_session, latest_session
from toolwright.types import OptionsError

OTHER = "99999999-2222-4333-8444-555555555555"


def test_the_config_folder_comes_from_the_given_environment() -> None:
    assert config_dir({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/home/ada"}) == Path("/c")
    assert config_dir({"HOME": "/home/ada"}) == Path("/home/ada/.claude")
    assert config_dir({}).name == ".claude"


def test_a_relative_config_folder_is_refused() -> None:
    with pytest.raises(OptionsError, match="absolute"):
        config_dir({"CLAUDE_CONFIG_DIR": "here"})


@pytest.mark.parametrize(
    ("directory", "key"),
    [
        ("/nope/a_b.c é", "-nope-a-b-c--"),
        ("/nope/e\u0301", "-nope--"),
        ("/nope/" + "x" * 300, "-nope-" + "x" * 194 + "-brzqga"),
        ("/nope/" + "é" * 150 + "/" + "y" * 100, "-nope-" + "-" * 151 + "y" * 43 + "-com6z"),
        ("/nope/" + "😀" * 250, "-nope-" + "-" * 194 + "-b8e7yu"),
    ],
)
def test_project_keys_are_those_of_other_programs(directory: str, key: str) -> None:
    assert project_key_for_directory(directory) == key


def test_a_project_key_is_of_the_real_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert project_key_for_directory(tmp_path / "link") == project_key_for_directory(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "link")
    assert project_key_for_directory() == project_key_for_directory(tmp_path / "real")


@pytest.mark.parametrize(
    "session_id",
    ["", "x", "../../etc/passwd", f"{SESSION}/../x", f"{SESSION}\n", SESSION[:-1], "11111111222243338444555555555555"],
)
def test_only_uuids_become_file_names(tmp_path: Path, session_id: str) -> None:
    with pytest.raises(OptionsError, match="is not a session id"):
        transcript_path(tmp_path, "-p", session_id)
    with pytest.raises(OptionsError, match="is not a session id"):
        find_session(session_id, config_dir=tmp_path, project_key="-p")


def write(config: Path, project: str, session_id: str, *, said: str | None = "hi", at: int = 0) -> Path:
    path = transcript_path(config, project, session_id)
    log = Journal(path, session_id=session_id, cwd="/", version="1")
    log.note("tag", tag="x")
    if said is not None:
        log.user(said)
    os.utime(path, (at, at))
    return path


def test_a_session_is_found_in_its_project_first_and_then_in_any(tmp_path: Path) -> None:
    elsewhere = write(tmp_path, "-b", SESSION)
    assert find_session(SESSION, config_dir=tmp_path, project_key="-c") == elsewhere
    here = write(tmp_path, "-c", SESSION)
    assert find_session(SESSION, config_dir=tmp_path, project_key="-c") == here
    assert find_session(OTHER, config_dir=tmp_path, project_key="-c") is None
    assert find_session(OTHER, config_dir=tmp_path / "none", project_key="-c") is None


def test_a_link_is_not_a_session(tmp_path: Path) -> None:
    real = write(tmp_path, "-b", OTHER)
    link = transcript_path(tmp_path, "-c", SESSION)
    link.parent.mkdir()
    link.symlink_to(real)
    assert find_session(SESSION, config_dir=tmp_path, project_key="-c") is None
    assert latest_session(config_dir=tmp_path, project_key="-c") is None


def test_the_latest_session_is_the_newest_one_that_holds_a_conversation(tmp_path: Path) -> None:
    assert latest_session(config_dir=tmp_path, project_key="-p") is None
    older = write(tmp_path, "-p", SESSION, at=100)
    write(tmp_path, "-p", OTHER, said=None, at=200)
    (project_dir(tmp_path, "-p") / "notes.jsonl").write_text("{}")
    assert latest_session(config_dir=tmp_path, project_key="-p") == older
    newest = write(tmp_path, "-p", "77777777-2222-4333-8444-555555555555", said="x" * 100_000, at=300)
    assert latest_session(config_dir=tmp_path, project_key="-p") == newest
