"""BashOutput: what a command in the background has written since the last look, and how it stands."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from toolwright.processes.output_buffer import OUTPUT_LIMIT, visible
from toolwright.tools.base import BuiltinTool, ToolContext, ToolOutput

if TYPE_CHECKING:
    from toolwright.processes.background import BackgroundShell

DEFAULT_TIMEOUT_MS = 30_000
MAX_TIMEOUT_MS = 600_000
FILTERED_BYTES = 8 << 20
"""How much new output one call puts through its filter."""
NEWLINE = b"\n"


class BashOutputInput(Struct, frozen=True, forbid_unknown_fields=True):
    bash_id: Annotated[str, Meta(description="The ID that Bash gave")]
    filter: Annotated[str, Meta(description="Regular expression: show only lines that match, skip the others")] = ""
    block: Annotated[bool, Meta(description="Wait until the command has ended")] = False
    timeout: Annotated[int, Meta(ge=0, description=f"Milliseconds to wait at most with block, up to {MAX_TIMEOUT_MS}")] = (
        DEFAULT_TIMEOUT_MS
    )


class OutputExcerpt(Struct, frozen=True):
    """What is shown of the new output, and what must be said about the rest."""

    text: str
    notices: tuple[str, ...] = ()


class BashOutput(BuiltinTool):
    name = "BashOutput"
    description = (
        "Shows what a command in the background has written since the last call, whether it still runs, and its exit code. "
        "Everything it wrote stays in its output file, for Read and Grep."
    )
    Input = BashOutputInput
    read_only = True
    field_aliases = MappingProxyType({"task_id": "bash_id", "shell_id": "bash_id"})
    timeout = None

    async def perform(self, parsed: BashOutputInput, context: ToolContext) -> ToolOutput:
        shell = context.workspace.commands.shell(parsed.bash_id)
        milliseconds = min(parsed.timeout, MAX_TIMEOUT_MS)
        if parsed.block:
            await shell.wait(milliseconds / 1000)
        status, ended = shell.status, not shell.running
        look = await _filtered(shell, parsed.filter) if parsed.filter else _look(shell)
        shell.told = shell.told or ended
        waited = f"still running after {milliseconds} ms" if parsed.block and not ended else None
        retrieval = "success" if ended else "timeout" if parsed.block else "not_ready"
        return ToolOutput(_text(shell, look, waited), {"retrieval_status": retrieval, "task": _task(shell, status, look)})


def _look(shell: BackgroundShell) -> OutputExcerpt:
    news = shell.log.read_new(OUTPUT_LIMIT)
    if not news.left_out:
        return OutputExcerpt(news.text)
    gap = f"[... {news.left_out:,} bytes left out here: they are in {shell.log.path} ...]"
    return OutputExcerpt(f"{news.text}\n\n{gap}\n\n{news.ending}")


async def _filtered(shell: BackgroundShell, pattern: str) -> OutputExcerpt:
    # Only now: ripgrep is not needed by those who look at everything.
    from toolwright.processes.line_filter import matching_lines

    log = shell.log
    is_more = log.unseen > FILTERED_BYTES
    data = log.next_lines(FILTERED_BYTES)
    log.skip(len(data))
    try:
        found = await matching_lines(pattern, data, limit=4 * OUTPUT_LIMIT)
    except BaseException:
        log.skip(-len(data))
        raise
    text = visible(found.data)
    lines = data.count(NEWLINE) + (not data.endswith(NEWLINE) and bool(data))
    notices = [f"filter: {found.lines:,} of {lines:,} new lines match; the others are in the log only"]
    if len(text) > OUTPUT_LIMIT or len(found.data) == 4 * OUTPUT_LIMIT:
        notices.append(f"only the first {OUTPUT_LIMIT:,} characters of them are shown: find the others in the log with Grep")
    if is_more:
        notices.append(f"{log.unseen:,} more bytes are new: call again for them")
    return OutputExcerpt(text[:OUTPUT_LIMIT], tuple(notices))


def _text(shell: BackgroundShell, look: OutputExcerpt, waited: str | None) -> str:
    body = look.text.rstrip("\n")
    log = f"log: {shell.log.path}, {shell.log.size:,} bytes"
    notices = [*look.notices, *([waited] if waited else []), *shell.notices, log]
    return "\n".join([f"{shell.id} {standing(shell)}", body or "(no new output)", *(f"[{notice}]" for notice in notices)])


def standing(shell: BackgroundShell) -> str:
    """How it stands, as the end of a sentence that begins with its name."""
    if shell.running:
        return "is running"
    if shell.problem is not None:
        return f"was ended: {shell.problem}"
    return f"{'was killed' if shell.status == 'killed' else shell.status} (exit code {shell.exit_code})"


def _task(shell: BackgroundShell, status: str, look: OutputExcerpt) -> dict[str, Any]:
    return {
        "task_id": shell.id,
        "task_type": "local_bash",
        "status": status,
        "description": shell.description,
        "command": shell.command,
        "output": look.text,
        "output_file": shell.log.path,
        "exitCode": shell.exit_code,
    }
