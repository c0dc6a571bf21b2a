"""A session behind a transport: the same seam as one in this process, spoken as JSON lines.

One task reads: control frames go to the control peer, the rest to a bounded channel, so a slow reader slows the other side.
Knows neither options nor what is at the other end of the transport.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from functools import partial

import anyio

from toolwright.base.concurrency import Channel, OwnedTask, ended, spawn
from toolwright.client.answers import HostAnswers
from toolwright.client.changed_tools import ChangedTools
from toolwright.client.completion import RunEnd
from toolwright.client.initialize import HookTable, check_answer, initialize_request, initialize_seconds
from toolwright.client.streams import closed
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.protocol.control import REQUEST_SECONDS, ControlPeer, client_ids
from toolwright.protocol.lines import MAX_WAITING, Frame, encode, weight
from toolwright.protocol.transport import Transport
from toolwright.runtime.interfaces import Host
from toolwright.types import ClaudeSDKError, CLIConnectionError, ProcessError, ResultError

CLOSE_SECONDS = 20.0
"""The bound on closing a transport; the one for child processes bounds itself below this."""
_HANDLER_SECONDS = 5.0
_REASON_SECONDS = 2.0
_HIDDEN_TYPES = ("transcript_mirror",)

_log = logging.getLogger("toolwright.client")


class RemoteSession:
    """The remote implementation of the `Session` seam."""

    __slots__ = (
        "_answers",
        "_asking",
        "_changed",
        "_closer",
        "_closing",
        "_ended_by",
        "_extras",
        "_frames",
        "_giving",
        "_greeting",
        "_hooks",
        "_input_closed",
        "_input_ended",
        "_needs_input",
        "_peer",
        "_reader",
        "_run",
        "_timer",
        "_tool_servers",
        "_transport",
    )

    def __init__(self, transport: Transport, *, host: Host | None = None, initialize: Frame | None = None) -> None:
        """`initialize` holds what the first request says besides hooks: agents, skills, …"""
        host = host or Host()
        self._transport = transport
        self._tool_servers = tuple(host.tool_servers.values())
        self._hooks = HookTable(host.hooks)
        self._extras = initialize or {}
        self._needs_input = bool(host.can_use_tool or self._hooks.rows or host.tool_servers)
        self._answers = HostAnswers(host, self._hooks)
        self._changed = ChangedTools(host.tool_servers, self._ask)
        self._peer = ControlPeer(self._write, self._answer, new_id=client_ids())
        self._frames: Channel[Frame] = Channel(limit=100, most_weight=MAX_WAITING, weigh=weight)
        self._run = RunEnd()
        self._reader: OwnedTask | None = None
        self._timer: OwnedTask | None = None
        self._greeting: Frame | None = None
        self._giving: anyio.CancelScope | None = None
        self._asking = 0
        self._input_ended = False
        self._input_closed = False
        self._closing = False
        self._ended_by: ClaudeSDKError | None = None
        self._closer: OwnedTask | None = None

    # the Session seam

    async def start(self) -> Frame:
        if self._greeting is not None:
            return self._greeting
        if self._reader is not None or self._closing:
            raise CLIConnectionError("This session has been started already.")
        try:
            await self._transport.connect()
            self._reader = spawn(self._read, name="remote session")
            answer = await self._ask(initialize_request(self._hooks, self._extras), initialize_seconds())
            check_answer(self._hooks, answer)
        except BaseException:
            await self.close()
            raise
        self._greeting = answer
        return answer

    async def send(self, frame: Frame) -> None:
        await self._changed.tell()
        self._run.sent(frame)
        await self._write(frame)

    def frames(self) -> AsyncIterator[Frame]:
        return self._frames

    async def control(self, request: Frame) -> Frame:
        return await self._ask(request, REQUEST_SECONDS)

    async def end_input(self) -> None:
        self._input_ended = True
        await self._settle()

    async def close(self) -> None:
        if self._closer is None:
            self._closing = True
            self._closer = spawn(self._close, name="remote session closes")
        await ended(self._closer)

    async def _close(self) -> None:
        self._stop_timer()
        self._peer.close()
        await self._stop_reader()
        await self._close_transport()
        with anyio.move_on_after(_HANDLER_SECONDS):
            await self._peer.wait_closed()
        await self._close_servers()
        self._frames.close()

    async def _close_servers(self) -> None:
        """End the tasks of server objects that run beside us."""
        for server in self._tool_servers:
            if isinstance(server, ExternalServer):
                await server.aclose()

    # out

    async def _write(self, frame: Frame) -> None:
        line = encode(frame).decode()
        try:
            await self._transport.write(line)
        except ClaudeSDKError as error:
            reason = await self._reason(error)
            raise reason from (error if reason is not error else error.__cause__)
        except Exception as error:  # a transport of the host's own may raise anything
            raise CLIConnectionError(f"The transport cannot write: {type(error).__name__}: {error}") from error

    async def _reason(self, error: ClaudeSDKError) -> ClaudeSDKError:
        """A write that fails is often only the echo of an end; the reader knows how it came."""
        if self._reader is not None and not self._closing:
            with anyio.move_on_after(_REASON_SECONDS):
                await self._reader.wait()
        return self._ended_by or error

    async def _ask(self, request: Frame, timeout: float) -> Frame:
        """While an answer is waited for, frames are taken in without a limit: the answer may be behind them."""
        self._asking += 1
        if self._giving is not None:
            self._giving.cancel()
        try:
            return await self._peer.request(request, timeout=timeout)
        finally:
            self._asking -= 1

    # in

    async def _answer(self, request: Frame) -> Frame:
        answer = await self._answers.answer(request)
        self._changed.listed(request)
        await self._changed.tell()  # a tool may have changed others
        return answer

    async def _read(self) -> None:
        failure: Exception | None = None
        stream = self._transport.read_messages()
        try:
            async for frame in stream:
                await self._take(frame)
        except Exception as error:  # noqa: BLE001 — kept: it becomes the failure that ends `frames`
            failure = error
        finally:
            await closed(stream)
            self._finish(failure)

    async def _take(self, frame: Frame) -> None:
        if self._peer.deliver(frame) or frame.get("type") in _HIDDEN_TYPES:
            return
        self._run.saw(frame)
        if frame.get("sdk_host_only") is not True:
            await self._give(frame)
        await self._settle()

    async def _give(self, frame: Frame) -> None:
        self._frames.put_now(frame)
        with anyio.CancelScope() as self._giving:
            if not self._asking:
                await self._frames.room()

    def _finish(self, failure: Exception | None) -> None:
        """The other side said its last word. An error that a result has told already is not told twice."""
        if self._closing:
            return
        result = self._run.last_result or {}
        exit_code = failure.exit_code if isinstance(failure, ProcessError) else None
        if result.get("is_error") and not self._run.unanswered and (failure is None or exit_code == 1):
            self._end(ResultError.from_result(result, exit_code), told=True)
        else:
            ended_by = self._typed(failure)
            self._end(ended_by or CLIConnectionError("The session has ended."), told=ended_by is None)

    def _end(self, ended_by: ClaudeSDKError, *, told: bool) -> None:
        self._ended_by = ended_by
        self._peer.close(ended_by)
        self._frames.close(None if told else ended_by)

    def _typed(self, failure: Exception | None) -> ClaudeSDKError | None:
        if failure is None and self._run.unanswered:
            return CLIConnectionError(
                "The session ended without an answer to the last message: the other side closed its output."
            )
        if failure is None or isinstance(failure, ClaudeSDKError):
            return failure
        typed = CLIConnectionError(f"The transport failed: {type(failure).__name__}: {failure}")
        typed.__cause__ = failure
        return typed

    # the end of input

    async def _settle(self) -> None:
        """Close the input once no more messages come and nothing is left that could need an answer from here."""
        self._stop_timer()
        if not self._input_ended or self._input_closed:
            return
        patience = self._run.patience() if self._needs_input else 0.0
        if patience == 0.0:
            await self._close_input()
        elif patience is not None:
            self._timer = spawn(partial(self._close_input_after, patience), name="end of run")

    async def _close_input_after(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        await self._close_input()

    async def _close_input(self) -> None:
        self._input_closed = True
        try:
            await self._transport.end_input()
        except Exception as error:  # noqa: BLE001 — a transport that is gone has no input to close; its reader says why
            _log.debug("the input could not be closed: %r", error)

    # closing

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            with anyio.move_on_after(_HANDLER_SECONDS):
                await self._reader.wait()

    async def _close_transport(self) -> None:
        with anyio.move_on_after(CLOSE_SECONDS):
            try:
                await self._transport.close()
            except Exception:  # noqa: BLE001 — a host's own transport: closing goes on
                _log.exception("closing the transport failed")
