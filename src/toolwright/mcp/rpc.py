"""MCP's JSON-RPC, both ends: `answer` serves a ToolServer's tools, `RpcToolServer` is a ToolServer behind such a channel.

Used where a CLI and its client share in-process servers: every message is one request with its one answer, carried by something
else (`mcp_message`). Knows messages only: no stream, no process, no framing.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio

from toolwright._version import __version__
from toolwright.mcp.results import CallResult, error_result
from toolwright.mcp.tool_server import ServedTool, ToolServer

Message = dict[str, Any]

PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions that both ends speak, newest first."""
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
TOOL_USE_META = "claudecode/toolUseId"
"""The key of a call's `_meta` under which the model's tool_use id travels."""

_MAX_PAGES = 100
_MAX_TOOLS = 10_000
_WITHDRAW_SECONDS = 1.0


class ToolServerError(Exception):
    """A server could not be reached, or does not keep to the protocol; the text names the server."""


class _Refused(Exception):
    """A request that cannot be served: becomes a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def error_answer(request_id: str | int | None, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


async def answer(server: ToolServer, message: Any) -> Message | None:
    """The answer to one JSON-RPC message; None when it wants none (a notification, an answer). Only cancellation raises."""
    request_id = message.get("id") if isinstance(message, dict) else None
    if not isinstance(request_id, (str, int)) or isinstance(request_id, bool):
        request_id = None
    try:
        method, params = _read_request(message)
        if not method or "id" not in message:
            return None
        return {"jsonrpc": "2.0", "id": request_id, "result": await _serve(server, method, params)}
    except _Refused as refusal:
        return error_answer(request_id, refusal.code, str(refusal))
    except Exception as error:  # noqa: BLE001 — the request boundary: a failing server answers, the channel goes on
        return error_answer(request_id, INTERNAL_ERROR, f"{type(error).__name__}: {error}")


def _read_request(message: Any) -> tuple[str, dict[str, Any]]:
    """Method and params; an empty method for an answer, which we never asked for."""
    if not isinstance(message, dict):
        raise _Refused(INVALID_REQUEST, f"a message must be a JSON object, not a {type(message).__name__}")
    if message.get("jsonrpc") != "2.0":
        raise _Refused(INVALID_REQUEST, '"jsonrpc" must be "2.0"')
    if "method" not in message and ("result" in message or "error" in message):
        return "", {}
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str) or not method:
        raise _Refused(INVALID_REQUEST, '"method" must be a string that is not empty')
    if "id" in message and (not isinstance(message["id"], (str, int)) or isinstance(message["id"], bool)):
        raise _Refused(INVALID_REQUEST, '"id" must be a string or an integer')
    if "id" in message and not isinstance(params, dict):
        raise _Refused(INVALID_PARAMS, '"params" must be an object')
    return method, params if isinstance(params, dict) else {}


async def _serve(server: ToolServer, method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return _initialize(server, params, has_tools=bool(await server.list_tools()))
        case "ping":
            return {}
        case "tools/list":
            return await _list_tools(server, params)
        case "tools/call":
            return await _call_tool(server, params)
    raise _Refused(METHOD_NOT_FOUND, f"Method not found: {method[:200]}")


def _initialize(server: ToolServer, params: dict[str, Any], *, has_tools: bool) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise _Refused(INVALID_PARAMS, 'initialize needs "protocolVersion", a string')
    return {
        "protocolVersion": wanted if wanted in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0],
        "capabilities": {"tools": {"listChanged": True}} if has_tools else {},
        "serverInfo": {"name": server.name, "version": server.version},
    }


async def _list_tools(server: ToolServer, params: dict[str, Any]) -> dict[str, Any]:
    if params.get("cursor") is not None:
        raise _Refused(INVALID_PARAMS, "unknown cursor: all tools are on one page")
    return {"tools": [_described(tool) for tool in await server.list_tools()]}


def _described(tool: ServedTool) -> dict[str, Any]:
    described = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    optional = {"annotations": tool.annotations, "_meta": tool.meta, "outputSchema": tool.output_schema}
    return described | {key: value for key, value in optional.items() if value}


async def _call_tool(server: ToolServer, params: dict[str, Any]) -> dict[str, Any]:
    name, arguments, meta = params.get("name"), params.get("arguments"), params.get("_meta")
    if not isinstance(name, str):
        raise _Refused(INVALID_PARAMS, 'tools/call needs "name", a string')
    if arguments is not None and not isinstance(arguments, dict):
        raise _Refused(INVALID_PARAMS, 'tools/call: "arguments" must be an object')
    tool_use_id = meta.get(TOOL_USE_META) if isinstance(meta, dict) else None
    return await server.call_tool(name, arguments or {}, tool_use_id=tool_use_id if isinstance(tool_use_id, str) else "")


class RpcToolServer:
    """A tool server behind a channel that carries one message there and its answer back.

    `send` gets a JSON-RPC message and gives the answer's message; what it gives for a notification is not looked at. It bounds
    its own waiting, and when it is cancelled it tells the other side.
    """

    def __init__(self, name: str, send: Callable[[Message], Awaitable[Message]]) -> None:
        self.name = name
        self.version = ""
        self.protocol_version = ""
        self._send = send
        self._ids = itertools.count(1)

    async def connect(self) -> None:
        """Shake hands; afterwards `version` is the server's. Raises `ToolServerError`."""
        params = {
            "protocolVersion": PROTOCOL_VERSIONS[0],
            "capabilities": {},
            "clientInfo": {"name": "toolwright", "version": __version__},
        }
        result = await self._request("initialize", params)
        spoken, info = result.get("protocolVersion"), result.get("serverInfo")
        if spoken not in PROTOCOL_VERSIONS:
            raise self._error(f"speaks protocol version {spoken!r}; we speak {', '.join(PROTOCOL_VERSIONS)}")
        self.protocol_version = str(spoken)
        self.version = str(info.get("version", "")) if isinstance(info, dict) else ""
        await self._deliver({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def list_tools(self) -> list[ServedTool]:
        """Every page of the server's list. Raises `ToolServerError`."""
        tools: list[ServedTool] = []
        cursors: set[str] = set()
        params: dict[str, Any] = {}
        for _ in range(_MAX_PAGES):
            page = await self._request("tools/list", params)
            tools += self._read_tools(page.get("tools"))
            cursor = page.get("nextCursor")
            if not cursor:
                return tools
            if not isinstance(cursor, str) or cursor in cursors or len(tools) > _MAX_TOOLS:
                break
            cursors.add(cursor)
            params = {"cursor": cursor}
        raise self._error(f"its list of tools does not end ({len(tools)} tools so far)")

    async def call_tool(self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "") -> CallResult:
        """A call that cannot be made, or whose answer makes no sense, is an error result as well."""
        number = next(self._ids)
        meta = ({TOOL_USE_META: tool_use_id} if tool_use_id else {}) | {"progressToken": number}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        try:
            result = await self._request("tools/call", params, number=number)
        except ToolServerError as error:
            return error_result(str(error))
        except anyio.get_cancelled_exc_class():
            await self._withdraw(number)
            raise
        if not isinstance(result.get("content"), list):
            return error_result(str(self._error(f"its answer to {name} has no content")))
        return result

    async def _withdraw(self, number: int) -> None:
        """Tell the server that nobody waits for the call any more, so that it stops its work."""
        params = {"requestId": number, "reason": "The call was interrupted."}
        with anyio.move_on_after(_WITHDRAW_SECONDS, shield=True), suppress(ToolServerError):
            await self._deliver({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def _read_tools(self, listed: Any) -> list[ServedTool]:
        if not isinstance(listed, list):
            raise self._error('its list has no "tools"')
        return [self._read_tool(tool) for tool in listed]

    def _read_tool(self, tool: Any) -> ServedTool:
        name, schema = (tool.get("name"), tool.get("inputSchema")) if isinstance(tool, dict) else (None, None)
        if not isinstance(name, str) or not name or not isinstance(schema, dict):
            raise self._error(f"a tool in its list has no name or no inputSchema: {str(tool)[:200]}")
        description = tool.get("description")
        return ServedTool(
            name,
            description if isinstance(description, str) else "",
            schema,
            _object(tool.get("annotations")),
            _object(tool.get("_meta")),
        )

    async def _request(self, method: str, params: dict[str, Any], *, number: int | None = None) -> dict[str, Any]:
        number = next(self._ids) if number is None else number
        message: Message = {"jsonrpc": "2.0", "id": number, "method": method}
        reply = await self._deliver(message | ({"params": params} if params else {}))
        if not isinstance(reply, dict) or reply.get("id", number) != number:
            raise self._error(f"its answer to {method} is not an answer to that request")
        error, result = reply.get("error"), reply.get("result")
        if error is not None:
            raise self._error(f"{method} failed: {_error_text(error)}")
        if not isinstance(result, dict):
            raise self._error(f"its answer to {method} has no result")
        return result

    async def _deliver(self, message: Message) -> Any:
        try:
            return await self._send(message)
        except Exception as error:
            raise self._error(f"cannot be reached: {str(error) or type(error).__name__}") from error

    def _error(self, text: str) -> ToolServerError:
        return ToolServerError(f"MCP server {self.name!r}: {text}")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _error_text(error: Any) -> str:
    if not isinstance(error, Mapping):
        return str(error)[:500]
    return f"{error.get('message', 'no message')} (code {error.get('code')})"
