"""The built-in tools without a model, for `toolwright mcp serve`: the same gate, hooks, boundary and limits as in a session.

Each offer has a session of its own that never plays a turn: what one client has read, started or been allowed is nothing to
another. What would be asked of a person is asked of the client; if it has nobody to ask, the call is denied with the reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Struct

from toolwright._version import __version__
from toolwright.config import options_check
from toolwright.mcp.server.tool_provider import AnswerLater, CannotAsk, RunningCall
from toolwright.mcp.tool_server import ServedTool
from toolwright.runtime.assemble import assemble
from toolwright.runtime.interfaces import Host
from toolwright.runtime.session import LocalSession
from toolwright.runtime.tool_calls import Outcome, ToolCall, ToolRunner
from toolwright.types import (
    ClaudeAgentOptions,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

if TYPE_CHECKING:
    from toolwright.mcp.results import CallResult
    from toolwright.protocol.frames import Frame
    from toolwright.tools.base import Tool

INSTRUCTIONS = (
    "Tools for working on the files of one folder. Paths may be relative to it. Read a file before changing it. "
    "Calls that need permission are put to the person behind the client, or denied with the reason."
)
DESTRUCTIVE = frozenset({"Bash", "Write", "Edit", "MultiEdit", "NotebookEdit", "KillShell"})
OPEN_WORLD = frozenset({"Bash", "WebFetch", "WebSearch"})
MAX_SHOWN_LENGTH = 4000
"""Characters of a call's input that are shown to the person who is asked about it."""
_CONSENT = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow", "description": "Let this call run, this once."}},
    "required": ["allow"],
}


class NoModel:
    """Stands where a session has its model. It is never asked."""

    model = "none"

    def stream(self, request: Any) -> Any:
        raise RuntimeError("this session has no model: it only offers tools")

    async def aclose(self) -> None:
        return None


class QuietSession(LocalSession):
    """A session that nobody talks to: it plays no turn and gives out no frame."""

    __slots__ = ()

    async def emit(self, frame: Frame) -> None:
        return None

    def put_now(self, frame: Frame) -> None:
        return None

    def wake(self) -> None:
        return None


class _Asked(Struct):
    """A running call and the question it is stopped by, if it has to be answered with the call itself."""

    call: RunningCall
    later: AnswerLater | None = None


class OfferedTools:
    """Implements `Offer`."""

    name = "toolwright"
    version = __version__
    instructions = INSTRUCTIONS

    def __init__(self) -> None:
        self._session: LocalSession | None = None
        self._running: dict[str, _Asked] = {}
        self._one_at_a_time = anyio.Lock()

    async def start(self, options: ClaudeAgentOptions) -> None:
        """Raises what a session raises for wrong options."""
        own = replace(options, model=NoModel(), mcp_servers={}, strict_mcp_config=True)
        options_check.check(own)
        session = QuietSession(lambda opened: assemble(own, Host(self._permit, converses=False), opened))
        await session.start()
        self._session = session

    @property
    def _runner(self) -> ToolRunner:
        if self._session is None:
            raise RuntimeError("the offer has not been started")
        return self._session.started.conversation.runner

    async def list_tools(self) -> list[ServedTool]:
        return [served(tool) for tool in self._runner.toolbox.tools.values()]

    async def call_tool(self, name: str, arguments: dict[str, Any], call: RunningCall) -> CallResult:
        asked = self._running[call.id] = _Asked(call)
        made = ToolCall(call.id, name, arguments)
        try:
            if self._runner.is_read_only(made):
                outcome = await self._run(made)
            else:
                async with self._one_at_a_time:
                    outcome = await self._run(made)
        finally:
            del self._running[call.id]
        if asked.later is not None:
            raise asked.later
        if outcome.denied:
            await call.log("notice", f"{name} was denied: {outcome.output.text}")
        return result_of(outcome)

    async def _run(self, call: ToolCall) -> Outcome:
        outcomes: list[Outcome] = []

        async def deliver(made: ToolCall, outcome: Outcome) -> None:
            outcomes.append(outcome)

        await self._runner.run([call], deliver)
        return outcomes[0]

    # who is asked

    async def _permit(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        asked = self._running.get(context.tool_use_id or "")
        if asked is None:
            return PermissionResultDeny(message=f"{name} needs permission, and it is not known whose call this is.")
        params = {"message": question(name, given, context), "requestedSchema": _CONSENT}
        try:
            answer = (await asked.call.ask({"permission": ("elicitation/create", params)}))["permission"]
        except AnswerLater as later:
            asked.later = later
            return PermissionResultDeny(message=str(later))
        except CannotAsk as error:
            return PermissionResultDeny(message=unasked(name, error, context))
        content = answer.get("content")
        if answer.get("action") == "accept" and isinstance(content, dict) and content.get("allow") is True:
            return PermissionResultAllow()
        return PermissionResultDeny(message=f"The person behind the client did not allow this call of {name}.")

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


def unasked(name: str, error: CannotAsk, context: ToolPermissionContext) -> str:
    reason = f" {context.decision_reason}" if context.decision_reason else ""
    return (
        f"{name} needs permission, and nobody can be asked: {error}.{reason} It was not run. "
        "(Allow it when starting the server: --allowed-tools or --permission-mode.)"
    )


def question(name: str, given: dict[str, Any], context: ToolPermissionContext) -> str:
    """What a person is shown: the tool, the whole input, and why it is asked. What is not shown is said."""
    import hashlib  # only for calls that are asked about
    import json

    shown = json.dumps(given, ensure_ascii=True, indent=1)
    if len(shown) > MAX_SHOWN_LENGTH:
        digest = hashlib.sha256(shown.encode()).hexdigest()[:16]
        hidden = f"{len(shown) - MAX_SHOWN_LENGTH} more characters are not shown; the whole has the SHA-256 {digest}…"
        shown = f"{shown[:MAX_SHOWN_LENGTH]}\n[{hidden}]"
    reason = f"\n{context.decision_reason}" if context.decision_reason else ""
    return f"May {name} run with this input?\n{shown}{reason}"


def served(tool: Tool) -> ServedTool:
    hints: dict[str, Any] = {"title": tool.name, "readOnlyHint": tool.read_only, "openWorldHint": tool.name in OPEN_WORLD}
    if not tool.read_only:
        hints["destructiveHint"] = tool.name in DESTRUCTIVE
    return ServedTool(tool.name, tool.description, tool.input_schema, hints)


def result_of(outcome: Outcome) -> CallResult:
    content = outcome.output.content
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [block_of(block) for block in content]
    blocks += [{"type": "text", "text": text} for text in outcome.contexts]
    return {"content": blocks, **({"isError": True} if outcome.output.is_error else {})}


def block_of(block: dict[str, Any]) -> dict[str, Any]:
    """A block of the Messages API as one of MCP's."""
    source = block.get("source")
    if block.get("type") == "text":
        return {"type": "text", "text": block.get("text", "")}
    if isinstance(source, dict) and source.get("type") == "base64":
        if block["type"] == "image":
            return {"type": "image", "data": source["data"], "mimeType": source["media_type"]}
        resource = {"uri": "toolwright:document", "blob": source["data"], "mimeType": source["media_type"]}
        return {"type": "resource", "resource": resource}
    return {"type": "text", "text": f"[A block of type {block.get('type')!r} was left out: MCP has no such block.]"}
