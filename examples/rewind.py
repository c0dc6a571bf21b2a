"""File checkpoints: let the agent change files, take it back, and take that back.

Runs without a key on the scripted model below; set TOOLWRIGHT_MODEL (claude-…, openai:…) to let a real one do the work.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import anyio

from toolwright import ClaudeAgentOptions, ClaudeSDKClient, UserMessage
from toolwright.testing import Call, Say, ScriptedModel

SCRIPT = ScriptedModel(
    [
        Call("Read", {"file_path": "greeting.txt"}),
        Call("Edit", {"file_path": "greeting.txt", "old_string": "Hello", "new_string": "Good evening"}),
        Call("Write", {"file_path": "notes/todo.txt", "content": "Translate the greeting.\n"}),
        Say("The greeting is polite now, and there is a note about what is left to do."),
    ]
)


async def prompt_id(client: ClaudeSDKClient, prompt: str) -> str:
    """Ask, and give the id of the prompt: it comes back with one, because of --replay-user-messages."""
    await client.query(prompt)
    messages = [message async for message in client.receive_response()]
    return next(str(message.uuid) for message in messages if isinstance(message, UserMessage))


def show(title: str, folder: Path) -> None:
    print(title)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        print(f"  {path.relative_to(folder)}: {path.read_text().strip()}")


async def main() -> None:
    model: Any = os.environ.get("TOOLWRIGHT_MODEL") or SCRIPT
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "greeting.txt").write_text("Hello, world.\n")
        options = ClaudeAgentOptions(
            model=model,
            cwd=folder,
            permission_mode="acceptEdits",
            enable_file_checkpointing=True,
            extra_args={"replay-user-messages": None},
        )
        async with ClaudeSDKClient(options) as client:
            prompt = await prompt_id(client, "Make greeting.txt more polite, and note in notes/todo.txt what is left to do.")
            show("The agent's work:", folder)

            told = await client.rewind_files(prompt)
            show(f"Rewound ({len(told['filesChanged'])} files, +{told['insertions']} -{told['deletions']} lines):", folder)

            await client.rewind_files(told["undoId"])
            show("And the rewind undone:", folder)


if __name__ == "__main__":
    anyio.run(main)
