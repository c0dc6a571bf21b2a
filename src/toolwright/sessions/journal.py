"""The journal: a session's transcript, appended to line by line as things happen.

Each entry hangs on the one before it (`parentUuid`); an assistant message is written block by block, under one message id.
An entry is in the file when its method returns, or the method raises `JournalError` and the journal stands where it stood.
While it is `held`, for a turn, the file stays open and locked; otherwise nothing is open between entries, and no file exists
before the first. Where the first entry cannot be written, or nothing is to be kept, the journal is one in name only:
`on_unwritable` is told. Knows the layout of entries, not what a session does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import anyio

from toolwright.base.ids import new_uuid, timestamp
from toolwright.sessions.encoding import encode_line
from toolwright.sessions.errors import JournalBusy, JournalError, JournalInUse
from toolwright.sessions.git_head import git_branch
from toolwright.sessions.lines import is_in_chain
from toolwright.sessions.locked_file import PAUSE, TIMEOUT, LockedFile
from toolwright.sessions.private_files import already_there

SYNTHETIC_MODEL = "<synthetic>"
"""The model of messages that no model wrote, such as an API error shown as an answer; they are not part of the history."""

READ_STATE = "file-read-state"
"""The type of a line that tells which version of a file a call has seen."""

DEFERRED = "deferred-tool-use"
"""The type of a line that tells of a call which was put off and is to be run when the session goes on."""

Content = str | list[dict[str, Any]]


class Journal:
    """The transcript of one session, for its one writer. Not made for use from several threads."""

    __slots__ = (
        "_branch",
        "_file",
        "_has_written",
        "_holders",
        "_known",
        "_staged",
        "cwd",
        "entrypoint",
        "last_uuid",
        "on_unwritable",
        "path",
        "persists",
        "session_id",
        "version",
    )

    def __init__(
        self,
        path: Path,
        *,
        session_id: str,
        cwd: str,
        version: str,
        entrypoint: str = "sdk-py",
        last_uuid: str | None = None,
        known: int = 0,
        persists: bool = True,
    ) -> None:
        """When a session is resumed, `last_uuid` is the entry to go on from, and `known` the bytes that were read of the file.

        Without `persists` nothing is written.
        """
        self.path = path
        self.session_id = session_id
        self.cwd = cwd
        self.version = version
        self.entrypoint = entrypoint
        self.last_uuid = last_uuid
        self.persists = persists
        self.on_unwritable: Callable[[JournalError], None] | None = None
        """Told when the first entry cannot be written: from then on nothing is. Without it, that is an error like any other."""
        self._has_written = False
        self._known = known
        """What stands in the file behind these bytes was written by somebody else."""
        self._file: LockedFile | None = None
        self._holders = 0
        self._branch: str | None = None
        self._staged: list[bytes] | None = None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Keep other sessions from writing to the transcript meanwhile. Waits `TIMEOUT` seconds for one that does the same.

        Raises `JournalInUse` if it takes longer, or if another session has gone on with the conversation since.
        """
        await self._hold()
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders and self._file is not None:
                file, self._file = self._file, None
                file.close()

    async def _hold(self) -> None:
        deadline = monotonic() + TIMEOUT
        while self.persists and self._file is None:
            try:
                with self._in_memory_if_unwritable():
                    self._file = self._taken()
                return
            except JournalBusy:
                if monotonic() > deadline:
                    raise
            await anyio.sleep(PAUSE)

    def _taken(self) -> LockedFile | None:
        """The file, locked and as this session left it; None if it has none yet."""
        try:
            file = LockedFile(self.path, create=False)
        except FileNotFoundError:
            if self._known:
                raise self._removed() from None
            return None
        try:
            self._expect_no_news(file)
        except BaseException:
            file.close()
            raise
        return file

    def user(
        self,
        content: Content,
        *,
        uuid: str | None = None,
        tool_use_result: Any = None,
        source: str | None = None,
        is_meta: bool = False,
    ) -> str:
        """A user message: a prompt, or a tool's result with its structured form.

        `source` is the entry of the call that a result answers. `is_meta` marks a text that the person did not write.
        """
        extra: dict[str, Any] = {"isMeta": True} if is_meta else {}
        if tool_use_result is not None:
            extra["toolUseResult"] = tool_use_result
        if source is not None:
            extra["sourceToolAssistantUUID"] = source
        return self._chain("user", uuid, {"message": {"role": "user", "content": content}, **extra})

    def assistant(
        self,
        block: dict[str, Any],
        *,
        message_id: str,
        model: str,
        usage: Mapping[str, Any] | None = None,
        stop_reason: str | None = None,
        uuid: str | None = None,
    ) -> str:
        """One content block of an assistant message. Blocks with one `message_id` are one message when read back."""
        message = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": usage or {},
        }
        extra = {"isApiErrorMessage": True} if model == SYNTHETIC_MODEL else {}
        return self._chain("assistant", uuid, {"message": message, **extra})

    def system(self, subtype: str, *, uuid: str | None = None, **fields: Any) -> str:
        """Something that happened in the conversation without being a message, such as a compact boundary."""
        return self._chain("system", uuid, {"subtype": subtype, **fields})

    def note(self, type: str, **fields: Any) -> None:
        """A line about the session that is no part of the conversation: custom-title, tag, last-prompt, summary, …"""
        self._put(encode_line({"type": type, **fields, "sessionId": self.session_id}))

    def read_state(self, tool_use_id: str, **fields: Any) -> None:
        """The version of a file that a call has seen."""
        self.note(READ_STATE, toolUseId=tool_use_id, **fields)

    def deferred(self, tool_use_id: str) -> None:
        """The call stays without a result on purpose: a later turn is to run it."""
        self.note(DEFERRED, toolUseId=tool_use_id)

    def append_many(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Entries that are complete already, in one write. The chain goes on from the last of them that is in it."""
        complete = [dict(entry) for entry in entries]
        if complete:
            self._put(b"".join(map(encode_line, complete)))
            self.last_uuid = next((entry["uuid"] for entry in reversed(complete) if is_in_chain(entry)), self.last_uuid)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Everything put down inside becomes one write at the end. Do not await inside: until then nothing is in the file."""
        if self._staged is not None:
            yield
            return
        self._staged, before = [], self.last_uuid
        try:
            yield
        finally:
            staged, self._staged = self._staged, None
            self._write_batch(b"".join(staged), before)

    def _write_batch(self, data: bytes, before: str | None) -> None:
        try:
            if data:
                self._append(data)
        except BaseException:
            self.last_uuid = before
            raise

    def _chain(self, type_: str, uuid: str | None, body: dict[str, Any]) -> str:
        uuid = uuid or new_uuid()
        if self._branch is None:
            self._branch = git_branch(self.cwd)
        entry = {
            "type": type_,
            "parentUuid": self.last_uuid,
            "uuid": uuid,
            **body,
            "isSidechain": False,
            "userType": "external",
            "entrypoint": self.entrypoint,
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": self._branch,
            "timestamp": timestamp(),
        }
        self._put(encode_line(entry))
        self.last_uuid = uuid
        return uuid

    def _put(self, line: bytes) -> None:
        if self._staged is not None:
            self._staged.append(line)
        else:
            self._append(line)

    def _append(self, data: bytes) -> None:
        if not self.persists:
            return
        with self._in_memory_if_unwritable():
            if self._file is not None:
                return self._write(self._file, data)
            try:
                file = LockedFile(self.path, create=not self._known)
            except FileNotFoundError:
                raise self._removed() from None
            try:
                self._write(file, data)
            finally:
                if self._holders:
                    self._file = file
                else:
                    file.close()

    def _write(self, file: LockedFile, data: bytes) -> None:
        self._expect_no_news(file)
        self._known = file.append(data, self._known)
        self._has_written = True

    def _expect_no_news(self, file: LockedFile) -> None:
        if not file.has_news(self._known):
            return
        if not self._known:
            raise already_there(self.path)
        raise JournalInUse(
            f"Session {self.session_id} has been continued by another process or client (transcript {self.path}): going on "
            "here would cut off what was said there. Resume it again to go on from there, or resume it with "
            "fork_session=True (--fork-session) to go on under a new id."
        )

    def _removed(self) -> JournalError:
        return JournalError(
            f"Cannot write the transcript {self.path}: it was removed while the session went on. Start a new session."
        )

    @contextmanager
    def _in_memory_if_unwritable(self) -> Iterator[None]:
        """Where nothing was ever written, nothing is lost if nothing is kept; later it would be."""
        try:
            yield
        except JournalInUse:
            raise
        except JournalError as error:
            if self._has_written or self.on_unwritable is None:
                raise
            self.persists = False
            self.on_unwritable(error)
