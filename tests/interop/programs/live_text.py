"""Text as it is written, on trio."""

import os

import trio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, StreamEvent


async def main() -> None:
    options = ClaudeAgentOptions(
        cli_path=os.environ["AGENT_COMMAND"], model=os.environ["AGENT_MODEL"], include_partial_messages=True
    )
    async with ClaudeSDKClient(options) as client:
        await client.query("Tell me a story")
        async for message in client.receive_response():
            if isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta":
                print(message.event["delta"].get("text", ""), end="")
            elif isinstance(message, ResultMessage):
                print(f"\n[{message.subtype}]")


trio.run(main)
