"""Tools that return more than text: annotations that let calls run side by side, an image, and a resource.

Runs without a key on the script beside this file; set TOOLWRIGHT_MODEL (claude-…, openai:…) to ask a real model.
"""

import base64
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import anyio

from toolwright import ClaudeAgentOptions, ResultMessage, ToolAnnotations, create_sdk_mcp_server, query, tool

SCRIPT = Path(__file__).with_suffix(".json")
TEMPERATURES = {"Oslo": [3, 5, 9, 7], "Rome": [14, 18, 22, 19]}


@tool("get_temperatures", "Today's temperatures in a city", {"city": str}, annotations=ToolAnnotations(readOnlyHint=True))
async def get_temperatures(args: dict[str, Any]) -> dict[str, Any]:
    if args["city"] not in TEMPERATURES:
        return {"content": [{"type": "text", "text": f"No data for {args['city']}"}], "is_error": True}
    report = {"uri": f"weather://{args['city']}/today", "text": " ".join(f"{t}°C" for t in TEMPERATURES[args["city"]])}
    return {"content": [{"type": "resource", "resource": report}]}


@tool("draw_chart", "Draw temperatures as a bar chart", {"values": list[int]})
async def draw_chart(args: dict[str, Any]) -> dict[str, Any]:
    return {
        "content": [{"type": "image", "data": base64.b64encode(bar_chart(args["values"])).decode(), "mimeType": "image/png"}]
    }


def bar_chart(values: list[int], height: int = 32) -> bytes:
    """A PNG in shades of grey, one bar of eight pixels for each value."""
    rows = (b"\0" + b"".join((b"\x20" if row < value else b"\xff") * 8 for value in values) for row in reversed(range(height)))
    header = struct.pack(">IIBBBBB", 8 * len(values), height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b"")]
    packed = (struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


async def main() -> None:
    options = ClaudeAgentOptions(
        model=os.environ.get("TOOLWRIGHT_MODEL", f"scripted:{SCRIPT}"),
        tools=[],  # only the tools of the server below
        mcp_servers={"weather": create_sdk_mcp_server("weather", tools=[get_temperatures, draw_chart])},
        allowed_tools=["mcp__weather__*"],
    )
    async for message in query(prompt="Compare Oslo and Rome today, and chart the warmer one.", options=options):
        if isinstance(message, ResultMessage):
            print(message.result)


if __name__ == "__main__":
    anyio.run(main)
