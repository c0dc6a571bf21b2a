"""Programs written for the agent SDK: the very same lines for toolwright and for the published package, which is the point.

Which options a session has is said by `BENCH_OPTIONS` in the environment: `tool` (the default options and one tool of the
program), `only-tool` (no built-in tools) or `default` (nothing but the defaults).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import experiments


class Conversation:
    def __init__(self, client: Any, result_type: Any) -> None:
        self.client = client
        self.result_type = result_type

    async def ask(self, prompt: str) -> str:
        await self.client.query(prompt)
        text = ""
        async for message in self.client.receive_response():
            if isinstance(message, self.result_type):
                text = message.result or f"{message.subtype}: {message!r}"
        return text

    async def close(self) -> None:
        await self.client.disconnect()


def connect_with(sdk: Any) -> experiments.Connect:
    """The contender whose public names are in `sdk`."""

    async def add(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(experiments.add(args["a"], args["b"]))}]}

    tool = sdk.tool("add", "Add two whole numbers.", {"a": int, "b": int})(add)

    @asynccontextmanager
    async def connect() -> AsyncIterator[experiments.Opener]:
        server = sdk.create_sdk_mcp_server("bench", tools=[tool])
        one_tool = {"mcp_servers": {"bench": server}, "allowed_tools": ["mcp__bench__add"]}
        given: dict[str, Any] = {"tool": one_tool, "only-tool": {**one_tool, "tools": []}, "default": {}}[
            os.environ.get("BENCH_OPTIONS", "tool")
        ]

        async def open_session() -> Conversation:
            options = sdk.ClaudeAgentOptions(**given)
            client = sdk.ClaudeSDKClient(options)
            await client.connect()
            return Conversation(client, sdk.ResultMessage)

        yield open_session

    return connect
