"""A conversation of several turns: ask, be asked for permission, interrupt, ask again.

Runs without a key on the scripted model below; set TOOLWRIGHT_MODEL (claude-…, openai:…) to talk to a real one.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import anyio

from toolwright import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    TextBlock,
    ToolPermissionContext,
)
from toolwright.testing import Call, Say, ScriptedModel, Wait

SCRIPT = ScriptedModel(
    [
        [Say("I leave a note."), Call("Write", {"file_path": "note.txt", "content": "Buy milk.\n"})],
        Say("The note is written."),
        [Say("I look at the list."), Call("Read", {"file_path": "../list.txt"})],
        Say("Milk is on the list already."),
        [Say("And now I count to a million: one, two, three"), Wait(3600)],
        Say("I have stopped counting."),
    ]
)


async def only_notes(name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
    """The person at the gate: to write notes and to read the list is fine, nothing else is.

    The list lies outside the session's folder. The question says where a path really leads, and a yes opens exactly that.
    """
    print(f"  [asked] {name} {given}: {context.decision_reason}")
    if name == "Write" and str(given["file_path"]).endswith("note.txt"):
        return PermissionResultAllow()
    if name == "Read" and str(context.blocked_path).endswith("list.txt"):
        return PermissionResultAllow()
    return PermissionResultDeny(message="Only notes may be written, and only the list may be read.")


async def hear(client: ClaudeSDKClient) -> None:
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, TextBlock):
                    print(f"  {block.text}")
        elif isinstance(message, ResultMessage):
            print(f"  [{message.subtype}]")


def furnished(home: str) -> Path:
    """A folder to work in, and a list beside it."""
    Path(home, "list.txt").write_text("Bread\nMilk\n")
    folder = Path(home, "notes")
    folder.mkdir()
    return folder


async def main() -> None:
    model: Any = os.environ.get("TOOLWRIGHT_MODEL") or SCRIPT
    with tempfile.TemporaryDirectory() as home:
        options = ClaudeAgentOptions(model=model, cwd=furnished(home), can_use_tool=only_notes)
        async with ClaudeSDKClient(options) as client:
            print("Leave a note that says we need milk.")
            await client.query("Leave a note that says we need milk.")
            await hear(client)

            print("Is milk on ../list.txt?")
            await client.query("Is milk on ../list.txt?")
            await hear(client)

            print("Count to a million.")
            await client.query("Count to a million.")
            async with anyio.create_task_group() as group:
                group.start_soon(hear, client)
                await anyio.sleep(0.3)
                await client.interrupt()

            print("Did you stop?")
            await client.query("Did you stop?")
            await hear(client)


if __name__ == "__main__":
    anyio.run(main)
