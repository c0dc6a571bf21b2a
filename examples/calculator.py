"""A calculator as an in-process tool server: the model calls Python, no process is started.

Runs without a key on the script beside this file; set TOOLWRIGHT_MODEL (claude-…, openai:…) to ask a real model.
"""

import os
from pathlib import Path
from typing import Any

import anyio

from toolwright import AssistantMessage, ClaudeAgentOptions, ResultMessage, ToolUseBlock, create_sdk_mcp_server, query, tool

SCRIPT = Path(__file__).with_suffix(".json")


@tool("multiply", "Multiply two numbers", {"a": float, "b": float})
async def multiply(args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{args['a']} × {args['b']} = {args['a'] * args['b']}"}]}


@tool("divide", "Divide one number by another", {"a": float, "b": float})
async def divide(args: dict[str, Any]) -> dict[str, Any]:
    if args["b"] == 0:
        return {"content": [{"type": "text", "text": "Cannot divide by zero"}], "is_error": True}
    return {"content": [{"type": "text", "text": f"{args['a']} ÷ {args['b']} = {args['a'] / args['b']}"}]}


async def main() -> None:
    options = ClaudeAgentOptions(
        model=os.environ.get("TOOLWRIGHT_MODEL", f"scripted:{SCRIPT}"),
        mcp_servers={"calc": create_sdk_mcp_server(name="calculator", version="1.0.0", tools=[multiply, divide])},
        allowed_tools=["mcp__calc__*"],
    )
    async for message in query(prompt="What is 12.5 times 4, and what is that divided by zero?", options=options):
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, ToolUseBlock):
                    print(f"[call] {block.name}({block.input})")
        elif isinstance(message, ResultMessage):
            print(message.result)


if __name__ == "__main__":
    anyio.run(main)
