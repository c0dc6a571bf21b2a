"""Hooks: a guard before every command, and a log after every tool.

Runs without a key on the scripted model below; set TOOLWRIGHT_MODEL (claude-…, openai:…) to ask a real one.
"""

import os
import tempfile
from typing import Any

import anyio

from toolwright import ClaudeAgentOptions, HookMatcher, ResultMessage, query
from toolwright.testing import Call, Say, ScriptedModel

SCRIPT = ScriptedModel(
    [
        Call("Bash", {"command": "rm -rf build"}),
        Call("Bash", {"command": "echo nothing was removed"}),
        Say("I may not remove anything here, so I left it."),
    ]
)


async def no_removing(payload: Any, tool_use_id: str | None, context: Any) -> Any:
    if "rm " not in payload["tool_input"].get("command", ""):
        return {}
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "Removing files is not allowed here.",
        }
    }


async def log(payload: Any, tool_use_id: str | None, context: Any) -> Any:
    print(f"[{payload['tool_name']}] {payload['tool_response']['stdout']} ({payload['duration_ms']} ms)")
    return {}


async def main() -> None:
    model: Any = os.environ.get("TOOLWRIGHT_MODEL") or SCRIPT
    with tempfile.TemporaryDirectory() as folder:
        options = ClaudeAgentOptions(
            model=model,
            cwd=folder,
            allowed_tools=["Bash"],
            hooks={
                "PreToolUse": [HookMatcher(matcher="Bash", hooks=[no_removing])],
                "PostToolUse": [HookMatcher(hooks=[log])],
            },
        )
        async for message in query(prompt="Remove the build folder.", options=options):
            if isinstance(message, ResultMessage):
                print(message.result)
                print(f"denied: {[denial['tool_input']['command'] for denial in message.permission_denials or []]}")


if __name__ == "__main__":
    anyio.run(main)
