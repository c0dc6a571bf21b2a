#!/usr/bin/env python3
"""Stands in for the command that an SDK starts: writes down how it was started and what it was told, and answers at once."""

import json
import os
import sys

NOTHING: dict = {"commands": [], "models": [], "agents": [], "account": {}, "hook_on_failure_supported": True}
RESULT = {
    "type": "result", "subtype": "success", "is_error": False, "result": "ok", "session_id": "s", "duration_ms": 1,
    "duration_api_ms": 1,
    "num_turns": 1, "total_cost_usd": 0, "usage": {}, "modelUsage": {}, "permission_denials": [], "uuid": "u",
}  # fmt: skip


def say(frame: dict) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def main() -> None:
    recorded = {"argv": sys.argv[1:], "env": dict(os.environ), "requests": []}
    for line in sys.stdin:
        frame = json.loads(line)
        if frame.get("type") == "control_request":
            recorded["requests"].append(frame["request"])
            answer = {"subtype": "success", "request_id": frame["request_id"], "response": NOTHING}
            say({"type": "control_response", "response": answer})
        if frame.get("type") == "user":
            break
    with open(os.environ["RECORDING_FILE"], "w") as file:
        json.dump(recorded, file)
    say(RESULT)


if sys.argv[1:] in (["-v"], ["--version"]):
    sys.stdout.write("2.9.0 (recording)\n")
else:
    main()
