"""Plan mode with a person behind it: a question is answered, a plan is changed and approved, then the work is done.

Runs without a key on the scripted model below; set TOOLWRIGHT_MODEL (claude-…, openai:…) to ask a real one.
"""

import os
import tempfile
from typing import Any

import anyio

from toolwright import (
    ClaudeAgentOptions,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    ToolPermissionContext,
    query,
)
from toolwright.testing import Call, Say, ScriptedModel

QUESTION = {
    "question": "Which language?",
    "header": "Language",
    "options": [{"label": "English", "description": "Hello"}, {"label": "Italian", "description": "Ciao"}],
}
SCRIPT = ScriptedModel(
    [
        Call("AskUserQuestion", {"questions": [QUESTION]}),
        Call("ExitPlanMode", {"plan": "1. Write greeting.txt"}),
        Call("Write", {"file_path": "greeting.txt", "content": "Ciao!\n"}),
        Say("The greeting is written."),
    ]
)
ACCEPT_EDITS = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")


async def person(
    name: str, given: dict[str, Any], context: ToolPermissionContext
) -> PermissionResultAllow | PermissionResultDeny:
    print(context.title)
    if name == "AskUserQuestion":
        answers = {question["question"]: question["options"][-1]["label"] for question in given["questions"]}
        return PermissionResultAllow(updated_input={**given, "answers": answers})
    if name == "ExitPlanMode":
        changed = {"plan": given["plan"] + "\n2. Read it once more"}
        return PermissionResultAllow(updated_input=changed, updated_permissions=[ACCEPT_EDITS])
    return PermissionResultDeny(message="Only what was planned, please.")


async def main() -> None:
    model: Any = os.environ.get("TOOLWRIGHT_MODEL") or SCRIPT
    with tempfile.TemporaryDirectory() as folder:
        options = ClaudeAgentOptions(model=model, cwd=folder, permission_mode="plan", can_use_tool=person)
        async for message in query(prompt="Write a greeting. Ask me in which language.", options=options):
            if isinstance(message, ResultMessage):
                print(message.result)
        print("files:", os.listdir(folder))


if __name__ == "__main__":
    anyio.run(main)
