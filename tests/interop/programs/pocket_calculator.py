"""Python functions as tools, called over a long-lived client."""

import asyncio
import math
import os
from typing import Any

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, TextBlock, create_sdk_mcp_server, tool


@tool("root", "Square root", {"n": float})
async def root(given: dict[str, Any]) -> dict[str, Any]:
    if given["n"] < 0:
        return {"content": [{"type": "text", "text": "no root of a negative number"}], "is_error": True}
    return {"content": [{"type": "text", "text": str(math.sqrt(given["n"]))}]}


@tool("times", "Multiply", {"a": float, "b": float})
async def times(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(given["a"] * given["b"])}]}


async def main() -> None:
    options = ClaudeAgentOptions(
        cli_path=os.environ["AGENT_COMMAND"],
        model=os.environ["AGENT_MODEL"],
        mcp_servers={"calc": create_sdk_mcp_server(name="calc", version="1.0.0", tools=[root, times])},
        allowed_tools=["mcp__calc__root", "mcp__calc__times"],
    )
    async with ClaudeSDKClient(options=options) as client:
        for question in ("What is the root of 2025?", "And times two?"):
            await client.query(question)
            async for message in client.receive_response():
                if isinstance(message, AssistantMessage):
                    for block in message.content:
                        if isinstance(block, TextBlock):
                            print(block.text)


asyncio.run(main())
