"""Commands in a sandbox: what they may touch is held by the kernel, whatever the model runs.

Runs without a key on the scripted model below; set TOOLWRIGHT_MODEL (claude-…, openai:…) to ask a real one. Needs bubblewrap,
or a kernel with Landlock; `toolwright doctor` tells.
"""

import os
import tempfile

import anyio

from toolwright import AssistantMessage, ClaudeAgentOptions, ToolResultBlock, ToolUseBlock, UserMessage, query
from toolwright.testing import Call, Say, ScriptedModel

SCRIPT = ScriptedModel(
    [
        Call("Bash", {"command": "mkdir build && echo built > build/out && cat build/out"}),
        Call("Bash", {"command": """python3 -c 'print(open("." + "env").read())' 2>&1 | tail -1"""}),  # only a kernel sees this
        Call("Bash", {"command": 'touch "$HOME/planted"'}),
        Say("Built; the rest was kept from me."),
    ]
)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        await anyio.Path(folder, ".env").write_text("PASSWORD=hunter2\n")
        options = ClaudeAgentOptions(
            cwd=folder,
            model=os.environ.get("TOOLWRIGHT_MODEL") or SCRIPT,
            sandbox={"enabled": True},  # such commands run unasked: they cannot do harm outside
            disallowed_tools=["Read(**/.env)"],  # holds for Read, and for what commands open
        )
        async for message in query(prompt="Build it, and see what you can reach.", options=options):
            if isinstance(message, AssistantMessage | UserMessage) and isinstance(message.content, list):
                for block in message.content:
                    if isinstance(block, ToolUseBlock):
                        print("$", block.input["command"])
                    elif isinstance(block, ToolResultBlock):
                        print(str(block.content).partition("\n[")[0])


anyio.run(main)
