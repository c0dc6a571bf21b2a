"""A command-line program that speaks the protocol and does what its prompts say: a stand-in for tests of the client.

Run as a script it talks over stdin and stdout; `FakeSession` is the same thing without input and output, for in-memory tests.
A prompt is one command: `say TEXT`, `ask`, `hook ID`, `tool SERVER JSON`, `wait`, `fail`, `die`, `raw TEXT`, `many N`, `big N`,
`grumble N`, `vanish`, `stubborn`, `merge`; any other is answered with the next text of its script. No dependencies: it must
start fast.
"""

import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Generator
from typing import Any

Frame = dict[str, Any]
Turn = Generator[Frame, Frame, None]


def text(content: str) -> Frame:
    message = {"id": "msg_1", "model": "fake", "role": "assistant", "content": [{"type": "text", "text": content}]}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s", "uuid": "u"}


def result(content: str, **fields: Any) -> Frame:
    times = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
    return {"type": "result", "subtype": "success", "is_error": False, "session_id": "s", "result": content, **times, **fields}


def failure(*errors: str) -> Frame:
    frame = result("", subtype="error_during_execution", is_error=True, errors=list(errors))
    del frame["result"]
    return frame


def state(name: str) -> Frame:
    return {"type": "system", "subtype": "session_state_changed", "state": name, "sdk_host_only": True, "session_id": "s"}


def asked(subtype: str, **fields: Any) -> Frame:
    return {"type": "control_request", "request_id": f"cli-{subtype}", "request": {"subtype": subtype, **fields}}


class FakeSession:
    """Give it a frame, get the frames it answers with. Keys with a `!` are deeds of the process, not frames."""

    def __init__(self, *, tells_state: bool = True, arguments: tuple[str, ...] = (), script: tuple[Frame, ...] = ()) -> None:
        self.script = deque(script)
        self.tells_state = tells_state
        self.arguments = arguments
        self.queue: deque[str] = deque()
        self.turn: Turn | None = None
        self.failed = False
        self.interrupted = False

    def receive(self, frame: Frame) -> list[Frame]:
        match frame["type"]:
            case "user":
                self.queue.append(frame["message"]["content"])
                return self.play({}) if self.turn is None else []
            case "control_request":
                return self.answered(frame["request_id"], frame["request"])
            case "control_response":
                return self.play(frame["response"]) if self.turn is not None else []
        return []

    def answered(self, request_id: str, request: Frame) -> list[Frame]:
        subtype = request["subtype"]
        if subtype == "set_model" and request["model"] == "bad":
            error = {"subtype": "error", "request_id": request_id, "error": "no such model", "error_code": "invalid_model"}
            return [{"type": "control_response", "response": error}]
        if subtype == "mcp_status" and self.arguments[-1:] == ("silent",):
            return []
        response = {"pid": os.getpid(), "arguments": list(self.arguments), "saw": request, "hook_on_failure_supported": True}
        done = {"subtype": "success", "request_id": request_id, "response": response}
        frames: list[Frame] = [{"type": "control_response", "response": done}]
        if subtype == "interrupt" and self.turn is not None:
            frames += self.play({"interrupted": True})
        return frames

    def play(self, answer: Frame) -> list[Frame]:
        """Go on with the turn until it asks something, then with the queue."""
        out: list[Frame] = []
        while self.turn is not None or self.queue:
            if self.turn is None:
                self.turn = self.run(self.queue.popleft())
                out += [state("running")] if self.tells_state else []
                frame = next(self.turn, None)
            else:
                try:
                    frame = self.turn.send(answer)
                except StopIteration:
                    frame = None
            while frame is not None and not frame.get("request_id") and "!wait" not in frame:
                out.append(frame)
                self.failed = frame.get("is_error", self.failed)
                frame = next(self.turn, None)
            if frame is not None:
                return [*out, *([frame] if frame.get("request_id") else [])]
            self.turn = None
        return [*out, *([state("idle")] if self.tells_state else [])]

    def run(self, prompt: str) -> Turn:
        verb, _, rest = prompt.partition(" ")
        yield {"type": "system", "subtype": "init", "session_id": "s", "uuid": "u", "cwd": os.getcwd(), "model": "fake"}
        match verb:
            case "say":
                yield text(rest)
            case "ask":
                updates = [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
                request = asked("can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="t1", title="Run ls")
                request["request"]["permission_suggestions"] = updates
                answer = yield request
                yield text(json.dumps(answer.get("response") or answer.get("error"), sort_keys=True))
            case "hook":
                answer = yield asked("hook_callback", callback_id=rest, input={"hook_event_name": "Stop"}, tool_use_id=None)
                yield text(json.dumps(answer.get("response") or answer.get("error"), sort_keys=True))
            case "tool":
                server, _, message = rest.partition(" ")
                answer = yield asked("mcp_message", server_name=server, message=json.loads(message))
                yield text(json.dumps(answer["response"]["mcp_response"], sort_keys=True))
            case "wait":
                yield text("waiting")
                yield {"!wait": True}
                yield failure("interrupted")
                return
            case "fail":
                yield failure(rest or "it failed")
                return
            case "many":
                for number in range(int(rest)):
                    yield text(str(number))
            case "big":
                yield text("x" * int(rest))
            case "die" | "vanish" | "raw" | "grumble" | "stubborn" | "fork":
                yield {f"!{verb}": rest}
            case "merge":
                self.queue.clear()
            case _ if self.script:
                rest = self.script.popleft()["text"]
                yield text(rest)
        yield result(rest)


def do(deed: Frame) -> None:
    """The deeds that only a process can do."""
    match next(iter(deed.items())):
        case ("!die", _):
            print("first words\nlast words", file=sys.stderr, flush=True)
            os._exit(3)
        case ("!vanish", _):
            os._exit(0)
        case ("!raw", line):
            print(line, flush=True)
        case ("!grumble", count):
            for number in range(int(count)):
                print(f"line {number}", file=sys.stderr, flush=True)
        case ("!stubborn", _):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case ("!fork", seconds):
            if os.fork() == 0:
                time.sleep(float(seconds))
                os._exit(0)


def main() -> int:
    script = json.loads(sys.argv[sys.argv.index("--script") + 1]) if "--script" in sys.argv else ()
    session = FakeSession(tells_state="--no-state" not in sys.argv, arguments=tuple(sys.argv[1:]), script=tuple(script))
    stubborn = False
    for line in sys.stdin:
        for frame in session.receive(json.loads(line)):
            if next(iter(frame)).startswith("!"):
                stubborn = stubborn or "!stubborn" in frame
                do(frame)
            else:
                sys.stdout.write(json.dumps(frame) + "\n")
        sys.stdout.flush()
    while stubborn:
        time.sleep(60)
    return 1 if session.failed else 0


if __name__ == "__main__":
    sys.exit(main())
