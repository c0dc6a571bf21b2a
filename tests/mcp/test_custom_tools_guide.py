"""The programs of the guides (weather, units, images, resources, errors, annotations, calculator, servers), as written.

Each runs as a program of its own on a scripted model; the web addresses in it are those of a server here. What the model was
given back is read from the transcript that the session leaves.
"""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import support_guide as guide
from support_mcp import SERVER
from support_mcp_http import http_server

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
PLACE = {"latitude": 37.77, "longitude": -122.42}
WILDCARD = guide.ASK_FOR_THE_WEATHER.replace("mcp__weather__get_temperature", "mcp__weather__*")


class Api(BaseHTTPRequestHandler):
    """Stands for the weather service and an image host."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/v1/forecast":
            asked = parse_qs(url.query)
            assert (asked["latitude"], asked["longitude"]) == (["37.77"], ["-122.42"])
            told: dict[str, Any] = {"current": {"temperature_2m": 61.5}} if "current" in asked else {}
            told |= {"hourly": {"precipitation_probability": list(range(0, 48, 2))}} if "hourly" in asked else {}
            self._answer(200, "application/json", json.dumps(told).encode())
        elif url.path == "/pixel.png":
            self._answer(200, "image/png", PIXEL)
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
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Run:
    """A program that has run: what it printed, and the results that its model was given."""

    def __init__(self, folder: Path, program: str, *steps: dict[str, Any], **env: str) -> None:
        (folder / "program.py").write_text(program, encoding="utf-8")
        (folder / "script.json").write_text(json.dumps({"steps": steps, "repeat": True}))
        own = {"TOOLWRIGHT_MODEL": f"scripted:{folder / 'script.json'}", "CLAUDE_CONFIG_DIR": str(folder / "config")}
        done = subprocess.run(
            [sys.executable, "-W", "error", str(folder / "program.py")],
            env={**os.environ, **own, **env},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        self.printed = done.stdout
        lines = [line for path in (folder / "config").rglob("*.jsonl") for line in path.read_text().splitlines()]
        messages = [json.loads(line).get("message") or {} for line in lines]
        contents = [message["content"] for message in messages if isinstance(message.get("content"), list)]
        self.results = [block for content in contents for block in content if block["type"] == "tool_result"]

    @property
    def texts(self) -> list[str]:
        return [block.get("text", "") for result in self.results for block in blocks_of(result)]


def blocks_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    content = result["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": f"mcp__{name}", "input": arguments}


def test_the_weather(tmp_path: Path, api: str) -> None:
    program = (guide.WEATHER + guide.ASK_FOR_THE_WEATHER).replace("https://api.open-meteo.com", api)
    run = Run(tmp_path, program, call("weather__get_temperature", **PLACE), {"text": "It is mild."})
    assert run.printed == "It is mild.\n"
    assert run.texts == ["Temperature: 61.5°F"]


def test_a_second_tool_and_a_wildcard(tmp_path: Path, api: str) -> None:
    program = (guide.WEATHER + guide.SECOND_TOOL + WILDCARD).replace("https://api.open-meteo.com", api)
    steps = [
        call("weather__get_temperature", **PLACE),
        call("weather__get_precipitation_chance", **PLACE),
        call("weather__get_precipitation_chance", **PLACE, hours=3),
        call("weather__get_precipitation_chance", **PLACE, hours=25),
    ]
    run = Run(tmp_path, program, *steps, {"text": "Take an umbrella."})
    assert run.printed == "Take an umbrella.\n"
    assert run.texts[:3] == [
        "Temperature: 61.5°F",
        "Next 12 hours: 0%, 2%, 4%, 6%, 8%, 10%, 12%, 14%, 16%, 18%, 20%, 22%",
        "Next 3 hours: 0%, 2%, 4%",
    ]
    assert "25 is greater than the maximum of 24" in run.texts[3]


def test_annotations_let_calls_of_one_answer_run_side_by_side(tmp_path: Path) -> None:
    both = [call("weather__get_temperature", latitude=number, longitude=1) for number in (1, 2)]
    run = Run(tmp_path, guide.ANNOTATED + guide.ASK_FOR_THE_WEATHER, {"content": both}, {"text": "Done."})
    assert (run.printed, run.texts) == ("Done.\n", ["...", "..."])


def test_failures_are_results_and_the_loop_goes_on(tmp_path: Path, api: str) -> None:
    endpoints = [f"{api}/missing", f"{api}/not-json", "http://127.0.0.1:1/"]
    calls = [call("weather__fetch_data", endpoint=endpoint) for endpoint in endpoints]
    last = (
        call("weather__careless", endpoint=""),
        call("weather__fetch_data", endpoint=f"{api}/v1/forecast?latitude=37.77&longitude=-122.42"),
    )
    run = Run(tmp_path, guide.FAILURES + WILDCARD, *calls, *last, {"text": "Four failed."})
    assert run.printed == "Four failed.\n"
    assert [result.get("is_error", False) for result in run.results] == [True, True, True, True, False]
    assert run.texts[0] == "API error: 404 Not Found"
    assert run.texts[1].startswith("Failed to fetch data: ")
    assert run.texts[2].startswith("Failed to fetch data: ")
    assert run.texts[3:] == ["nobody caught this", "{}"]


def test_an_image_and_a_resource_reach_the_model(tmp_path: Path, api: str) -> None:
    steps = call("weather__fetch_image", url=f"{api}/pixel.png"), call("weather__report"), {"text": "A pixel."}
    run = Run(tmp_path, guide.IMAGE_AND_RESOURCE + WILDCARD, *steps)
    assert run.printed == "A pixel.\n"
    image = next(block for block in blocks_of(run.results[0]) if block["type"] == "image")
    assert base64.b64decode(image["source"]["data"]) == PIXEL
    assert image["source"]["media_type"] == "image/png"
    assert run.texts[-1].startswith("[Resource file:///tmp/report.md")
    assert run.texts[-1].endswith("# Report\n...")


def test_units(tmp_path: Path) -> None:
    """Every prompt plays the same steps: the three conversions of the guide, and two that it refuses."""
    named = [
        ("length", "kilometers", "miles", 100),
        ("temperature", "fahrenheit", "celsius", 72),
        ("weight", "kilograms", "pounds", 5),
        ("length", "miles", "parsecs", 1),
        ("time", "hours", "seconds", 1),
    ]
    keys = ("unit_type", "from_unit", "to_unit", "value")
    calls = [call("converter__convert_units", **dict(zip(keys, values, strict=True))) for values in named]
    run = Run(tmp_path, guide.UNITS, *calls, {"text": "Converted."})
    assert run.printed.count("[tool call] mcp__converter__convert_units({'unit_type': 'length', 'from_unit': 'kilometers'") == 3
    assert "Q: What is 72°F in Celsius?\nA: Converted.\n\n" in run.printed
    assert run.texts[:4] == [
        "100 kilometers = 62.1371 miles",
        "72 fahrenheit = 22.2222 celsius",
        "5 kilograms = 11.0231 pounds",
        "Unsupported conversion: miles to parsecs",
    ]
    assert "Input validation error" in run.texts[4]
    assert "unit_type" in run.texts[4]
    assert [result.get("is_error", False) for result in run.results[:5]] == [False, False, False, True, True]


def test_the_calculator(tmp_path: Path) -> None:
    steps = [call(f"calc__{name}", a=7.5, b=2) for name in ("add", "subtract", "multiply")]
    run = Run(tmp_path, guide.CALCULATOR, *steps, {"text": "Calculated."})
    assert run.printed == "Calculated.\n"
    assert run.texts == ["7.5 + 2 = 9.5", "7.5 - 2 = 5.5", "7.5 × 2 = 15.0"]


def test_external_servers(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A Python module by its bare command, and an address with a header."""
    (tmp_path / "my_mcp_server.py").write_text(Path(SERVER).read_text())
    programs = tmp_path_factory.mktemp("programs")
    (programs / "python").symlink_to(sys.executable)
    with http_server() as script:
        program = guide.EXTERNAL.replace("https://api.example.com", script.url)
        steps = call("my-server__echo", a=1), call("my-api__echo", b=2), {"text": "Both answered."}
        run = Run(tmp_path, program, *steps, PATH=f"{programs}:{os.environ['PATH']}")
        assert {headers.get("authorization") for headers in script.seen("POST")} == {"Bearer my-token"}
    assert run.printed == "Both answered.\n"
    assert run.texts == ['{"a": 1}', '{"b": 2}']
