"""The floor: what a person would write by hand on httpx2, with nothing that is not needed.

A streamed POST per model request, one pass over the lines of the event stream, one Python function as the tool, the whole
history sent each time. No checks, no hooks, no permissions, no transcript, no retries.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import experiments
import httpx2
import msgspec

TOOL = {
    "name": "add",
    "description": "Add two whole numbers.",
    "input_schema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
HEADERS = {"x-api-key": "benchmark", "anthropic-version": "2023-06-01", "content-type": "application/json"}
LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=1000)
encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Conversation:
    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client
        self.messages: list[dict[str, Any]] = []

    async def ask(self, prompt: str) -> str:
        self.messages.append({"role": "user", "content": prompt})
        while True:
            blocks = await self.answer()
            self.messages.append({"role": "assistant", "content": blocks})
            results = [
                {"type": "tool_result", "tool_use_id": block["id"], "content": str(experiments.add(**block["input"]))}
                for block in blocks
                if block["type"] == "tool_use"
            ]
            if not results:
                return "".join(block["text"] for block in blocks)
            self.messages.append({"role": "user", "content": results})

    async def answer(self) -> list[dict[str, Any]]:
        body = {"model": "scripted", "max_tokens": 1024, "stream": True, "tools": [TOOL], "messages": self.messages}
        blocks: list[dict[str, Any]] = []
        inputs = ""
        async with self.client.stream("POST", "/v1/messages", content=encode(body)) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if not line.startswith("data: "):
                    continue
                event = decode(line[6:])
                match event["type"]:
                    case "content_block_start":
                        blocks.append(event["content_block"])
                        inputs = ""
                    case "content_block_delta" if "text" in event["delta"]:
                        blocks[-1]["text"] += event["delta"]["text"]
                    case "content_block_delta":
                        inputs += event["delta"]["partial_json"]
                    case "content_block_stop" if inputs:
                        blocks[-1]["input"] = decode(inputs)
        return blocks

    async def close(self) -> None:
        self.messages.clear()


@asynccontextmanager
async def connect() -> AsyncIterator[experiments.Opener]:
    async with httpx2.AsyncClient(base_url=os.environ["ANTHROPIC_BASE_URL"], headers=HEADERS, limits=LIMITS) as client:

        async def open_session() -> Conversation:
            return Conversation(client)

        yield open_session


if __name__ == "__main__":
    experiments.main(connect)
