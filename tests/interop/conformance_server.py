"""A server made of `toolwright.mcp.server` with the tools that the official conformance suite asks for.

Prints its URL, then serves until its input ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from toolwright.cli.stdio import read_all
from toolwright.mcp.results import CallResult, error_result
from toolwright.mcp.server.access import Access, hosts_of
from toolwright.mcp.server.http_endpoint import Endpoint
from toolwright.mcp.server.http_server import listen, port_of, serve_http
from toolwright.mcp.server.tool_provider import CannotAsk, RunningCall
from toolwright.mcp.tool_server import ServedTool

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=="
NOTHING = {"type": "object", "properties": {}}
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), start=1)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

Run = Callable[[dict[str, Any], RunningCall], Awaitable[CallResult]]


def text(words: str) -> CallResult:
    return {"content": [{"type": "text", "text": words}]}


def embedded(uri: str, media_type: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": words}}


def giving(*blocks: dict[str, Any]) -> Run:
    async def run(arguments: dict[str, Any], call: RunningCall) -> CallResult:
        return {"content": list(blocks)}

    return run


async def log(arguments: dict[str, Any], call: RunningCall) -> CallResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await call.log("info", words)
        await anyio.sleep(0.05)
    return text("done")


async def progress(arguments: dict[str, Any], call: RunningCall) -> CallResult:
    for done in (0, 50, 100):
        await call.progress(done, total=100)
        await anyio.sleep(0.05)
    return text("done")


async def fail(arguments: dict[str, Any], call: RunningCall) -> CallResult:
    return error_result("This tool intentionally returns an error for testing")


async def sample(arguments: dict[str, Any], call: RunningCall) -> CallResult:
    message = {"role": "user", "content": {"type": "text", "text": arguments["prompt"]}}
    answer = await call.ask({"sample": ("sampling/createMessage", {"messages": [message], "maxTokens": 100})})
    return text(f"LLM response: {answer['sample']['content'].get('text')}")


def asking(properties: dict[str, Any], required: list[str]) -> Run:
    async def run(arguments: dict[str, Any], call: RunningCall) -> CallResult:
        schema = {"type": "object", "properties": properties, "required": required}
        message = arguments.get("message", "Please answer.")
        answer = (await call.ask({"ask": ("elicitation/create", {"message": message, "requestedSchema": schema})}))["ask"]
        said = f"action={answer.get('action')}, content={json.dumps(answer.get('content'))}"
        return text(f"Elicitation completed: {said}. User response: {said}")

    return run


def form(message: str, name: str, kind: str = "string") -> tuple[str, dict[str, Any]]:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return "elicitation/create", {"message": message, "requestedSchema": schema}


def completion(words: str) -> tuple[str, dict[str, Any]]:
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return "sampling/createMessage", {"messages": [message], "maxTokens": 100}


ROOTS: tuple[str, dict[str, Any]] = ("roots/list", {})


def wanting(*rounds: dict[str, tuple[str, dict[str, Any]]]) -> Run:
    """Ask in rounds, then tell everything that was answered."""

    async def run(arguments: dict[str, Any], call: RunningCall) -> CallResult:
        answers: dict[str, Any] = {}
        for questions in rounds:
            answers |= await call.ask(questions)
        return text(f"state-ok {json.dumps(answers)}")

    return run


async def sample_or_ask(arguments: dict[str, Any], call: RunningCall) -> CallResult:
    try:
        return text(json.dumps(await call.ask({"name": form("Name?", "name")})))
    except CannotAsk:
        return text(json.dumps(await call.ask({"name": completion("Name?")})))


def needing(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


USER = {"username": {"type": "string"}, "email": {"type": "string"}}
MIXED = (
    {"type": "text", "text": "Multiple content types test:"},
    IMAGE,
    embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
)
TOOLS: dict[str, tuple[dict[str, Any], Run]] = {
    "test_simple_text": (NOTHING, giving({"type": "text", "text": "This is a simple text response for testing."})),
    "test_image_content": (NOTHING, giving(IMAGE)),
    "test_audio_content": (NOTHING, giving({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"})),
    "test_embedded_resource": (
        NOTHING,
        giving(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    "test_multiple_content_types": (NOTHING, giving(*MIXED)),
    "test_tool_with_logging": (NOTHING, log),
    "test_tool_with_progress": (NOTHING, progress),
    "test_error_handling": (NOTHING, fail),
    "test_sampling": (needing("prompt"), sample),
    "test_elicitation": (needing("message"), asking(USER, ["username", "email"])),
    "test_elicitation_sep1034_defaults": (NOTHING, asking(DEFAULTS, [])),
    "test_elicitation_sep1330_enums": (NOTHING, asking(ENUMS, [])),
    "test_logging_tool": (NOTHING, log),
    "test_missing_capability": (NOTHING, wanting({"needed": completion("Hello")})),
    "test_streaming_elicitation": (NOTHING, wanting({"user_name": form("What is your name?", "name")})),
    "test_input_required_result_elicitation": (NOTHING, wanting({"user_name": form("What is your name?", "name")})),
    "test_input_required_result_sampling": (
        NOTHING,
        wanting({"capital_question": completion("What is the capital of France?")}),
    ),
    "test_input_required_result_list_roots": (NOTHING, wanting({"client_roots": ROOTS})),
    "test_input_required_result_request_state": (NOTHING, wanting({"confirm": form("Please confirm", "ok", "boolean")})),
    "test_input_required_result_tampered_state": (NOTHING, wanting({"confirm": form("Please confirm", "ok", "boolean")})),
    "test_input_required_result_multi_round": (
        NOTHING,
        wanting({"step1": form("Step 1: What is your name?", "name")}, {"step2": form("Step 2: Which color?", "color")}),
    ),
    "test_input_required_result_multiple_inputs": (
        NOTHING,
        wanting({"user_name": form("Name?", "name"), "greeting": completion("Generate a greeting"), "client_roots": ROOTS}),
    ),
    "test_input_required_result_capabilities": (NOTHING, sample_or_ask),
    "json_schema_2020_12_tool": (SCHEMA_2020, giving({"type": "text", "text": "ok"})),
}


class ConformanceTools:
    """Implements `Offer`."""

    name, version, instructions = "conformance", "1.0.0", ""

    async def list_tools(self) -> list[ServedTool]:
        return [ServedTool(name, f"For the scenario of {name}.", schema) for name, (schema, _) in TOOLS.items()]

    async def call_tool(self, name: str, arguments: dict[str, Any], call: RunningCall) -> CallResult:
        return await TOOLS[name][1](arguments, call)

    async def aclose(self) -> None:
        return None


async def open_offer() -> ConformanceTools:
    return ConformanceTools()


async def main() -> None:
    listener = await listen("127.0.0.1", 0)
    port = port_of(listener)
    endpoint = Endpoint(open_offer, Access((), hosts_of("127.0.0.1", port)))
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    async with anyio.create_task_group() as group:
        group.start_soon(serve_http, listener, endpoint.serve, endpoint.room)
        await read_all(0)
        group.cancel_scope.cancel()
    await endpoint.aclose()


if __name__ == "__main__":
    sys.exit(anyio.run(main))
