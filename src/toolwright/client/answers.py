"""The host's answers to a remote session's questions: may this tool run, run this hook, here is a message for your server.

Turns the wire's shapes into Python's and back. A callback that raises, or gives what it must not, raises from here; the control
protocol makes an error answer of it.
"""

from __future__ import annotations

from typing import Any

from toolwright.client.initialize import HookTable
from toolwright.mcp import rpc
from toolwright.protocol.control import unsupported
from toolwright.protocol.lines import Frame
from toolwright.runtime.interfaces import Host
from toolwright.types import (
    ControlError,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)

_PYTHON_SPELLINGS = {"async_": "async", "continue_": "continue"}
"""Keys that are keywords of Python."""


class HostAnswers:
    """Answers control requests from a host's callables."""

    __slots__ = ("_hooks", "_host")

    def __init__(self, host: Host, hooks: HookTable) -> None:
        self._host = host
        self._hooks = hooks

    async def answer(self, request: Frame) -> Frame:
        match request["subtype"]:
            case "can_use_tool":
                return await self._can_use_tool(request)
            case "hook_callback":
                return await self._hook_callback(request)
            case "mcp_message":
                return {"mcp_response": await self._mcp_message(request.get("server_name"), request.get("message"))}
            case other:
                raise unsupported(other)

    async def _can_use_tool(self, request: Frame) -> Frame:
        if self._host.can_use_tool is None:
            raise ControlError("There is no can_use_tool callback here to ask.")
        given = request.get("input")
        tool_input: Frame = given if isinstance(given, dict) else {}
        result = await self._host.can_use_tool(str(request.get("tool_name", "")), tool_input, permission_context(request))
        return permission_answer(result, tool_input)

    async def _hook_callback(self, request: Frame) -> Frame:
        callback = self._hooks.find(request.get("callback_id"))
        if callback is None:
            raise ControlError(f"No hook callback has the id {request.get('callback_id')!r}.")
        payload: Any = request.get("input")
        return hook_answer(await callback(payload, request.get("tool_use_id"), {"signal": None}))

    async def _mcp_message(self, server_name: object, message: Any) -> Frame:
        server = self._host.tool_servers.get(server_name) if isinstance(server_name, str) else None
        if server is None:
            request_id = message.get("id") if isinstance(message, dict) else None
            return rpc.error_answer(request_id, rpc.METHOD_NOT_FOUND, f"Server {server_name!r} not found")
        return await rpc.answer(server, message) or {"jsonrpc": "2.0", "result": {}}


def permission_context(request: Frame) -> ToolPermissionContext:
    return ToolPermissionContext(
        signal=None,
        suggestions=[PermissionUpdate.from_dict(update) for update in request.get("permission_suggestions") or ()],
        tool_use_id=request.get("tool_use_id"),
        agent_id=request.get("agent_id"),
        blocked_path=request.get("blocked_path"),
        decision_reason=request.get("decision_reason"),
        title=request.get("title"),
        display_name=request.get("display_name"),
        description=request.get("description"),
    )


def permission_answer(result: object, tool_input: Frame) -> Frame:
    if isinstance(result, PermissionResultAllow):
        updated = tool_input if result.updated_input is None else result.updated_input
        answer: Frame = {"behavior": "allow", "updatedInput": updated}
        if result.updated_permissions is not None:
            answer["updatedPermissions"] = [_update(update) for update in result.updated_permissions]
        return answer
    if isinstance(result, PermissionResultDeny):
        answer = {"behavior": "deny", "message": result.message}
        return answer | {"interrupt": True} if result.interrupt else answer
    raise TypeError(f"can_use_tool must return PermissionResultAllow or PermissionResultDeny, not {type(result).__name__}")


def hook_answer(output: object) -> Frame:
    if output is None:
        return {}
    if not isinstance(output, dict):
        raise TypeError(f"a hook must return a dict, not {type(output).__name__}")
    return {_PYTHON_SPELLINGS.get(str(key), str(key)): value for key, value in output.items()}


def _update(update: Any) -> Frame:
    """An update as the session wants it; a suggestion that was passed back as a dict goes as it is."""
    wire: Frame = update if isinstance(update, dict) else update.to_dict()
    return wire
