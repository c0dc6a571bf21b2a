"""The moments of a session at which hooks are called: one method each. None means that no hook wanted to know.

What hooks want the person to see (`systemMessage`) goes out as a frame; what they decide is returned to the caller.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from toolwright.hooks import EventContext, HookedCall, HookOutcome, HookRunner, inputs
from toolwright.protocol import frames

if TYPE_CHECKING:
    from toolwright.tools.base import Tool, ToolOutput
    from toolwright.types import PermissionUpdate


class SessionHooks:
    """The hooks of one session."""

    __slots__ = ("_emit", "_prompt_id", "_runner", "_scene", "background_tasks")

    def __init__(
        self, runner: HookRunner, scene: Callable[[], EventContext], emit: Callable[[frames.Frame], Awaitable[None]]
    ) -> None:
        self._runner = runner
        self._scene = scene
        self._emit = emit
        self._prompt_id: str | None = None
        self.background_tasks: Callable[[], list[dict[str, Any]]] = list
        """What runs in the background, for Stop hooks."""

    async def session_starts(self, source: str) -> HookOutcome | None:
        if not self._runner.has("SessionStart", source):
            return None
        return await self._run("SessionStart", inputs.session_start(self._scene(), source=source), match=source)

    async def session_ends(self, reason: str) -> HookOutcome | None:
        if not self._runner.has("SessionEnd", reason):
            return None
        scene = replace(self._scene(), prompt_id=self._prompt_id)
        return await self._run("SessionEnd", inputs.session_end(scene, reason=reason), match=reason)

    async def prompt_comes(self, text: str) -> HookOutcome | None:
        if self._runner.has("SessionEnd"):
            self._prompt_id = self._scene().prompt_id  # the last one is told when the session ends
        if not self._runner.has("UserPromptSubmit"):
            return None
        return await self._run("UserPromptSubmit", inputs.user_prompt_submit(self._scene(), prompt=text))

    async def model_stops(self, last_text: str, *, active: bool) -> HookOutcome | None:
        """`active`: a hook has already sent the model on in this turn."""
        if not self._runner.has("Stop"):
            return None
        payload = inputs.stop(self._scene(), stop_hook_active=active, last_assistant_message=last_text)
        return await self._run("Stop", payload | {"background_tasks": self.background_tasks()})

    async def before_tool(self, tool: Tool, tool_input: dict[str, Any], tool_use_id: str) -> HookOutcome | None:
        if not self._runner.has("PreToolUse", tool.name):
            return None
        payload = inputs.pre_tool_use(self._scene(), hooked(tool, tool_input, tool_use_id))
        return await self._run("PreToolUse", payload, match=tool.name, tool_use_id=tool_use_id)

    async def after_tool(
        self, tool: Tool, tool_input: dict[str, Any], tool_use_id: str, *, output: ToolOutput, duration_ms: int
    ) -> HookOutcome | None:
        event = "PostToolUseFailure" if output.is_error else "PostToolUse"
        if not self._runner.has(event, tool.name):
            return None
        scene, call = self._scene(), hooked(tool, tool_input, tool_use_id)
        if output.is_error:
            payload = inputs.post_tool_use_failure(scene, call, error=output.text, duration_ms=duration_ms)
        else:
            response = output.content if output.structured is None else output.structured
            payload = inputs.post_tool_use(scene, call, tool_response=response, duration_ms=duration_ms)
        return await self._run(event, payload, match=tool.name, tool_use_id=tool_use_id)

    async def call_is_denied(self, tool: Tool, tool_input: dict[str, Any], tool_use_id: str, *, reason: str) -> bool:
        """Rules or mode denied a call; the answer is whether a hook lets the model try again."""
        if not self._runner.has("PermissionDenied", tool.name):
            return False
        payload = inputs.permission_denied(self._scene(), hooked(tool, tool_input, tool_use_id), reason=reason)
        outcome = await self._run("PermissionDenied", payload, match=tool.name, tool_use_id=tool_use_id)
        return outcome.specific("retry") is True

    async def batch_ends(self, calls: list[dict[str, Any]]) -> HookOutcome | None:
        """All calls of one answer have their results; the model has not seen them yet."""
        if not self._runner.has("PostToolBatch"):
            return None
        return await self._run("PostToolBatch", inputs.post_tool_batch(self._scene(), calls))

    async def model_fails(self, error: str, details: str, *, last_text: str) -> None:
        if self._runner.has("StopFailure", error):
            payload = inputs.stop_failure(self._scene(), error=error, details=details, last_assistant_message=last_text)
            await self._run("StopFailure", payload, match=error)

    async def folder_changes(self, old: str, new: str) -> None:
        if self._runner.has("CwdChanged"):
            await self._run("CwdChanged", inputs.cwd_changed(self._scene(), old=old, new=new))

    def instructions_are_loaded(self, file_path: str, memory_type: str, *, reason: str, parent: str | None) -> None:
        """A memory file was read for the conversation. Not waited for."""
        if self._runner.has("InstructionsLoaded", reason):
            payload = inputs.instructions_loaded(
                self._scene(), file_path=file_path, memory_type=memory_type, load_reason=reason, parent_file_path=parent
            )
            self._runner.start("InstructionsLoaded", payload, match_value=reason)

    def folder_is_added(self, directory: str) -> None:
        """Not waited for."""
        if self._runner.has("DirectoryAdded"):
            self._runner.start("DirectoryAdded", inputs.directory_added(self._scene(), directory=directory))

    async def model_is_chosen(self, old: str, new: str) -> HookOutcome | None:
        """PreModelSwitch, for a model that somebody set: it may keep the old one."""
        if not self._runner.has("PreModelSwitch"):
            return None
        return await self._run(
            "PreModelSwitch", inputs.model_switch(self._scene(), "PreModelSwitch", old=old, new=new, trigger="set_model")
        )

    def model_switches(self, event: str, old: str, new: str, *, trigger: str) -> None:
        """PostModelSwitch, and PreModelSwitch for a model that is fallen back to. Not waited for."""
        if self._runner.has(event):
            self._runner.start(event, inputs.model_switch(self._scene(), event, old=old, new=new, trigger=trigger))

    def person_is_called(self, message: str, kind: str) -> None:
        """Somebody is wanted. The hooks that tell them are not waited for."""
        if self._runner.has("Notification", kind):
            payload = inputs.notification(self._scene(), message=message, notification_type=kind)
            self._runner.start("Notification", payload, match_value=kind)

    async def close(self) -> None:
        """End the hooks that nobody waits for."""
        await self._runner.close()

    async def permission_is_asked(
        self, name: str, tool_input: dict[str, Any], suggestions: list[PermissionUpdate]
    ) -> HookOutcome | None:
        if not self._runner.has("PermissionRequest", name):
            return None
        wire = [suggestion.to_dict() for suggestion in suggestions]
        payload = inputs.permission_request(self._scene(), HookedCall(name, tool_input, ""), suggestions=wire)
        return await self._run("PermissionRequest", payload, match=name)

    async def _run(
        self, event: str, payload: dict[str, Any], *, match: str | None = None, tool_use_id: str | None = None
    ) -> HookOutcome:
        outcome = await self._runner.run(event, payload, match_value=match, tool_use_id=tool_use_id)
        for text in outcome.system_messages:
            await self._emit(frames.system("informational", payload["session_id"], content=text, level="info"))
        return outcome


def hooked(tool: Tool, tool_input: dict[str, Any], tool_use_id: str) -> HookedCall:
    return HookedCall(tool.name, tool_input, tool_use_id, getattr(tool, "server_name", None))
