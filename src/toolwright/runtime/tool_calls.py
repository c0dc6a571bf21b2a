"""One tool call in three steps: prepare (may it run?), execute, finish. Every call gets exactly one outcome.

Read-only calls of one answer that stand next to each other run together, the others one by one, in the order the model gave
them. What goes wrong is an outcome for the model to act on, never an exception for the loop. Knows no models and no history.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from toolwright.mcp.session.generic_calls import GENERIC, HOW, spelled_out
from toolwright.permissions.session.permission_call import call_facts, judged_input
from toolwright.tools.base import BuiltinTool, InvalidInput, Tool, ToolContext, ToolOutput, no_earlier_result, nothing_hidden
from toolwright.tools.registry import canonical_name
from toolwright.tools.session_state import Standing
from toolwright.workspace import WorkspaceError

if TYPE_CHECKING:
    from toolwright.hooks import HookOutcome
    from toolwright.hooks.session.session_hooks import SessionHooks
    from toolwright.mcp.session.toolbox import Toolbox
    from toolwright.permissions import PermissionCall
    from toolwright.permissions.session.gate import Gate, Verdict
    from toolwright.workspace import Workspace

MAX_CONCURRENT_READS = 10
CHANGED_MEANWHILE = "{name} was not run: what it is about changed while the call was judged ({error}). Look again first."
TRY_AGAIN = "A hook says that you may try the denied call of {name} again."
MAX_RESULT_CHARACTERS = 400_000
"""Built-in tools bound their results far below this; it stops a function of the user's from filling the context."""
TAGS = re.compile("[\U000e0000-\U000e007f]")
"""Invisible twins of ASCII: whoever hides instructions for a model in a file writes them in these."""


class ToolCall(Struct, frozen=True):
    """A call as the model made it. `invalid` tells why its input could not be read, if it could not."""

    id: str
    name: str
    input: dict[str, Any]
    invalid: str | None = None


class Outcome(Struct, frozen=True):
    """What became of a call. `denied` calls are listed in the turn's result; `halt` ends the turn after this call."""

    output: ToolOutput
    denied: bool = False
    verdict: Verdict | None = None
    interrupt: bool = False
    halt: str | None = None
    contexts: tuple[str, ...] = ()
    deferred: bool = False
    """A hook put the call off: it has no result yet."""


class Prepared(Struct, frozen=True):
    """A call that may run."""

    tool: Tool
    parsed: Any
    input: dict[str, Any]
    given: dict[str, Any]
    """The input as the model gave it."""
    contexts: tuple[str, ...] = ()
    caged: bool = False
    """Nobody was asked: its command runs in the cage."""
    granted: tuple[str, ...] = ()
    """Somebody said yes: the real paths it may open, also outside the working folders."""


Deliver = Callable[[ToolCall, Outcome], Awaitable[None]]


class ToolRunner(Struct):
    """Runs the calls of one session."""

    toolbox: Toolbox
    gate: Gate
    hooks: SessionHooks
    workspace: Workspace
    session_id: str
    preapproved: frozenset[str] = frozenset()
    earlier_result: Callable[[str], Any] = no_earlier_result
    longest_served: int = 100_000
    standing: Standing = field(default_factory=Standing)

    async def run(self, calls: list[ToolCall], deliver: Deliver) -> None:
        """Run every call and hand each outcome to `deliver` as soon as it is there."""
        calls = [self._spelled_out(call) if call.name == GENERIC else call for call in calls]
        for together, group in groupby(calls, self.is_read_only):
            batch = list(group)
            if together and len(batch) > 1:
                await self._run_together(batch, deliver)
            else:
                for call in batch:
                    await deliver(call, await self._run_one(call, alone=len(calls) == 1))

    def _spelled_out(self, call: ToolCall) -> ToolCall:
        meant = spelled_out(call.input, self.toolbox.tools)
        return call if meant is None else ToolCall(call.id, *meant, call.invalid)

    def is_read_only(self, call: ToolCall) -> bool:
        tool = self.find(call.name)
        return tool is not None and tool.read_only

    def find(self, name: str) -> Tool | None:
        if name in self.toolbox.aliases:
            return self.toolbox.tools.get(self.toolbox.aliases[name])
        return self.toolbox.tools.get(name) or self.toolbox.tools.get(canonical_name(name))

    async def _run_together(self, calls: list[ToolCall], deliver: Deliver) -> None:
        places = anyio.Semaphore(MAX_CONCURRENT_READS)
        one_at_a_time = anyio.Lock()

        async def run(call: ToolCall) -> None:
            async with places:
                outcome = await self._run_one(call)
            async with one_at_a_time:
                await deliver(call, outcome)

        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(run, call)

    async def _run_one(self, call: ToolCall, *, alone: bool = False) -> Outcome:
        """`alone`: it is the only call of its answer, so a hook may put it off."""
        prepared = await self._prepare(call, alone=alone)
        if isinstance(prepared, Outcome):
            return prepared
        started, folder = time.perf_counter(), self.workspace.cwd
        output = await self._execute(prepared, call.id)
        outcome = await self._finish(call, prepared, output, duration_ms=int((time.perf_counter() - started) * 1000))
        if self.workspace.cwd != folder:
            await self.hooks.folder_changes(folder, self.workspace.cwd)
        return outcome

    # prepare

    async def _prepare(self, call: ToolCall, *, alone: bool) -> Prepared | Outcome:
        tool = self.find(call.name)
        if tool is None:
            if call.name == GENERIC:
                return refused(f"Error: No such tool available: {HOW}")
            offered = ", ".join(sorted(self.toolbox.tools)) or "none"
            return refused(f"Error: No such tool available: {call.name}. Available: {offered}.")
        if call.invalid is not None:
            return refused(f"InputValidationError: {tool.name} failed: {call.invalid}")
        try:
            return await self._authorized(tool, call, alone=alone)
        except InvalidInput as error:
            return refused(str(error))
        except (WorkspaceError, OSError) as error:  # a link or file was swapped while we looked at it
            return refused(CHANGED_MEANWHILE.format(name=tool.name, error=error))

    async def _authorized(self, tool: Tool, call: ToolCall, *, alone: bool) -> Prepared | Outcome:
        final_input = judged_input(tool, call.input, self.workspace.cwd)
        parsed = tool.parse(final_input)
        if isinstance(tool, BuiltinTool) and (objection := tool.objection(parsed, self.standing)) is not None:
            return refused(objection)
        hook = await self.hooks.before_tool(tool, final_input, call.id)
        if hook is not None and hook.updated_input is not None:
            final_input = hook.updated_input
            parsed = tool.parse(final_input)
        facts = self._facts(tool, final_input, parsed)
        if hook is not None and hook.decision == "defer" and alone and self.gate.forbids(facts) is None:
            return Outcome(ToolOutput(""), deferred=True)
        verdict = await self.gate.authorize(tool, facts, hook=hook, tool_use_id=call.id)
        contexts = hook.additional_context if hook is not None else ()
        if not verdict.allowed:
            more = await self._after_denial(tool, call, verdict)
            return denied(verdict, (*contexts, *more), halt=stop_reason(hook))
        if verdict.input is not final_input:
            parsed = tool.parse_answered(verdict.input) if isinstance(tool, BuiltinTool) else tool.parse(verdict.input)
            answered = self._facts(tool, verdict.input, parsed)
            forbidden = self.gate.forbids(answered)
            if forbidden is not None:
                return denied(replace(verdict, allowed=False, message=forbidden), contexts)
            verdict = replace(verdict, granted=self.gate.granted(answered, asked=facts))
        if (halt := stop_reason(hook)) is not None:
            return Outcome(ToolOutput(halt, f"Error: {halt}", is_error=True), halt=halt)
        return Prepared(tool, parsed, verdict.input, call.input, contexts, verdict.caged, verdict.granted)

    async def _after_denial(self, tool: Tool, call: ToolCall, verdict: Verdict) -> tuple[str, ...]:
        """Tell hooks of a denial that was neither theirs nor a person's."""
        if verdict.source not in ("policy", "nobody"):
            return ()
        again = await self.hooks.call_is_denied(tool, verdict.input, call.id, reason=verdict.message)
        return (TRY_AGAIN.format(name=call.name),) if again else ()

    def _facts(self, tool: Tool, judged: dict[str, Any], parsed: Any) -> PermissionCall:
        return call_facts(tool, judged, tool.effects(parsed, self.workspace), preapproved=self.preapproved)

    # execute

    async def _execute(self, prepared: Prepared, tool_use_id: str) -> ToolOutput:
        try:
            return await prepared.tool.run(prepared.parsed, self._context(prepared, tool_use_id))
        except Exception as error:  # noqa: BLE001 — the tool boundary: whatever a tool raises is a result
            text = f"{prepared.tool.name} failed: {str(error) or type(error).__name__}"
            return ToolOutput(text, f"Error: {text}", is_error=True)

    def _context(self, prepared: Prepared, tool_use_id: str) -> ToolContext:
        hidden = self.gate.hidden_paths() or nothing_hidden
        context = ToolContext(self.workspace, tool_use_id=tool_use_id, session_id=self.session_id, hidden=hidden)
        context.earlier_result = self.earlier_result
        context.longest_served = self.longest_served
        context.standing, context.given = self.standing, prepared.given
        context.caged, context.granted = prepared.caged, prepared.granted
        return context

    # finish

    async def _finish(self, call: ToolCall, prepared: Prepared, output: ToolOutput, *, duration_ms: int) -> Outcome:
        hook = await self.hooks.after_tool(prepared.tool, prepared.input, call.id, output=output, duration_ms=duration_ms)
        if hook is None:
            return Outcome(bounded(output), contexts=prepared.contexts)
        contexts = (*prepared.contexts, *hook.additional_context, *([hook.reason] if hook.block else []))
        if hook.updated_output is not None:
            output = ToolOutput(as_content(hook.updated_output), hook.updated_output, output.is_error)
        return Outcome(bounded(output), halt=stop_reason(hook), contexts=contexts)


def stop_reason(hook: HookOutcome | None) -> str | None:
    """Why the turn ends after this call, if a hook said `continue: false`."""
    if hook is None or not hook.stop:
        return None
    return hook.stop_reason or "A hook ended the turn."


def refused(text: str) -> Outcome:
    """A call that could not even be tried; the tag tells the model that the mistake is in the call itself."""
    return Outcome(ToolOutput(f"<tool_use_error>{text}</tool_use_error>", text, is_error=True))


def denied(verdict: Verdict, contexts: tuple[str, ...], *, halt: str | None = None) -> Outcome:
    output = ToolOutput(verdict.message, f"Error: {verdict.message}", is_error=True)
    return Outcome(output, denied=True, verdict=verdict, interrupt=verdict.interrupt, halt=halt, contexts=contexts)


def as_content(value: Any) -> str | list[dict[str, Any]]:
    """What a hook puts in place of a result, as content: a text, blocks, a tool result that holds them, or JSON in a block."""
    if isinstance(value, str | list):
        return value
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        return str(value["content"])
    if isinstance(value, dict) and (isinstance(value.get("content"), list) or isinstance(value.get("type"), str)):
        from toolwright.mcp.session.result_blocks import tool_output  # only for hooks that replace an output by an object

        return tool_output(value if isinstance(value.get("content"), list) else {"content": [value]}).content
    import json

    return [{"type": "text", "text": json.dumps(value, ensure_ascii=False, default=str)}]


def bounded(output: ToolOutput) -> ToolOutput:
    """Cut a text that no context could hold, and say so; spell out characters that only a model would read."""
    if isinstance(output.content, str):
        text = presentable(output.content)
        return output if text is output.content else ToolOutput(text, output.structured, output.is_error)
    if all(presentable(block.get("text", "")) is block.get("text", "") for block in output.content):
        return output
    blocks = [{**block, "text": presentable(block["text"])} if "text" in block else block for block in output.content]
    return ToolOutput(blocks, output.structured, output.is_error)


def presentable(text: str) -> str:
    """`text` as the model gets it; the same object if there is nothing to change."""
    if not text.isascii() and TAGS.search(text):
        text = TAGS.sub(lambda tag: tag[0].encode("unicode_escape").decode(), text)
    return cut(text) if len(text) > MAX_RESULT_CHARACTERS else text


def cut(text: str) -> str:
    left_out = len(text) - MAX_RESULT_CHARACTERS
    return f"{text[:MAX_RESULT_CHARACTERS]}\n\n[{left_out} of {len(text)} characters left out: ask the tool for less.]"
