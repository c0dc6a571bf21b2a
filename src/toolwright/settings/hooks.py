"""The `hooks` settings as typed values: checked, not run. A hook guards calls, so a broken entry is an error, never skipped."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolwright.settings.reader import ObjectReader
from toolwright.settings.values import HookConfig, Origin

EVENTS = frozenset(
    """SessionStart SessionEnd Setup UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest PermissionDenied
    PostToolUse PostToolUseFailure PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated
    TaskCompleted TeammateIdle Stop StopFailure InstructionsLoaded ConfigChange CwdChanged DirectoryAdded FileChanged
    WorktreeCreate WorktreeRemove PreCompact PostCompact Elicitation ElicitationResult PreModelSwitch PostModelSwitch""".split()  # noqa: SIM905 — a word list reads better
)
KINDS = ("command", "http", "mcp_tool", "prompt", "agent")


def read_hooks(reader: ObjectReader, origin: Origin) -> tuple[HookConfig, ...]:
    """Every hook of a `hooks` object, in the order written. Events that are not known are noted by the reader."""
    found = [hook for event in reader.names if event in EVENTS for hook in _of_event(reader, event, origin)]
    reader.finish()
    return tuple(found)


def _of_event(reader: ObjectReader, event: str, origin: Origin) -> Iterator[HookConfig]:
    for group in reader.entries(event):
        matcher = group.text("matcher") or ""
        for entry in group.entries("hooks"):
            yield _hook(entry, event, "" if matcher == "*" else matcher, origin)
        group.accept("description")
        group.finish()


def _hook(entry: ObjectReader, event: str, matcher: str, origin: Origin) -> HookConfig:
    kind = entry.choice("type", KINDS) or "command"
    hook = HookConfig(
        event,
        matcher,
        kind,  # type: ignore[arg-type]  # one of KINDS
        replace(origin, line=entry.document.line(entry.node.start)),
        command=entry.required_text("command") if kind == "command" else None,
        args=entry.texts("args") if "args" in entry.names else None,
        url=entry.required_text("url") if kind == "http" else None,
        headers=tuple(entry.text_map("headers").items()),
        variables=entry.texts("allowedEnvVars"),
        prompt=entry.required_text("prompt") if kind in ("prompt", "agent") else None,
        server=entry.required_text("server") if kind == "mcp_tool" else None,
        tool=entry.required_text("tool") if kind == "mcp_tool" else None,
        model=entry.text("model"),
        condition=entry.text("if"),
        timeout=entry.number("timeout"),
        runs_async=bool(entry.boolean("async")),
        once=bool(entry.boolean("once")),
        status_message=entry.text("statusMessage"),
        shell=entry.text("shell"),
    )
    entry.accept("input", "asyncRewake", "description")
    entry.finish()
    return hook
