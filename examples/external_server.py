"""An MCP server in a process of its own, used by two sessions at once, which share the one process.

The server is this file again, started with `serve`; any other works the same. Runs without a key on the script beside this
file; set TOOLWRIGHT_MODEL (claude-…, openai:…) to ask a real model.
"""

import json
import os
import sys
from pathlib import Path

import anyio

from toolwright import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, ToolResultBlock, UserMessage

SCRIPT = Path(__file__).with_suffix(".json")
TOOL = {"name": "who", "description": "Tell which process answers.", "inputSchema": {"type": "object"}}


def serve() -> None:
    """The smallest server there is: lines of JSON in, lines of JSON out."""
    for line in sys.stdin:
        message = json.loads(line)
        match message["method"]:
            case "initialize":
                version, info = message["params"]["protocolVersion"], {"name": "who", "version": "1"}
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [TOOL]}
            case "tools/call":
                result = {"content": [{"type": "text", "text": f"process {os.getpid()}"}]}
            case _:
                continue
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


async def ask(client: ClaudeSDKClient) -> str:
    """One question; what the server answered to the model's call."""
    answer = ""
    await client.query("Which process is it?")
    async for message in client.receive_response():
        if isinstance(message, UserMessage) and isinstance(message.content, list):
            answer = "".join(str(block.content) for block in message.content if isinstance(block, ToolResultBlock)) or answer
        if isinstance(message, ResultMessage):
            print(message.result)
    return answer


async def main() -> None:
    options = ClaudeAgentOptions(
        model=os.environ.get("TOOLWRIGHT_MODEL", f"scripted:{SCRIPT}"),
        mcp_servers={"who": {"command": sys.executable, "args": [__file__, "serve"]}},
        allowed_tools=["mcp__who__who"],
    )
    async with ClaudeSDKClient(options) as one, ClaudeSDKClient(options) as other:
        answers = [await ask(one), await ask(other)]
        status = (await one.get_mcp_status())["mcpServers"][0]
        print(f"{status['name']} is {status['status']}; one process for both: {answers[0] == answers[1] != ''}")


if __name__ == "__main__":
    serve() if "serve" in sys.argv else anyio.run(main)
