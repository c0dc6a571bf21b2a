"""Hooks in settings: shell commands that guard and watch a session, as a settings file would name them.

Runs without a key on the scripted model below; set TOOLWRIGHT_MODEL (claude-…, openai:…) to ask a real one.
"""

import json
import os
import tempfile
from typing import Any

import anyio

from toolwright import ClaudeAgentOptions, HookEventMessage, ResultMessage, query
from toolwright.testing import Call, Say, ScriptedModel

SCRIPT = ScriptedModel(
    [
        Call("Write", {"file_path": "notes/today.md", "content": "All well.\n"}),
        Call("Write", {"file_path": "release.lock", "content": ""}),
        Say("The note is written; the lock is not mine to touch."),
    ]
)

GUARD = "echo 'Lock files are made by the release script.' >&2; exit 2"
LOG = "cat >> ../calls.jsonl"

SETTINGS = {
    "hooks": {
        "SessionStart": [{"hooks": [{"type": "command", "command": "echo Notes go to the folder notes."}]}],
        "PreToolUse": [{"hooks": [{"type": "command", "command": GUARD, "if": "Edit(*.lock)"}]}],
        "PostToolUse": [{"matcher": "Write|Edit", "hooks": [{"type": "command", "command": LOG}]}],
    }
}


async def main() -> None:
    model: Any = os.environ.get("TOOLWRIGHT_MODEL") or SCRIPT
    with tempfile.TemporaryDirectory() as folder:
        workspace = os.path.join(folder, "workspace")
        os.mkdir(workspace)
        options = ClaudeAgentOptions(
            model=model,
            cwd=workspace,
            permission_mode="acceptEdits",
            settings=json.dumps(SETTINGS),
            include_hook_events=True,
        )
        async for message in query(prompt="Write today's note and lock the release.", options=options):
            if isinstance(message, HookEventMessage) and message.subtype == "hook_response":
                print(f"[{message.data['hook_name']}] {message.data['outcome']} {message.data['output'].strip()}".rstrip())
            elif isinstance(message, ResultMessage):
                print(message.result)
        log = await anyio.Path(folder, "calls.jsonl").read_text()
        print(f"logged: {[json.loads(line)['tool_name'] for line in log.splitlines()]}")
        print(f"files: {sorted(os.listdir(workspace))}")


if __name__ == "__main__":
    anyio.run(main)
