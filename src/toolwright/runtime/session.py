"""A conversation held in this process: a queue of user messages, one turn at a time, control requests at any time.

An idle session has no task. A message wakes a runner task that plays turns until the queue is empty; frames go out over a
bounded channel, so a reader that is slow slows the session down. Knows nothing of options: assemble hands it the parts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from toolwright.base.concurrency import Channel, OwnedTask, ended, spawn
from toolwright.base.ids import new_uuid
from toolwright.protocol import frames
from toolwright.protocol.lines import MAX_WAITING, weight
from toolwright.runtime import controls, init_frames
from toolwright.runtime.conversation import Conversation, text_block
from toolwright.runtime.turn import Prompt, Turn
from toolwright.types import ClaudeSDKError, CLIConnectionError

if TYPE_CHECKING:
    from toolwright.mcp.client.server_connection import ExternalServer
    from toolwright.models.registry import ResolvedModel
    from toolwright.protocol.frames import Frame
    from toolwright.runtime.background import BackgroundTasks

CLOSE_SECONDS = 10.0
"""How long closing waits for each: a turn that does not react to being cancelled, hooks, giving everything back."""
TASK_NOTIFICATION = {"kind": "task-notification"}
"""The origin of a turn that nobody asked for: a background task has ended."""


class Parts(Protocol):
    """What a session consists of once it has started."""

    conversation: Conversation
    background: BackgroundTasks
    source: str
    """How it began: startup or resume."""

    @property
    def cwd(self) -> str: ...

    @property
    def agents(self) -> list[dict[str, Any]]:
        """`name` and `description` of each."""
        ...

    def resolve(self, model: Any) -> list[ResolvedModel]:
        """A model's name → the model and those to fall back to."""
        ...

    def make_servers(self, given: Any) -> tuple[dict[str, ExternalServer], dict[str, str]]:
        """Configurations of external tool servers → the servers, and what is wrong with those that cannot be."""
        ...

    async def release(self) -> None:
        """Give everything back: connections, scratch files."""
        ...


Build = Callable[["LocalSession"], Awaitable[Parts]]


class LocalSession:
    """The local implementation of the `Session` seam."""

    __slots__ = (
        "_build",
        "_closed",
        "_closer",
        "_input_ended",
        "_leaving",
        "_out",
        "_queue",
        "_runner",
        "_tells_state",
        "has_played",
        "notices",
        "parts",
        "turn",
    )

    def __init__(self, build: Build, *, tells_state: bool = False) -> None:
        self._build: Build | None = build
        self._tells_state = tells_state
        self._out: Channel[Frame] = Channel(limit=100, most_weight=MAX_WAITING, weigh=weight)
        self._queue: list[Prompt] = []
        self._runner: OwnedTask | None = None
        self._input_ended = False
        self._leaving = False
        self._closed = False
        self._closer: OwnedTask | None = None
        self.turn: Turn | None = None
        self.has_played = False
        """Whether a turn of this session has begun."""
        self.parts: Parts | None = None
        self.notices: list[Frame] = []
        """Frames to send before the next turn announces itself."""

    # the Session seam

    async def start(self) -> Frame:
        if self.parts is None:
            build, self._build = self._build, None
            if build is None:
                raise CLIConnectionError("This session is being started already, or failed to start.")
            self.parts = await build(self)
            await self._tell_start()
        return init_frames.initialize_answer(self.parts)

    async def send(self, frame: Frame) -> None:
        self._expect_open()
        prompt = read_prompt(frame)
        if frame.get("shouldQuery") is False:
            await self._append_only(prompt)
            return
        self._queue.append(prompt)
        self.wake()

    def frames(self) -> AsyncIterator[Frame]:
        return self._out

    async def control(self, request: Frame) -> Frame:
        return await controls.answer(self, request)

    async def end_input(self) -> None:
        self._input_ended = True
        if self._runner is None:
            self._out.close()

    def leave(self) -> None:
        """End in good order: nothing new begins, and the turn that is running is interrupted and gives its result."""
        self._leaving = self._input_ended = True
        self._queue.clear()
        if self.turn is not None:
            self.turn.interrupt()
        if self._runner is None:
            self._out.close()

    async def close(self) -> None:
        if self._closer is None:
            self._closed = True
            self._closer = spawn(self._close, name="toolwright session closes")
        await ended(self._closer)

    async def _close(self) -> None:
        if self._runner is not None:
            self._runner.cancel()
        with anyio.move_on_after(CLOSE_SECONDS):
            if self._runner is not None:
                await self._runner.wait()
        await self._give_back()
        self._out.close()

    async def _tell_start(self) -> None:
        conversation = self.started.conversation
        outcome = await conversation.hooks.session_starts(self.started.source)
        if outcome is not None:
            conversation.contexts.extend(outcome.additional_context)

    # turns

    async def emit(self, frame: Frame) -> None:
        await self._out.put(frame)

    async def heard(self, seconds: float) -> None:
        """Give the reader this long to take what was said; one that is waiting for more has taken it at once."""
        if seconds:
            with anyio.move_on_after(seconds):
                await self._out.rested()

    def put_now(self, frame: Frame) -> None:
        """For the few frames that answer a control request: those must not wait for a slow reader."""
        self._out.put_now(frame)

    @property
    def started(self) -> Parts:
        if self.parts is None:
            raise CLIConnectionError("Not started: call start() (or connect()) first.")
        return self.parts

    def still_queued(self) -> list[str]:
        return [prompt.uuid for prompt in self._queue]

    async def waiting_for_person(self, waiting: bool) -> None:
        await self._tell("requires_action" if waiting else "running")

    def wake(self) -> None:
        """There is something to tell the model. A session that is ending does not begin anything new."""
        if not self._closed and not self._out.closed and self._runner is None:
            self._runner = spawn(self._run, name="toolwright session")

    async def _run(self) -> None:
        try:
            while (prompt := self._next_prompt()) is not None:
                await self._play(prompt)
        except BaseException as error:
            self._out.close(error if isinstance(error, Exception) else None)
            raise
        finally:
            self._runner = None
        if self._input_ended:
            self._out.close()

    def _next_prompt(self) -> Prompt | None:
        """The next message of the user; with none, news of background tasks is a reason for a turn as well."""
        if self._queue:
            return self._queue.pop(0)
        background = self.started.background
        if self._leaving or not background.wants_turn:
            return None
        return Prompt([text_block(text) for text in background.take_news()], new_uuid(), dict(TASK_NOTIFICATION), own=True)

    async def _play(self, prompt: Prompt) -> None:
        parts = self.started
        await self._tell("running")
        notices, self.notices = self.notices, []
        for notice in notices:
            await self.emit(notice)
        await parts.conversation.toolbox.settle()
        self.turn = Turn(parts.conversation, prompt)
        self.has_played = True
        if self._leaving:
            self.turn.interrupt()
        try:
            await self.turn.run(init_frames.init(parts))
        finally:
            self.turn = None
        if not self._queue and not parts.background.wants_turn:
            await self._tell("idle")

    async def _tell(self, state: str) -> None:
        if self._tells_state:
            await self.emit(frames.session_state(state, self.started.conversation.session_id))

    async def _append_only(self, prompt: Prompt) -> None:
        """A message for the record: the model sees it with the next one."""
        conversation = self.started.conversation
        async with conversation.journal.held():
            conversation.give_up_deferred()
            conversation.journal.user(prompt.content, uuid=prompt.uuid)
        conversation.runner.workspace.mark(prompt.uuid)
        conversation.add_user(prompt.content)

    # the end

    def _expect_open(self) -> None:
        if self._closed or self._input_ended:
            raise CLIConnectionError("The session has ended: no more messages can be sent to it.")
        _ = self.started

    async def _give_back(self) -> None:
        if self.parts is not None:
            with anyio.move_on_after(CLOSE_SECONDS):
                await self.parts.conversation.hooks.session_ends("other")
            with anyio.move_on_after(CLOSE_SECONDS):  # however long a hook took, nothing stays behind
                await self.parts.release()


def read_prompt(frame: Frame) -> Prompt:
    """The message in a `user` frame, or an error that says what a user frame looks like."""
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if frame.get("type") != "user" or not isinstance(content, str | list):
        raise ClaudeSDKError(
            'A user message must be {"type": "user", "message": {"role": "user", "content": text or a list of blocks}}; '
            f"got {str(frame)[:200]}"
        )
    blocks = [text_block(content)] if isinstance(content, str) else content
    if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks):
        raise ClaudeSDKError("Every content block of a user message must be an object with a type.")
    kept = [block for block in blocks if block["type"] != "text" or str(block.get("text", "")).strip()]
    uuid, origin = frame.get("uuid"), frame.get("origin")
    return Prompt(
        kept,
        uuid if isinstance(uuid, str) else new_uuid(),
        origin if isinstance(origin, dict) else None,
        verbatim=frame.get("client_composed") is True,
    )
