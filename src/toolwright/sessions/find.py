"""Finds transcripts: one by its session id, or the newest of a project. Reads names, and only as much of a file as it must."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from toolwright.sessions.lines import read_lines
from toolwright.sessions.paths import checked_session_id, is_session_id, project_dir, transcript_path

HEAD = 64 * 1024


def find_session(session_id: str, *, config_dir: Path, project_key: str) -> Path | None:
    """The session's transcript, in this project or else in any. Raises `OptionsError` for an id that is none."""
    here = transcript_path(config_dir, project_key, session_id)
    if _is_file(here):
        return here
    name = f"{checked_session_id(session_id)}.jsonl"
    elsewhere = (Path(folder) / name for folder in _folders(config_dir / "projects"))
    return next(filter(_is_file, elsewhere), None)


def latest_session(*, config_dir: Path, project_key: str) -> Path | None:
    """The transcript of the project that was written to last and holds a conversation."""
    newest_first = sorted(_transcripts(project_dir(config_dir, project_key)), reverse=True)
    return next((path for _, path in newest_first if _holds_conversation(path)), None)


def _transcripts(folder: Path) -> Iterator[tuple[int, Path]]:
    for entry in _entries(folder):
        stem, dot, ending = entry.name.rpartition(".")
        if (dot, ending) == (".", "jsonl") and is_session_id(stem) and entry.is_file(follow_symlinks=False):
            yield entry.stat(follow_symlinks=False).st_mtime_ns, folder / entry.name


def _holds_conversation(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        entries, _ = read_lines(file.read(HEAD))
        longer = bool(file.read(1))
    messages = [entry for entry in entries if entry.get("type") in ("user", "assistant")]
    if not messages:
        return longer  # a first message of more than the head's size is a message still
    return not messages[0].get("isSidechain")


def _folders(projects: Path) -> list[str]:
    return sorted(entry.path for entry in _entries(projects) if entry.is_dir(follow_symlinks=False))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
