"""Control requests that a session answers: one function per subtype, one table, for Python callers and the wire alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, get_args

from toolwright.protocol import frames
from toolwright.protocol.frames import Frame
from toolwright.runtime.context_usage import context_usage
from toolwright.runtime.rewind import rewind
from toolwright.types import ClaudeSDKError, ControlError, OptionsError, PermissionMode

if TYPE_CHECKING:
    from toolwright.runtime.session import LocalSession


async def answer(session: LocalSession, request: Frame) -> Frame:
    subtype = request.get("subtype")
    handler = HANDLERS.get(str(subtype))
    if handler is None:
        raise ControlError(f"Unsupported control request subtype: {subtype}", code="unsupported_request")
    return await handler(session, request)


async def initialize(session: LocalSession, request: Frame) -> Frame:
    return await session.start()


async def interrupt(session: LocalSession, request: Frame) -> Frame:
    if session.turn is not None:
        session.turn.interrupt()
    return {"still_queued": session.still_queued()}


async def set_permission_mode(session: LocalSession, request: Frame) -> Frame:
    mode: Any = request.get("mode")
    if mode not in get_args(PermissionMode):
        modes = ", ".join(get_args(PermissionMode))
        raise ControlError(f"Cannot set permission mode: must be one of {modes}; got {mode!r}", code="invalid_mode")
    conversation = session.started.conversation
    try:
        conversation.runner.gate.set_mode(mode)
    except OptionsError as error:
        raise ControlError(f"Cannot set permission mode: {error}", code="invalid_mode") from None
    return {"mode": mode}


async def set_model(session: LocalSession, request: Frame) -> Frame:
    name = request.get("model")
    if name is not None and not isinstance(name, str):
        raise ControlError(f"set_model: the model must be a name or null, not {name!r}", code="invalid_model")
    conversation = session.started.conversation
    try:
        models = session.started.resolve(name)
    except ClaudeSDKError as error:
        raise ControlError(str(error), code="invalid_model") from None
    await conversation.change_models(models)
    if not session.has_played:  # the first turn announces its model by itself
        return {"model": conversation.model.id}
    text = f"<local-command-stdout>Set model to {conversation.model.id}</local-command-stdout>"
    session.notices.append(frames.user(text, session_id=conversation.session_id, isReplay=True))
    return {"model": conversation.model.id}


async def rewind_files(session: LocalSession, request: Frame) -> Frame:
    return await rewind(session.started.conversation.runner.workspace, request)


async def mcp_status(session: LocalSession, request: Frame) -> Frame:
    return {"mcpServers": session.started.conversation.toolbox.status()}


async def mcp_reconnect(session: LocalSession, request: Frame) -> Frame:
    await session.started.conversation.toolbox.reconnect(str(request.get("serverName")))
    return {}


async def mcp_toggle(session: LocalSession, request: Frame) -> Frame:
    await session.started.conversation.toolbox.toggle(str(request.get("serverName")), enabled=bool(request.get("enabled")))
    return {}


async def mcp_set_servers(session: LocalSession, request: Frame) -> Frame:
    """Have exactly these external servers; those in this process and those of settings stay."""
    parts = session.started
    servers, errors = parts.make_servers(request.get("servers"))
    added, removed = await parts.conversation.toolbox.set_servers(servers)
    return {"added": added, "removed": removed, "errors": errors}


async def mcp_message(session: LocalSession, request: Frame) -> Frame:
    """What a server of the other side says by itself."""
    await session.started.conversation.toolbox.told(str(request.get("server_name")), request.get("message"))
    return {"mcp_response": {"jsonrpc": "2.0", "result": {}}}


async def get_context_usage(session: LocalSession, request: Frame) -> Frame:
    return context_usage(session.started.conversation)


async def stop_task(session: LocalSession, request: Frame) -> Frame:
    await session.started.background.stop(str(request.get("task_id")))
    return {}


Handler = Callable[["LocalSession", dict[str, Any]], Awaitable[Frame]]

HANDLERS: dict[str, Handler] = {
    "initialize": initialize,
    "interrupt": interrupt,
    "set_permission_mode": set_permission_mode,
    "set_model": set_model,
    "rewind_files": rewind_files,
    "mcp_status": mcp_status,
    "mcp_reconnect": mcp_reconnect,
    "mcp_toggle": mcp_toggle,
    "mcp_set_servers": mcp_set_servers,
    "mcp_message": mcp_message,
    "get_context_usage": get_context_usage,
    "stop_task": stop_task,
}
