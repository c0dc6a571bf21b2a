"""A session copied into a new one: same conversation, new ids, and each entry remembers where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolwright.base.ids import new_uuid
from toolwright.sessions.bulk import let_go, uncollected
from toolwright.sessions.encoding import encode_line
from toolwright.sessions.lines import is_in_chain, read_lines
from toolwright.sessions.load import is_read_state
from toolwright.sessions.paths import checked_session_id
from toolwright.sessions.private_files import create, read
from toolwright.types import OptionsError

Entry = dict[str, Any]


def fork(
    source: Path,
    *,
    session_id: str | None = None,
    folder: Path | None = None,
    up_to: str | None = None,
    title: str | None = None,
) -> Path:
    """Copy the conversation in `source` to a new transcript and give its path; the new session's id is the file's stem.

    `folder`: where it goes, if not beside the source. `up_to`: the uuid of the last entry to copy. `title`: for the copy; else
    the source's, with " (fork)" behind it. Raises `OptionsError` if `up_to` is not there, `JournalError` for a file's failure.
    """
    new_id = checked_session_id(session_id) if session_id else new_uuid()
    target = (folder or source.parent) / f"{new_id}.jsonl"
    with uncollected():
        entries, _ = read_lines(read(source))
        create(target, _lines(entries, _up_to(entries, up_to), new_id, source.stem, title=title or _title(entries)))
        let_go(entries)
    return target


def _lines(entries: list[Entry], copied: int, session_id: str, old_session: str, *, title: str | None) -> Iterator[bytes]:
    yield from map(encode_line, _copies(entries[:copied], session_id, old_session))
    # Whether the copy has the call that learnt it is found out when the copy is loaded.
    yield from (encode_line({**entry, "sessionId": session_id}) for entry in entries if is_read_state(entry))
    if title:
        yield encode_line({"type": "custom-title", "customTitle": title, "sessionId": session_id})


def _up_to(entries: list[Entry], uuid: str | None) -> int:
    """How many entries the copy begins with."""
    if uuid is None:
        return len(entries)
    last = next((position for position, entry in enumerate(entries) if entry.get("uuid") == uuid), None)
    if last is None:
        raise OptionsError(f"The session holds no message {uuid}; fork it at one of its own messages.")
    return last + 1


def _copies(entries: list[Entry], session_id: str, old_session: str) -> Iterator[Entry]:
    """The conversation's entries under new uuids. Progress and subagents' entries stay behind; what hung on them moves up."""
    parents = {entry["uuid"]: entry.get("parentUuid") for entry in entries if is_in_chain(entry)}
    kept = [entry for entry in entries if _belongs(entry)]
    renamed = {entry["uuid"]: new_uuid() for entry in kept}
    for entry in kept:
        copy = {**entry, "uuid": renamed[entry["uuid"]], "sessionId": session_id}
        copy["parentUuid"] = _renamed_parent(entry.get("parentUuid"), parents, renamed)
        for name in ("sourceToolAssistantUUID", "logicalParentUuid"):
            if name in entry:
                copy[name] = renamed.get(entry[name], entry[name])
        copy["forkedFrom"] = {"sessionId": entry.get("sessionId", old_session), "messageUuid": entry["uuid"]}
        yield copy


def _belongs(entry: Entry) -> bool:
    return is_in_chain(entry) and entry["type"] != "progress" and not entry.get("isSidechain")


def _renamed_parent(parent: Any, parents: dict[str, Any], renamed: dict[str, str]) -> str | None:
    for _ in range(len(parents) + 1):  # no chain is longer, unless it is a ring
        if not isinstance(parent, str) or parent in renamed:
            break
        parent = parents.get(parent)
    return renamed.get(parent) if isinstance(parent, str) else None


def _title(entries: list[Entry]) -> str | None:
    for name in ("customTitle", "aiTitle"):
        title = next((entry[name] for entry in reversed(entries) if isinstance(entry.get(name), str) and entry[name]), None)
        if title:
            return f"{title} (fork)"
    return None
