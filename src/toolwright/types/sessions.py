"""What is kept of a conversation: keys, entries and summaries, and the seam to a store of one's own."""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Protocol, Required, TypedDict

SessionStoreFlushMode = Literal["batched", "eager"]
"""When entries are handed to a store: before each result and when many wait (batched), or one by one (eager)."""


class SessionKey(TypedDict):
    """Names one transcript. `subpath` is there for a subagent's, which hangs under its session."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class SessionListSubkeysKey(TypedDict):
    """Names the session whose subagent transcripts are asked for."""

    project_key: str
    session_id: str


class SessionStoreEntry(TypedDict, total=False):
    """One line of a transcript. Only `type` is certain; the rest belongs to the writer and is kept as it is."""

    type: Required[str]
    uuid: str
    timestamp: str


class SessionStoreListEntry(TypedDict):
    """One session in a store's listing. `mtime` is in milliseconds since 1970."""

    session_id: str
    mtime: int


class SessionSummaryEntry(TypedDict):
    """A session's summary as kept beside its transcript, so that a listing need not load it."""

    session_id: str
    mtime: int
    data: dict[str, Any]


class SessionStore(Protocol):
    """Where transcripts go besides, or instead of, this machine's disk.

    A store must append and load. It may also have `list_sessions(project_key)`, `list_session_summaries(project_key)`,
    `delete(key)` and `list_subkeys(key)`; whoever needs one of these looks for it first.
    """

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add the entries behind those already there, in this order."""
        ...

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """All entries in the order they were appended, or None when there is no such transcript."""
        ...


@dataclass
class SDKSessionInfo:
    """A session in a listing. Times are in milliseconds since 1970."""

    session_id: str
    summary: str
    last_modified: int
    file_size: int | None = None
    custom_title: str | None = None
    first_prompt: str | None = None
    git_branch: str | None = None
    cwd: str | None = None
    tag: str | None = None
    created_at: int | None = None


@dataclass
class SessionMessage:
    """A message read back from a transcript; `message` is in the shape of the Messages API."""

    type: Literal["user", "assistant"]
    uuid: str
    session_id: str
    message: Any
    parent_tool_use_id: str | None = None
    parent_agent_id: str | None = None
