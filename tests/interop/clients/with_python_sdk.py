"""The published Python SDK alone: a client with a hook and a permission callback, every message written down."""

from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, PermissionResultAllow
from conversation import FIRST, SECOND, Lines, run, settings, weather_server


async def hold() -> Lines:
    lines: Lines = []

    async def hook(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        lines.append(f"hook {payload['hook_event_name']} {tool_use_id}")
        return {}

    async def person(name: str, given: dict[str, Any], context: Any) -> Any:
        lines.append(f"asked {name} {given}")
        return PermissionResultAllow()

    hooks: Any = {event: [HookMatcher(hooks=[hook])] for event in ("PreToolUse", "PostToolUse", "Stop")}
    servers = {"weather": weather_server()}
    async with ClaudeSDKClient(ClaudeAgentOptions(**settings(mcp_servers=servers, can_use_tool=person, hooks=hooks))) as client:
        for prompt in (FIRST, SECOND):
            await client.query(prompt)
            async for message in client.receive_response():
                lines += message_lines(message)
    return lines


def message_lines(message: Any) -> Lines:
    content = getattr(message, "content", None)
    if isinstance(content, list):
        return [f"{type(message).__name__} {type(block).__name__} {vars(block)}" for block in content]
    return [f"{type(message).__name__} {getattr(message, 'subtype', '')} {getattr(message, 'result', '')}"]


run(hold, list)
