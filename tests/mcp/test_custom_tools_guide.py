"""The tools of the custom-tools guide (weather, units, images, resources, errors), written as it writes them."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import pytest

from toolwright.mcp.annotations import ToolAnnotations
from toolwright.mcp.server import InProcessServer, create_sdk_mcp_server
from toolwright.mcp.tool import tool

pytestmark = pytest.mark.anyio

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


class Api(BaseHTTPRequestHandler):
    """Stands for the weather service and an image host."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/v1/forecast":
            current = {"temperature_2m": 61.5, "latitude": float(parse_qs(url.query)["latitude"][0])}
            self._answer(200, "application/json", json.dumps({"current": current}).encode())
        elif url.path == "/pixel.png":
            self._answer(200, "image/png; charset=binary", PIXEL)
        elif url.path == "/not-json":
            self._answer(200, "application/json", b"{")
        else:
            self._answer(404, "text/plain", b"nothing here")

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def server_of(config: Any) -> InProcessServer:
    instance = config["instance"]
    assert isinstance(instance, InProcessServer)
    return instance


async def test_get_temperature(api: str) -> None:
    @tool(
        "get_temperature",
        "Get the current temperature at a location",
        {"latitude": float, "longitude": float},
        annotations=ToolAnnotations(readOnlyHint=True),
    )
    async def get_temperature(args: dict[str, Any]) -> dict[str, Any]:
        async with httpx.AsyncClient() as client:
            response = await client.get(
                f"{api}/v1/forecast",
                params={"latitude": args["latitude"], "longitude": args["longitude"], "current": "temperature_2m"},
            )
            data = response.json()
        return {"content": [{"type": "text", "text": f"Temperature: {data['current']['temperature_2m']}°F"}]}

    server = server_of(create_sdk_mcp_server(name="weather", version="1.0.0", tools=[get_temperature]))
    (listed,) = await server.list_tools()
    assert listed.annotations == {"readOnlyHint": True}
    result = await server.call_tool("get_temperature", {"latitude": 37.77, "longitude": -122.42})
    assert result == {"content": [{"type": "text", "text": "Temperature: 61.5°F"}], "isError": False}


async def test_fetch_data_turns_failures_into_results(api: str) -> None:
    @tool("fetch_data", "Fetch data from an API", {"endpoint": str})
    async def fetch_data(args: dict[str, Any]) -> dict[str, Any]:
        try:
            async with httpx.AsyncClient() as client:
                response = await client.get(args["endpoint"])
                if response.status_code != 200:
                    return {
                        "content": [{"type": "text", "text": f"API error: {response.status_code} {response.reason_phrase}"}],
                        "is_error": True,
                    }
                data = response.json()
                return {"content": [{"type": "text", "text": json.dumps(data, indent=2)}]}
        except Exception as e:  # noqa: BLE001 — as the guide writes it
            return {"content": [{"type": "text", "text": f"Failed to fetch data: {e!s}"}], "is_error": True}

    server = server_of(create_sdk_mcp_server("fetch", tools=[fetch_data]))
    missing = await server.call_tool("fetch_data", {"endpoint": f"{api}/missing"})
    assert missing == {"content": [{"type": "text", "text": "API error: 404 Not Found"}], "isError": True}
    broken = await server.call_tool("fetch_data", {"endpoint": f"{api}/not-json"})
    assert broken["isError"]
    assert broken["content"][0]["text"].startswith("Failed to fetch data: ")


async def test_fetch_image_gives_an_image_block(api: str) -> None:
    @tool("fetch_image", "Fetch an image from a URL and return it to Claude", {"url": str})
    async def fetch_image(args):  # type: ignore[no-untyped-def]  # as the guide writes it
        async with httpx.AsyncClient() as client:
            response = await client.get(args["url"])
        return {
            "content": [
                {
                    "type": "image",
                    "data": base64.b64encode(response.content).decode("ascii"),
                    "mimeType": response.headers.get("content-type", "image/png"),
                }
            ]
        }

    server = server_of(create_sdk_mcp_server("images", tools=[fetch_image]))
    (block,) = (await server.call_tool("fetch_image", {"url": f"{api}/pixel.png"}))["content"]
    assert block["type"] == "image"
    assert base64.b64decode(block["data"]) == PIXEL
    assert block["mimeType"].startswith("image/png")


async def test_a_resource_block_passes() -> None:
    resource = {"uri": "file:///tmp/report.md", "mimeType": "text/markdown", "text": "# Report\n..."}

    @tool("report", "Write a report", {})
    async def report(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "resource", "resource": resource}]}

    result = await server_of(create_sdk_mcp_server("reports", tools=[report])).call_tool("report", {})
    assert result["content"] == [{"type": "resource", "resource": resource}]


@tool(
    "convert_units",
    "Convert a value from one unit to another",
    {
        "type": "object",
        "properties": {
            "unit_type": {"type": "string", "enum": ["length", "temperature", "weight"], "description": "Category of unit"},
            "from_unit": {"type": "string", "description": "Unit to convert from, e.g. kilometers, fahrenheit, pounds"},
            "to_unit": {"type": "string", "description": "Unit to convert to"},
            "value": {"type": "number", "description": "Value to convert"},
        },
        "required": ["unit_type", "from_unit", "to_unit", "value"],
    },
)
async def convert_units(args: dict[str, Any]) -> dict[str, Any]:
    conversions = {
        "length": {"kilometers_to_miles": lambda v: v * 0.621371},
        "temperature": {"fahrenheit_to_celsius": lambda v: (v - 32) * 5 / 9},
        "weight": {"kilograms_to_pounds": lambda v: v * 2.20462},
    }
    fn = conversions.get(args["unit_type"], {}).get(f"{args['from_unit']}_to_{args['to_unit']}")
    if not fn:
        text = f"Unsupported conversion: {args['from_unit']} to {args['to_unit']}"
        return {"content": [{"type": "text", "text": text}], "is_error": True}
    text = f"{args['value']} {args['from_unit']} = {fn(args['value']):.4f} {args['to_unit']}"
    return {"content": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("arguments", "text", "is_error"),
    [
        (("length", "kilometers", "miles", 100), "100 kilometers = 62.1371 miles", False),
        (("temperature", "fahrenheit", "celsius", 72), "72 fahrenheit = 22.2222 celsius", False),
        (("weight", "kilograms", "pounds", 5), "5 kilograms = 11.0231 pounds", False),
        (("length", "miles", "parsecs", 1), "Unsupported conversion: miles to parsecs", True),
    ],
)
async def test_unit_converter(arguments: tuple[Any, ...], text: str, is_error: bool) -> None:
    server = server_of(create_sdk_mcp_server(name="converter", version="1.0.0", tools=[convert_units]))
    named = dict(zip(("unit_type", "from_unit", "to_unit", "value"), arguments, strict=True))
    result = await server.call_tool("convert_units", named)
    assert result == {"content": [{"type": "text", "text": text}], "isError": is_error}


async def test_unit_converter_checks_its_enum() -> None:
    server = server_of(create_sdk_mcp_server("converter", tools=[convert_units]))
    result = await server.call_tool("convert_units", {"unit_type": "time", "from_unit": "h", "to_unit": "s", "value": 1})
    assert result["isError"]
    assert "Input validation error" in result["content"][0]["text"]
    assert "unit_type" in result["content"][0]["text"]
