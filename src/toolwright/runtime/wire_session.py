"""A session behind a wire: frames come in, frames go out, and the session's questions travel as control requests.

Knows the control protocol, not what carries it: `read` yields the frames of the other side, `write` sends one there.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio

from toolwright.base.concurrency import Channel, ChannelClosed
from toolwright.mcp.rpc import RpcToolServer
from toolwright.protocol.control import ControlPeer, session_ids
from toolwright.protocol.frames import Frame
from toolwright.runtime.assemble import open_session
from toolwright.runtime.initialization import initialized, notes_on, server_names
from toolwright.runtime.interfaces import Host
from toolwright.runtime.pacing import at_once, callback_pause, taken_in
from toolwright.runtime.permission_answers import permission_result
from toolwright.runtime.turn_result import failed_to_start
from toolwright.types import (
    ClaudeAgentOptions,
    ClaudeSDKError,
    CLIConnectionError,
    HookMatcher,
    OptionsError,
    PermissionResult,
    ResultError,
    ToolPermissionContext,
)

if TYPE_CHECKING:
    from toolwright.mcp.tool_server import ToolServer
    from toolwright.runtime.session import LocalSession

Write = Callable[[Frame], Awaitable[None]]
Taken = Callable[[], Awaitable[None]]
"""Comes back when the other side has taken what was written, or has had its time for it."""


AWAIT_FLAG = "await-initialize"
"""With this flag only an initialize request opens the session, however early messages come."""
LAST_ANSWERS_SECONDS = 5.0
"""How long requests that came before the end of input may still take."""


async def serve(options: ClaudeAgentOptions, read: AsyncIterator[Frame], write: Write, taken: Taken = at_once) -> int:
    """Hold one conversation with the other side until it ends; the answer is the exit code for a command."""
    return await ServedSession(options, write, taken).run(read)


class ServedSession:
    """One session and the peer that drives it."""

    def __init__(self, options: ClaudeAgentOptions, write: Write, taken: Taken = at_once) -> None:
        self._options = options
        self._write = write
        self._taken = taken
        self._peer = ControlPeer(self._speak, self._answer, new_id=session_ids())
        self._users: Channel[Frame] = Channel()
        self._session: LocalSession | None = None
        self._initializing = False
        self._opened = anyio.Event()
        self._failed = False
        self._ended = anyio.Event()

    async def run(self, read: AsyncIterator[Frame]) -> int:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._take_messages)
                group.start_soon(self._forward)
                group.start_soon(self._receive, read)
                await self._ended.wait()
                group.cancel_scope.cancel()
        finally:
            self._peer.close()
            if self._session is not None:
                await self._session.close()
        return 1 if self._failed else 0

    def leave(self) -> None:
        """End in good order: nothing new begins, and the turn that is running gives its result."""
        if self._session is None:
            self._ended.set()
        else:
            self._session.leave()

    # in

    async def _receive(self, read: AsyncIterator[Frame]) -> None:
        async for frame in read:
            if frame.get("type") == "user":
                await self._users.put(frame)
                continue
            request = frame.get("request")
            if isinstance(request, dict) and request.get("subtype") == "initialize":
                self._initializing = True
            self._peer.deliver(frame)
        self._users.close()
        await self._last_answers()
        if not self._initializing and AWAIT_FLAG in self._options.extra_args:
            self._failed = True
            self._diagnose(f"toolwright: input ended without the initialize request that --{AWAIT_FLAG} waits for")
            self._ended.set()

    async def _last_answers(self) -> None:
        """The other side will say nothing more: what it asked for is finished, what we ask it has no answer."""
        with anyio.move_on_after(LAST_ANSWERS_SECONDS):
            await self._peer.wait_closed()
        self._peer.close(CLIConnectionError("The other side has closed its end: there is no one to answer."))

    async def _take_messages(self) -> None:
        """Hand user messages to the session once it is open; without an initialize request the first message opens it."""
        while True:
            try:
                frame = await self._users.get()
            except ChannelClosed:
                break
            if not self._initializing and AWAIT_FLAG not in self._options.extra_args:
                self._initializing = True
                await self._open({})
            await self._opened.wait()
            await self._send(frame)
        if not self._initializing:
            self._ended.set()
            return
        await self._opened.wait()
        if self._session is not None:
            await self._session.end_input()

    async def _send(self, frame: Frame) -> None:
        if self._session is None:
            return
        try:
            await self._session.send(frame)
        except ClaudeSDKError as error:
            self._diagnose(f"toolwright: a message was not taken: {error}")

    async def _answer(self, request: Frame) -> Frame:
        if request.get("subtype") == "initialize" and not self._opened.is_set():
            await self._open(request)
        await self._opened.wait()
        if self._session is None:
            await anyio.sleep_forever()  # the refusal has been told as a result; clients take the end for the answer
        assert self._session is not None
        return await self._session.control(request)

    async def _open(self, initialize: Frame) -> None:
        try:
            options = initialized(self._options, initialize)
            for note in notes_on(initialize):
                self._diagnose(note)
            session = open_session(options, host=self._host(initialize), tells_state=True)
            await session.start()
            self._session = session
        except ClaudeSDKError as error:
            await self._refuse(error)
        finally:
            self._opened.set()

    async def _refuse(self, error: ClaudeSDKError) -> None:
        """The session cannot start: say so as a result, which every client understands."""
        self._failed = True
        frame = error.data if isinstance(error, ResultError) else failed_to_start(str(error))
        await self._write(frame)
        self._diagnose(f"toolwright: {'; '.join(frame['errors'])}")
        self._ended.set()

    # out

    async def _forward(self) -> None:
        await self._opened.wait()
        if self._session is None:
            return
        seconds, follows_answer = callback_pause({**os.environ, **self._options.env}), False
        async for frame in self._session.frames():
            if frame["type"] == "result":
                self._failed = bool(frame["is_error"])
            if follows_answer and seconds and frame["type"] == "control_request":
                await taken_in(self._taken, seconds)
            await self._write(frame)
            follows_answer = frame["type"] == "assistant" or (follows_answer and frame["type"] == "system")
        self._ended.set()

    async def _speak(self, frame: Frame) -> None:
        """Questions stand in line behind the frames that were sent before: a call is seen before it is asked about."""
        if self._session is None or frame["type"] == "control_response":
            await self._write(frame)
        else:
            await self._session.emit(frame)

    def _diagnose(self, line: str) -> None:
        if self._options.stderr is not None:
            self._options.stderr(line)

    # the host at the other end

    def _host(self, initialize: Frame) -> Host:
        return Host(
            can_use_tool=self._can_use_tool if self._options.permission_prompt_tool_name == "stdio" else None,
            hooks={event: self._matchers(event, rows) for event, rows in self._hook_rows(initialize).items()},
            tool_servers=self._tool_servers(initialize),
        )

    def _hook_rows(self, initialize: Frame) -> dict[str, Any]:
        rows = initialize.get("hooks") or {}
        if not isinstance(rows, dict):
            raise OptionsError("initialize: hooks must be an object of matchers by event")
        return rows

    def _matchers(self, event: str, rows: Any) -> list[HookMatcher]:
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise OptionsError(f"initialize: hooks.{event} must be a list of matchers")
        return [
            HookMatcher(
                matcher=row.get("matcher"),
                hooks=[self._hook(str(callback_id)) for callback_id in row.get("hookCallbackIds") or ()],
                timeout=row.get("timeout"),
                on_failure=row.get("onFailure"),
            )
            for row in rows
        ]

    def _hook(self, callback_id: str) -> Any:
        async def call(payload: Any, tool_use_id: str | None, context: Any) -> Any:
            request = {"subtype": "hook_callback", "callback_id": callback_id, "input": payload, "tool_use_id": tool_use_id}
            return await self._peer.request(request, timeout=None)

        return call

    async def _can_use_tool(self, name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        optional = {
            "permission_suggestions": [suggestion.to_dict() for suggestion in context.suggestions] or None,
            "display_name": context.display_name,
            "title": context.title,
            "description": context.description,
            "blocked_path": context.blocked_path,
            "decision_reason": context.decision_reason,
            "agent_id": context.agent_id,
            "decision_reason_type": getattr(context, "decision_reason_type", None),
            "mcp_server": getattr(context, "mcp_server", None),
            "requires_user_interaction": getattr(context, "requires_user_interaction", False) or None,
        }
        request = {
            "subtype": "can_use_tool",
            "tool_name": name,
            "input": tool_input,
            "tool_use_id": context.tool_use_id,
            **{key: value for key, value in optional.items() if value is not None},
        }
        return permission_result(await self._peer.request(request, timeout=None))

    def _tool_servers(self, initialize: Frame) -> dict[str, ToolServer]:
        """Those that `--mcp-config` or the request says live at the other end."""
        servers = self._options.mcp_servers
        given = servers.items() if isinstance(servers, dict) else ()
        names = [name for name, config in given if config.get("type") == "sdk"]
        return {name: self._tool_server(name) for name in dict.fromkeys((*names, *server_names(initialize)))}

    def _tool_server(self, name: str) -> ToolServer:
        async def send(message: Frame) -> Frame:
            answer = await self._peer.request({"subtype": "mcp_message", "server_name": name, "message": message}, timeout=None)
            response = answer.get("mcp_response")
            return response if isinstance(response, dict) else {}

        return RpcToolServer(name, send)
