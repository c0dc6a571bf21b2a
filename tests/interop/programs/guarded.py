"""A hook that forbids a word in commands, and a person who redirects files."""

import asyncio
import os
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
)


async def no_deploys(payload: Any, tool_use_id: str | None, context: Any) -> Any:
    if "deploy" in payload["tool_input"].get("command", ""):
        reason = {"permissionDecision": "deny", "permissionDecisionReason": "No deploys from here."}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **reason}}
    return {}


async def person(name: str, given: dict[str, Any], context: Any) -> PermissionResultAllow | PermissionResultDeny:
    print(
        "asked about", name, "with", len(context.suggestions), "suggestions" if len(context.suggestions) != 1 else "suggestion"
    )
    if name == "Write":
        return PermissionResultAllow(updated_input={**given, "file_path": given["file_path"].replace("/x", "/safe-x")})
    return PermissionResultDeny(message="Only files today.")


async def main() -> None:
    options = ClaudeAgentOptions(
        cli_path=os.environ["AGENT_COMMAND"],
        model=os.environ["AGENT_MODEL"],
        can_use_tool=person,
        hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[no_deploys])]},
    )
    async with ClaudeSDKClient(options) as client:
        await client.query("Do everything")
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                print("denied:", [denial["tool_name"] for denial in message.permission_denials])


asyncio.run(main())
