"""A tool server outside of this process (or beside our own code), as the session sees it: connecting, calling, coming back.

Connecting happens in a task of its own, so a session can begin without it. When the connection is lost the tools stay listed,
and the next call connects again; after failures not before a growing while has passed. Whatever goes wrong in a call is an
error result. Knows no transport: `make_link` makes one for each attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
from msgspec import Struct, field

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.mcp.changes import METHODS, PROMPTS
from toolwright.mcp.client.client import BadAnswer, Hearing, Introduction, McpClient, ServerRefused
from toolwright.mcp.client.configs import ServerConfig
from toolwright.mcp.client.listing import presentable
from toolwright.mcp.client.output_checks import OutputChecks
from toolwright.mcp.client.prompts import ServedPrompt
from toolwright.mcp.client.server_events import Audience, Timing
from toolwright.mcp.client.server_requests import Answering, Questions
from toolwright.mcp.client.tool_pinning import Definitions, same_definition
from toolwright.mcp.client.transport import Link, LinkError, LinkLost, NeedsAuthorization, SessionGone
from toolwright.mcp.results import CallResult, error_result
from toolwright.mcp.rpc import ToolServerError
from toolwright.mcp.tool_server import ServedTool
from toolwright.types import McpServerConnectionStatus

_NETWORK_ATTEMPTS = 4
_FIRST_DELAY, _MAX_DELAY = 1.0, 30.0
_MAX_LOG_LINES = 200
_RELIST_PAUSE = 0.2


class _State(Struct):
    status: McpServerConnectionStatus = "pending"
    error: str | None = None
    challenge: str = ""
    failures: int = 0
    not_before: float = 0.0
    tools: list[ServedTool] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    prompts: list[ServedPrompt] = field(default_factory=list)


class ExternalServer:
    """Implements `ToolServer`."""

    def __init__(
        self,
        name: str,
        make_link: Callable[[], Link],
        *,
        config: ServerConfig | None = None,
        answering: Answering | None = None,
        timing: Timing | None = None,
        audience: Audience | None = None,
    ) -> None:
        self.name = name
        self.config = config
        self.audience = audience or Audience()
        self._make_link = make_link
        self._answering = answering or Answering()
        self._timing = timing or Timing()
        self._client: McpClient | None = None
        self._connecting = anyio.Lock()
        self._state = _State()
        self._tasks: set[OwnedTask] = set()
        self._stale = False
        self._relisting = False
        self._log_lines = 0
        self._closed = False
        self._outputs = OutputChecks()
        self.definitions = Definitions()
        self.introduction = Introduction()
        self.attempted = anyio.Event()
        """Set when the first attempt to connect has ended, well or not."""

    # how it stands

    @property
    def status(self) -> McpServerConnectionStatus:
        return self._state.status

    @property
    def error(self) -> str | None:
        return self._state.error

    @property
    def challenge(self) -> str:
        """The WWW-Authenticate header of a server that wants us to log in."""
        return self._state.challenge

    @property
    def notices(self) -> list[str]:
        """What was left out of the server's list of tools."""
        return self._state.notices

    @property
    def version(self) -> str:
        return self.introduction.version

    @property
    def tools(self) -> list[ServedTool]:
        """The tools as last listed."""
        return self._state.tools

    @property
    def prompts(self) -> list[ServedPrompt]:
        """The prompts as last listed."""
        return self._state.prompts

    @property
    def client(self) -> McpClient | None:
        """The connection, for what the seam does not have: resources, prompts."""
        return self._client

    # connecting

    def start(self) -> OwnedTask:
        """Connect in the background."""
        return self._spawn(self._connect_with_patience)

    async def connect(self) -> None:
        """Connect now, if not connected. Raises `ToolServerError`."""
        async with self._connecting:
            if self._client is None and not self._closed:
                await self._connect()

    async def reconnect(self) -> None:
        """Let go of the connection and make a new one. Raises `ToolServerError`."""
        await self._drop()
        self._state.not_before, self._closed = 0.0, False
        await self.connect()

    async def revive(self) -> None:
        """After `aclose`: connect again, in the background."""
        self._closed, self._state.not_before = False, 0.0
        self.start()

    async def _connect_with_patience(self) -> None:
        """A network may need another try; a program that does not start will not start the second time either."""
        attempts = _NETWORK_ATTEMPTS if self.config is not None and self.config.kind != "stdio" else 1
        for attempt in range(attempts):
            with suppress(ToolServerError):
                await self.connect()
                return
            if self._state.status == "needs-auth" or attempt == attempts - 1:
                return
            await anyio.sleep(_delay(attempt))

    async def _connect(self) -> None:
        self._set("pending")
        self._stale, self._log_lines = False, 0
        client: McpClient | None = None
        try:
            with anyio.fail_after(self._timing.connect):
                client = self._new_client()
                await client.connect(self.config.protocol if self.config else None)
                listing = await client.list_tools()
                self._state.prompts = await client.list_prompts()
        except NeedsAuthorization as error:
            await self._failed(client, "needs-auth", str(error), error.challenge)
        except (LinkError, ServerRefused, BadAnswer) as error:
            await self._failed(client, "failed", str(error))
        except TimeoutError:
            await self._failed(client, "failed", f"it did not answer within {self._timing.connect:g} seconds")
        except BaseException:
            if client is not None:
                await client.close()
            raise
        else:
            self._client, self.introduction = client, client.introduction
            self._state.failures = 0
            self._listed(listing.tools, listing.notices)
            self._set("connected")
            if self._stale:  # it said so while we were asking
                self._lists_changed()
        finally:
            self.attempted.set()

    def _new_client(self) -> McpClient:
        client: McpClient | None = None
        hearing = Hearing(self._lists_changed, self._logged, lambda reason: self._lost(client, reason), self._heard)
        questions = Questions(self.name, self._answering)
        client = McpClient(self._make_link(), questions, hearing, capabilities=self._answering.capabilities())
        return client

    async def _failed(
        self, client: McpClient | None, status: McpServerConnectionStatus, text: str, challenge: str = ""
    ) -> None:
        if client is not None:
            await client.close()
        self._state.challenge = challenge
        self._state.not_before = anyio.current_time() + _delay(self._state.failures)
        self._state.failures += 1
        self._set(status, text)
        raise ToolServerError(self._said(text))

    def _listed(self, tools: list[ServedTool], notices: list[str]) -> None:
        changed = changed_tools(self._state.tools, tools)
        self._state.tools, self._state.notices = tools, notices
        self._outputs = OutputChecks(tools)
        self.definitions.seen(tools)
        for notice in notices:
            self.audience.tell(self._said(notice))
        if changed:
            self.audience.tell(self._said(f"these tools are no longer described as before: {', '.join(changed)[:1000]}"))

    def _set(self, status: McpServerConnectionStatus, error: str | None = None) -> None:
        self._state.status, self._state.error = status, None if error is None else presentable(error, 2000)
        if error is not None:
            self.audience.tell(self._said(self._state.error or ""))
        self.audience.changed()

    # what the server does by itself

    def _lost(self, client: McpClient | None, reason: str) -> None:
        if client is None or client is not self._client:
            return
        self._client = None
        self._spawn(client.close)
        self._set("pending", f"{reason} (it is connected again with the next call)")

    def _lists_changed(self) -> None:
        """However often a server says it, one listing runs at a time, with a pause after it."""
        self._stale = True
        if not self._relisting and not self._closed:
            self._relisting = True
            self._spawn(self._relist)

    async def _relist(self) -> None:
        try:
            while self._stale and (client := self._client) is not None:
                self._stale = False
                with suppress(LinkError, ServerRefused, BadAnswer, TimeoutError), anyio.fail_after(self._timing.request):
                    listing = await client.list_tools()
                    self._listed(listing.tools, listing.notices)
                    await self._relist_prompts(client)
                    self.audience.changed()
                await anyio.sleep(_RELIST_PAUSE)
        finally:
            self._relisting = False

    async def _relist_prompts(self, client: McpClient) -> None:
        before, self._state.prompts = self._state.prompts, await client.list_prompts()
        if self._state.prompts != before:
            self.audience.said(METHODS[PROMPTS], None)

    def _heard(self, method: str, params: Any) -> None:
        if method == METHODS[PROMPTS]:
            self._lists_changed()  # told once they are listed
        else:
            self.audience.said(method, params)

    def _logged(self, level: str, text: str) -> None:
        self._log_lines += 1
        if self._log_lines < _MAX_LOG_LINES:
            self.audience.tell(self._said(f"[{presentable(level, 20)}] {presentable(text, 2000)}"))
        elif self._log_lines == _MAX_LOG_LINES:
            self.audience.tell(self._said(f"it logged {_MAX_LOG_LINES} lines; the rest is left out"))

    # the ToolServer seam

    async def list_tools(self) -> list[ServedTool]:
        await self.connect()
        return self._state.tools

    async def call_tool(self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "") -> CallResult:
        seconds = self._seconds_for(name)
        try:
            with anyio.fail_after(seconds):
                result = await self._call(name, arguments, tool_use_id)
        except TimeoutError:
            return error_result(self._said(f"{name} was given up: no answer within {seconds:g} seconds"))
        except ToolServerError as error:
            return error_result(str(error))
        except (LinkError, ServerRefused, BadAnswer) as error:
            return error_result(self._said(str(error)))
        problem = self._outputs.problem(name, result)
        return error_result(self._said(problem)) if problem else {"content": [], **result}

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Any other request, such as `resources/list`; connects if need be. Raises `ToolServerError`."""
        try:
            with anyio.fail_after(self._timing.request):
                client = await self._alive()
                return await client.request(method, params)
        except TimeoutError:
            raise ToolServerError(self._said(f"no answer to {method} within {self._timing.request:g} seconds")) from None
        except LinkLost as error:
            await self._drop()
            raise ToolServerError(self._said(str(error))) from None
        except (LinkError, ServerRefused, BadAnswer) as error:
            raise ToolServerError(self._said(str(error))) from None

    def _seconds_for(self, tool: str) -> float:
        config = self.config
        if config is None:
            return self._timing.call
        return config.tool_timeouts.get(tool) or config.call_timeout or self._timing.call

    async def _call(self, name: str, arguments: dict[str, Any], tool_use_id: str) -> dict[str, Any]:
        progress = partial(self.audience.progress, tool_use_id, name)
        client = await self._alive()
        try:
            return await client.call_tool(name, arguments, tool_use_id=tool_use_id, progress=progress)
        except SessionGone:  # the call was not even looked at: a new session, and once more
            await self._let_go(client, "it no longer knew our session")
            client = await self._alive()
            return await client.call_tool(name, arguments, tool_use_id=tool_use_id, progress=progress)
        except LinkLost as error:
            await self._let_go(client, str(error))
            raise

    async def _alive(self) -> McpClient:
        if self._client is None:
            self._check_patience()
            await self.connect()
        if self._client is None:
            raise ToolServerError(self._said("it has been closed"))
        return self._client

    def _check_patience(self) -> None:
        """A server that keeps failing is not started with every call."""
        left = self._state.not_before - anyio.current_time()
        if self._state.failures and left > 0 and not self._connecting.locked():
            tried = f"{self._state.failures} time{'s' if self._state.failures > 1 else ''}"
            text = f"It failed {tried}; the next attempt is made in {left:.0f} seconds at the earliest"
            raise ToolServerError(self._said(f"{self._state.error or 'it failed'}. {text}"))

    # the end

    async def aclose(self) -> None:
        """End the connection and every task. A later `reconnect` brings it back."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            for task in tuple(self._tasks):
                task.cancel()
            for task in tuple(self._tasks):
                await task.wait()
            await self._drop()

    async def _drop(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            self._state.status = "pending"
            await client.close()

    async def _let_go(self, client: McpClient, reason: str) -> None:
        self._lost(client, reason)
        await client.close()

    def _spawn(self, work: Callable[[], Any]) -> OwnedTask:
        self._tasks = {task for task in self._tasks if not task.done}
        task = spawn(work, name=f"mcp server {self.name}")
        self._tasks.add(task)
        return task

    def _said(self, text: str) -> str:
        return f"MCP server {self.name!r}: {text}"


def changed_tools(before: list[ServedTool], after: list[ServedTool]) -> list[str]:
    """The tools that kept their name but not their description, schema or annotations."""
    known = {tool.name: tool for tool in before}
    return [tool.name for tool in after if tool.name in known and not same_definition(known[tool.name], tool)]


def _delay(failures: int) -> float:
    return min(_MAX_DELAY, _FIRST_DELAY * 2.0**failures)
