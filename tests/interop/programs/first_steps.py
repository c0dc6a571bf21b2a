"""One question, one answer; then the same with options and a tool."""

import os

import anyio
from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ResultMessage, TextBlock, ToolUseBlock, query


async def main() -> None:
    options = ClaudeAgentOptions(
        cli_path=os.environ["AGENT_COMMAND"],
        model=os.environ["AGENT_MODEL"],
        system_prompt="You are brief.",
        allowed_tools=["Read", "Write"],
        permission_mode="acceptEdits",
        max_turns=5,
    )
    async for message in query(prompt="Write a greeting into hello.txt", options=options):
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, TextBlock):
                    print("Claude:", block.text)
                elif isinstance(block, ToolUseBlock):
                    print("Tool:", block.name)
        elif isinstance(message, ResultMessage):
            print("Turns:", message.num_turns, "error:", message.is_error)


anyio.run(main)
