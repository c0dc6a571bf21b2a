"""`ClaudeSDKClient`: a conversation that stays open, with messages both ways and controls in between.

May be used from any number of tasks. An idle client holds a session and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from toolwright.base.concurrency import OwnedTask, ended, owned, spawn
from toolwright.client.message_stream import MessageStream, UpToResult
from toolwright.client.open_session import open_for, start
from toolwright.client.prompts import Feeding, check_prompt, end, send_all, user_frame
from toolwright.protocol.transport import Transport
from toolwright.types import (
    ClaudeAgentOptions,
    CLIConnectionError,
    ContextUsageResponse,
    McpStatusResponse,
    Message,
    PermissionMode,
)

if TYPE_CHECKING:
    from toolwright.runtime.interfaces import Session


class ClaudeSDKClient:
    """Connect, ask, read the answer, ask again.

        async with ClaudeSDKClient(options) as client:
            await client.query("What is in this folder?")
            async for message in client.receive_response():
                print(message)

    The session runs in this process; with `options.cli_path` or a `transport` it runs there. Error results do not raise: the
    session stays usable.
    """

    def __init__(self, options: ClaudeAgentOptions | None = None, transport: Transport | None = None) -> None:
        self.options = options if options is not None else ClaudeAgentOptions()
        self._transport = transport
        self._session: Session | None = None
        self._feeding: Feeding | None = None
        self._ending: OwnedTask | None = None

    async def connect(self, prompt: str | AsyncIterable[dict[str, Any]] | None = None) -> None:
        """Start a session; one that is open is ended first.

        A text is sent at once and the session stays open. An iterable is streamed in, and when it is through the input ends.
        """
        if prompt is not None:
            check_prompt(prompt)
        await self.disconnect()
        session = open_for(self.options, self._transport)
        try:
            await start(session)
            self._session = session
            if isinstance(prompt, str):
                await self.query(prompt)
            elif prompt is not None:
                self._feeding = Feeding(session, prompt, verbatim=self.options.verbatim_prompts)
        except BaseException:
            self._session = session
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        """End the session and everything that belongs to it. Does nothing when there is none.

        Whoever is cancelled here, by whatever means, is cancelled when nothing is left.
        """
        session, self._session = self._session, None
        feeding, self._feeding = self._feeding, None
        if session is not None:
            self._ending = spawn(partial(end, session, feeding), name="toolwright ends")
        ending = self._ending
        if ending is not None:
            try:
                await ended(ending)
            finally:
                self._ending = None if self._ending is ending else self._ending

    async def query(self, prompt: str | AsyncIterable[dict[str, Any]], session_id: str = "default") -> None:
        """Send a message, or each message of an iterable. It waits its turn if one is running."""
        session = self._connected()
        check_prompt(prompt)
        verbatim = self.options.verbatim_prompts
        if isinstance(prompt, str):
            await session.send(user_frame(prompt, session_id=session_id, verbatim=verbatim))
            return
        await send_all(session, prompt, session_id=session_id, verbatim=verbatim)

    def receive_messages(self) -> AsyncIterator[Message]:
        """Every message, until the session ends."""
        return MessageStream(self._listened)

    def receive_response(self) -> AsyncIterator[Message]:
        """The messages up to the next result, which is the last one given; they come from `receive_messages`."""
        return UpToResult(self.receive_messages)

    async def interrupt(self) -> None:
        """Stop the running turn. It still ends with a result."""
        await self._control("interrupt")

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        await self._control("set_permission_mode", mode=mode)

    async def set_model(self, model: str | None = None) -> None:
        """From the next turn on, use this model; None is the default one."""
        await self._control("set_model", model=model)

    async def rewind_files(self, user_message_id: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Bring the files back to what they were when that user message was sent (`enable_file_checkpointing`).

        The answer tells what was done: `filesChanged`, `skippedLinks`, …, and the `undoId` to rewind to in order to take it
        back. With `dry_run` nothing is changed, and the answer tells what would be.
        """
        more = {"dry_run": True} if dry_run else {}
        return await self._control("rewind_files", user_message_id=user_message_id, **more)

    async def get_mcp_status(self) -> McpStatusResponse:
        return cast("McpStatusResponse", await self._control("mcp_status"))

    async def get_context_usage(self) -> ContextUsageResponse:
        """What the model's context is filled with."""
        return cast("ContextUsageResponse", await self._control("get_context_usage"))

    async def reconnect_mcp_server(self, server_name: str) -> None:
        await self._control("mcp_reconnect", serverName=server_name)

    async def toggle_mcp_server(self, server_name: str, enabled: bool) -> None:
        await self._control("mcp_toggle", serverName=server_name, enabled=enabled)

    async def stop_task(self, task_id: str) -> None:
        """End a task in the background."""
        await self._control("stop_task", task_id=task_id)

    async def get_server_info(self) -> dict[str, Any] | None:
        """What the session says about itself: commands, models, account, …"""
        return await start(self._connected())

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        await self.disconnect()
        return False

    def _listened(self) -> tuple[Session, Feeding | None]:
        return self._connected(), self._feeding

    async def _control(self, subtype: str, **fields: Any) -> dict[str, Any]:
        request = {"subtype": subtype, **fields}
        return await owned(partial(self._connected().control, request), name="toolwright control")

    def _connected(self) -> Session:
        if self._session is None:
            raise CLIConnectionError("Not connected. Call connect() first.")
        return self._session
