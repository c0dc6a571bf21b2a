"""Two runtimes beside each other: the same conversation with each, and what could be seen of it as comparable lines.

The original is the command that the published SDK brings along. It is used as a black box, on loopback only: it talks to a
scripted server, its home is a folder of the test, and everything it would send elsewhere is switched off.
"""

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from difflib import ndiff
from pathlib import Path
from typing import Any

import anyio
import claude_agent_sdk
from anyio.streams.text import TextReceiveStream
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKError, ResultError, query
from published import OUR_COMMAND, Place

from toolwright.testing import ModelServer, ReceivedRequest, Status
from toolwright.testing.steps import Raw, Step

ORIGINAL_COMMAND = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
COMMANDS = {"theirs": ORIGINAL_COMMAND, "ours": OUR_COMMAND}
TAP = Path(__file__).with_name("wire_tap.py")
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_AGENT_SDK_SKIP_VERSION_CHECK": "1",
    "IS_SANDBOX": "1",
}

CLI_FLAGS = ("--output-format", "stream-json", "--verbose", "--system-prompt", "", "--input-format", "stream-json")

Frame = dict[str, Any]


class Run:
    """One conversation with one runtime, every line between it and the SDK written down."""

    def __init__(self, folder: Path, command: Path, server: ModelServer) -> None:
        folder.mkdir(parents=True)
        tap = folder / "tap"
        tap.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{TAP}" "$@"\n')
        tap.chmod(0o755)
        self.place = Place(folder / "place", tap)
        self.server = server
        self._log = folder / "lines.txt"
        self._env = {**QUIET, "WIRE_TAP_COMMAND": str(command), "WIRE_TAP_LOG": str(self._log)}
        self.notes: list[str] = []

    def options(self, **more: Any) -> ClaudeAgentOptions:
        return self.place.options(server=self.server, env={**self._env, **more.pop("env", {})}, **more)

    def note(self, *words: object) -> None:
        """Write down something that must be the same with both."""
        self.notes.append(" ".join(map(str, words)))

    async def ask(self, prompt: Any = "go", **more: Any) -> list[Any]:
        """A whole query; how it fails is noted."""
        messages: list[Any] = []
        try:
            async for message in query(prompt=prompt, options=self.options(**more)):
                messages.append(message)
        except ResultError as error:
            self.note("raised ResultError", error.subtype, error.api_error_status, bool(error.errors), bool(error.result))
        except ClaudeSDKError as error:
            self.note("raised", type(error).__name__)
        return messages

    async def control(self, *requests: Frame) -> None:
        """Control requests without the SDK, one after the other, then the end of input; the exit code is noted."""
        options = self.options()
        command = [str(options.cli_path), *CLI_FLAGS, "--model", str(options.model)]
        env = {**os.environ, **options.env}
        async with await anyio.open_process(command, cwd=options.cwd, env=env, stderr=None) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            replies = TextReceiveStream(process.stdout)
            for number, request in enumerate(requests):
                frame = {"type": "control_request", "request_id": str(number), "request": request}
                await process.stdin.send(json.dumps(frame).encode() + b"\n")
                await until(replies, f'"request_id":"{number}"')
            await process.stdin.aclose()
            self.note("exit code", await process.wait())

    def frames(self) -> list[tuple[str, Frame]]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [(line[0], json.loads(line[2:])) for line in lines if line[2:3] == "{"]


async def until(stream: TextReceiveStream, wanted: str) -> None:
    seen = ""
    while wanted not in seen:
        seen += await stream.receive()


@dataclass(frozen=True)
class Conversation:
    """`script` gives the model's steps, `talk` is the program; `words` are texts that must show, whoever words the rest."""

    name: str
    talk: Callable[[Run], Awaitable[None]]
    script: Callable[[], list[Step] | Callable[[ReceivedRequest], Step]]
    words: tuple[str, ...] = ()

    async def hold(self, folder: Path, command: Path) -> list[str]:
        steps = self.script()
        with ModelServer(steps if callable(steps) else main_requests(steps)) as server:
            run = Run(folder, command, server)
            await self.talk(run)
        return list(Lines(run, self.words).all())


def main_requests(steps: list[Step]) -> Callable[[ReceivedRequest], Step]:
    """The steps for the requests of the conversation itself; others (counting tokens, trying a model) get a plain answer."""
    left = list(steps)

    def choose(request: ReceivedRequest) -> Step:
        if "count_tokens" in request.path:
            return json_answer({"input_tokens": 10})
        if not request.json.get("stream"):
            return side_answer(request)
        return left.pop(0) if left else Status(500, {"x-should-retry": "false"})

    return choose


def side_answer(request: ReceivedRequest) -> Raw:
    """For a request that is not part of the conversation."""
    return json_answer(
        {
            "id": "msg_side",
            "type": "message",
            "role": "assistant",
            "model": request.json["model"],
            "content": [{"type": "text", "text": "ok"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


def json_answer(value: Any) -> Raw:
    return Raw([json.dumps(value).encode()], {"content-type": "application/json"})


ENDS = (
    "subtype",
    "is_error",
    "num_turns",
    "terminal_reason",
    "stop_reason",
    "permission_denials",
    "structured_output",
    "api_error_status",
    "total_cost_usd",
)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
REPLIES_BY_KEYS = ("initialize", "get_context_usage")


@dataclass
class Lines:
    """A run as lines: first what happened, in order; then the states, the answers to controls, and the keys of everything."""

    run: Run
    words: tuple[str, ...]
    keys: set[str] = field(default_factory=set)
    states: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    questions: dict[str, Frame] = field(default_factory=dict)

    def all(self) -> Iterator[str]:
        folder = str(self.run.place.folder)
        for line in self._all():
            yield UUID.sub("UUID", line.replace(folder, "FOLDER"))

    def _all(self) -> Iterator[str]:
        for direction, frame in self.run.frames():
            if direction == "<":
                yield from self._said(frame)
            elif frame["type"] == "control_request":
                self.questions[frame["request_id"]] = frame["request"]
        yield "states " + " ".join(self.states)
        yield from self.replies
        yield from sorted(self.withdrawn)
        yield from (f"note {note}" for note in self.run.notes)
        yield from sorted(self.keys)

    def _said(self, frame: Frame) -> Iterator[str]:
        match frame["type"]:
            case "control_request":
                self.questions[frame["request_id"]] = frame["request"]
                yield from self._asked(frame["request"])
            case "control_response":
                self.replies += self._replied(frame["response"])
            case "control_cancel_request":
                self.withdrawn.append(f"withdrawn {self.questions[frame['request_id']]['subtype']}")
            case "system":
                yield from self._system(frame)
            case "assistant" | "user":
                self._keep_keys(frame["type"], frame)
                yield from self._blocks(frame)
            case "stream_event":
                self._keep_keys("stream_event", frame)
                yield f"event {frame['event']['type']}"
            case "result":
                yield from self._result(frame)
            case other:
                yield f"frame {other}"

    def _system(self, frame: Frame) -> Iterator[str]:
        if frame["subtype"] == "session_state_changed":
            if self.states[-1:] != [frame["state"]]:
                self.states.append(frame["state"])
            return
        self._keep_keys(f"system/{frame['subtype']}", frame)
        yield f"system/{frame['subtype']}"

    def _asked(self, request: Frame) -> Iterator[str]:
        match request["subtype"]:
            case "hook_callback":
                payload = request["input"]
                self._keep_keys(payload["hook_event_name"], payload)
                shown = {name: payload[name] for name in ("tool_input", "prompt", "stop_hook_active") if name in payload}
                yield f"hook {payload['hook_event_name']} {payload.get('tool_name', '')} {as_json(shown)}"
            case "can_use_tool":
                self._keep_keys("can_use_tool", request)
                kinds = [update["type"] for update in request.get("permission_suggestions", ())]
                yield f"ask {request['tool_name']} {as_json(request['input'])}"
                yield f"suggests {request['tool_name']} {' '.join(kinds)}"
            case "mcp_message":
                method = request["message"].get("method")
                if method == "tools/call":
                    params = request["message"]["params"]
                    yield f"tool {request['server_name']} {params['name']} {as_json(params['arguments'])}"
                elif method == "notifications/cancelled":
                    self.withdrawn.append(f"withdrawn call of {request['server_name']}")
            case other:
                yield f"asked {other}"

    def _replied(self, response: Frame) -> list[str]:
        subtype = self.questions[response["request_id"]]["subtype"]
        if response["subtype"] == "error":
            return [f"reply {subtype} error {response.get('error_code', '')} {self._shown(response['error'])}"]
        if subtype in REPLIES_BY_KEYS:
            self._keep_keys(f"reply {subtype}", response["response"])
            return [f"reply {subtype} success"]
        if subtype == "mcp_status":
            rows = [(row["name"], row["status"]) for row in response["response"]["mcpServers"]]
            return [f"reply mcp_status {rows}"]
        return [f"reply {subtype} success {as_json(response.get('response'))}"]

    def _blocks(self, frame: Frame) -> Iterator[str]:
        content = frame["message"]["content"]
        flags = "".join(f" {flag}" for flag in ("isReplay", "isSynthetic", "aborted", "error") if frame.get(flag))
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            yield self._block(frame, block) + flags

    def _block(self, frame: Frame, block: Frame) -> str:
        match block["type"]:
            case "tool_use":
                return f"call {block['id']} {block['name']} {as_json(block['input'])}"
            case "tool_result":
                told = frame.get("tool_use_result")
                kind = "text" if isinstance(told, str) else type(told).__name__
                outcome = "error" if block.get("is_error") else "good"
                return f"result {block['tool_use_id']} {outcome} {self._shown(as_json(block['content']))} told as {kind}"
            case "text" if frame["type"] == "user" or frame.get("error"):
                return f"{frame['type']} text {self._shown(block['text'])}"
            case kind:
                return f"{frame['type']} {kind} {block.get('text') or block.get('thinking')}"

    def _result(self, frame: Frame) -> Iterator[str]:
        self._keep_keys("end", frame)
        for name in ENDS:
            value = frame.get(name)
            if name == "total_cost_usd" and value is not None:
                value = round(value, 9)
            yield f"end {name} {as_json(value)}"
        yield f"end result {self._shown(frame['result']) if 'result' in frame else 'absent'}"
        yield f"end errors {len(frame['errors']) if 'errors' in frame else 'absent'}"

    def _shown(self, text: str) -> str:
        """Those of the conversation's words that the text holds; how the rest is worded is each runtime's own business."""
        return " ".join(f"'{word}'" for word in self.words if word in text) or "…"

    def _keep_keys(self, where: str, holder: Frame) -> None:
        self.keys |= {f"key {where}: {key}" for key in holder}


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def differences(theirs: list[str], ours: list[str]) -> list[str]:
    """Lines that only one of them has: `- …` theirs, `+ …` ours. Keys are compared of things that both have."""
    shared = holders(theirs) & holders(ours)
    return [line for line in ndiff(theirs, ours) if line[:2] in ("- ", "+ ") and holders([line[2:]]) <= shared]


def holders(lines: list[str]) -> set[str]:
    """What keys are told of, in lines like `key system/init: tools`."""
    return {line.partition(": ")[0] for line in lines if line.startswith("key ")}
