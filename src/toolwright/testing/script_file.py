"""Scripts for the model server from a JSON file: `{"steps": [...], "repeat": true}`, or `{"tool_turns": {...}}`.

A step is `{"text": …, "calls": [{"name", "input", "id"}], "thinking": …, "usage": …, "model": …, "stop_reason": …}`,
`{"status": 529, "headers": {…}, "body": …}`, or `{"fault": name, …}` with a fault of `messages_dialect` and its arguments.
`tool_turns` is `{"call": {…}, "text": …, "turns": n}`: it serves any number of sessions, for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolwright.testing import messages_dialect as dialect
from toolwright.testing.model_server import ModelServer, Script
from toolwright.testing.steps import Status, Step

FAULTS = ("reset_mid_stream", "cut_mid_chunk", "stall", "end_without_stop", "only_pings", "error_inside")


def read_script(path: str | Path) -> tuple[Script, bool]:
    """The script in the file, and whether it repeats."""
    content = msgspec.json.decode(Path(path).read_bytes())
    if "tool_turns" in content:
        turns = dict(content["tool_turns"])
        return dialect.tool_turns(dialect.ToolCall(**turns.pop("call")), turns.pop("text", "done"), **turns), False
    return [step_from(step) for step in content["steps"]], bool(content.get("repeat", False))


def step_from(step: Mapping[str, Any]) -> Step:
    given = dict(step)
    if "fault" in given:
        name = given.pop("fault")
        if name not in FAULTS:
            raise ValueError(f"There is no fault {name!r}; there are {', '.join(FAULTS)}.")
        made: Step = getattr(dialect, name)(**given)
        return made
    if "status" in given:
        return Status(given.pop("status"), **given)
    calls = [dialect.ToolCall(**call) for call in given.pop("calls", [])]
    return dialect.answer(given.pop("text", ""), *calls, **given)


def main() -> None:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m toolwright.testing.model_server", description="A scripted model server.")
    parser.add_argument("script", help="a JSON file with the steps")
    parser.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1 (default: any that is free)")
    options = parser.parse_args()
    script, repeat = read_script(options.script)
    server = ModelServer(script, repeat=repeat, port=options.port, keep=0)
    print(f"listening on {server.url}", flush=True)
    try:
        server.serve()
    except KeyboardInterrupt:
        pass
