"""KillShell: end a command in the background, with everything that came of it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, ToolContext, ToolOutput


class KillShellInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    shell_id: Annotated[str, Meta(description="The ID that Bash gave")]


class KillShell(BuiltinTool):
    name = "KillShell"
    description = "Ends a command in the background and every process that came of it."
    Input = KillShellInput
    field_aliases = MappingProxyType({"task_id": "shell_id", "bash_id": "shell_id"})
    timeout = None

    async def perform(self, parsed: KillShellInput, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        shell = workspace.commands.shell(parsed.shell_id)
        was_running, shell.told = shell.running, True
        ended = await workspace.commands.end(shell)
        processes = f"{ended} process{'' if ended == 1 else 'es'}"
        if was_running:
            message = f"Ended {shell.id} ({processes}): {shell.command}"
        elif ended:
            message = f"{shell.id} had ended before (exit code {shell.exit_code}); {processes} it had left running ended."
        else:
            message = f"{shell.id} had ended before (exit code {shell.exit_code}): there was nothing to end."
        structured = {"message": message, "task_id": shell.id, "task_type": "local_bash", "command": shell.command}
        return ToolOutput(f"{message}\n[log: {shell.log.path}, {shell.log.size:,} bytes]", structured)
