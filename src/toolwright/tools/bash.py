"""Bash: run a command line, wait for it and show what it said; or leave it in the background."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolFailure, ToolOutput
from toolwright.workspace import WorkspaceError

if TYPE_CHECKING:
    from toolwright.processes.shell import CommandResult
    from toolwright.workspace import Workspace

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
# Programs whose exit code 1 is an answer, not a failure.
_NEGATIVE_ANSWERS = {
    "grep": "No matches found",
    "egrep": "No matches found",
    "fgrep": "No matches found",
    "rg": "No matches found",
    "git grep": "No matches found",
    "find": "Some directories were inaccessible",
    "diff": "Files differ",
    "git diff": "Files differ",
    "cmp": "Files differ",
    "test": "Condition is false",
    "[": "Condition is false",
}
_SILENT = frozenset("cd mkdir rmdir touch rm mv cp ln chmod chown export unset true : kill sleep".split())  # noqa: SIM905 — a list of words


class BashInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1, description="The command line")]
    timeout: Annotated[int, Meta(ge=1, description=f"Milliseconds until it is stopped, at most {MAX_TIMEOUT_MS}")] = (
        DEFAULT_TIMEOUT_MS
    )
    description: Annotated[str, Meta(description="What the command does, in five to ten words")] = ""
    run_in_background: Annotated[
        bool,
        Meta(description="Do not wait: the result is an ID for BashOutput and KillShell; no timeout; you are told of its end"),
    ] = False
    cwd: Annotated[str, Meta(description="Folder to run in, for this call only")] = "."
    dangerouslyDisableSandbox: Annotated[
        bool, Meta(description="Run outside the sandbox, if there is one; a person is asked")
    ] = False


class Bash(BuiltinTool):
    name = "Bash"
    description = (
        "Runs a command line in a new bash and returns stdout and stderr together. The working directory carries over from "
        "call to call (inside the workspace), variables do not. stdin is empty: nothing can ask questions. Output over 30,000 "
        "characters is shortened and kept whole in a file. Quote paths with spaces. To look at or change files, "
        "Read, Write, Edit, Glob and Grep are better than cat, sed, find and grep."
    )
    Input = BashInput
    timeout = None

    def effects(self, parsed: BashInput, workspace: Workspace) -> Effects:
        enclosure, enclosed = workspace.commands.enclosure, _is_enclosed(parsed, workspace)
        return Effects(
            command=parsed.command,
            cwd=workspace.touched_paths(parsed.cwd)[0],
            sandboxed=enclosed and enclosure is not None and enclosure.terms.auto_allow,
            stopped_in_cage=workspace.commands.was_stopped(parsed.command),
            must_ask=parsed.dangerouslyDisableSandbox and not enclosed and workspace.commands.encloses(parsed.command),
        )

    async def perform(self, parsed: BashInput, context: ToolContext) -> ToolOutput:
        workspace = context.workspace
        if "\0" in parsed.command:
            raise ToolFailure("The command holds a NUL character, which no command line can.")
        notices = [*_return_home(workspace), *_without_sandbox(workspace)]
        if parsed.run_in_background:
            return await _start(parsed, context, notices)
        milliseconds = min(parsed.timeout, MAX_TIMEOUT_MS)
        if milliseconds < parsed.timeout:
            notices.append(f"timeout lowered to the longest allowed, {MAX_TIMEOUT_MS} ms")
        result = await _run(parsed, context, milliseconds / 1000)
        if parsed.cwd == ".":
            notices += _carry(result, workspace)
        notices += result.notices
        return _output(parsed, result, notices, milliseconds)


async def _run(parsed: BashInput, context: ToolContext, timeout: float) -> CommandResult:
    with _in_words(parsed):
        return await context.workspace.commands.run(
            parsed.command,
            cwd=parsed.cwd,
            timeout=timeout,
            unsandboxed=not _is_enclosed(parsed, context.workspace),
            caged=context.caged,
        )


async def _start(parsed: BashInput, context: ToolContext, notices: list[str]) -> ToolOutput:
    with _in_words(parsed):
        shell = await context.workspace.commands.start(
            parsed.command,
            cwd=parsed.cwd,
            description=parsed.description,
            call=context.tool_use_id,
            unsandboxed=not _is_enclosed(parsed, context.workspace),
            caged=context.caged,
        )
    lines = [
        f"Command running in background with ID: {shell.id}. Its output goes to {shell.log.path}.",
        *(f"[{notice}]" for notice in notices),
    ]
    structured = {
        "stdout": "",
        "stderr": "\n".join(notices),
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "backgroundTaskId": shell.id,
        "bash_id": shell.id,
    }
    return ToolOutput("\n".join(lines), structured)


@contextmanager
def _in_words(parsed: BashInput) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise ToolFailure(f"cwd is not a folder: {parsed.cwd}. Nothing was run.") from None
    except UnicodeEncodeError:
        raise ToolFailure("The command holds half of a surrogate pair, which no command line can.") from None


def _is_enclosed(parsed: BashInput, workspace: Workspace) -> bool:
    return workspace.commands.encloses(parsed.command, disabled=parsed.dangerouslyDisableSandbox)


def _without_sandbox(workspace: Workspace) -> list[str]:
    return [] if workspace.commands.unenclosed is None else [f"this ran WITHOUT a sandbox: {workspace.commands.unenclosed}"]


def _return_home(workspace: Workspace) -> list[str]:
    """A working directory that was removed since the last call is no place to start from."""
    try:
        with workspace.search_place(workspace.cwd) as place:
            if place.file is None:
                return []
    except (OSError, WorkspaceError):
        pass
    gone = workspace.cwd
    workspace.move_to(workspace.home)
    return [f"{gone} is gone; working directory reset to {workspace.home}"]


def _carry(result: CommandResult, workspace: Workspace) -> list[str]:
    if result.last_directory is None or result.last_directory == workspace.cwd:
        return []
    if workspace.move_to(result.last_directory):
        return []
    return [f"{result.last_directory} is outside the workspace; working directory stays {workspace.cwd}"]


def _output(parsed: BashInput, result: CommandResult, notices: list[str], milliseconds: int) -> ToolOutput:
    meaning = None if result.exit_code != 1 or result.timed_out else _meaning(parsed.command)
    failed = result.timed_out or (result.exit_code != 0 and meaning is None)
    body = result.output.text.rstrip("\n")
    if result.timed_out:
        notices = [_timeout_notice(result, milliseconds), *notices]
    if result.limit is not None:
        notices = [result.limit, *notices]
    lines = [f"Exit code {result.exit_code}"] if failed else []
    lines += [body] if body else [] if failed else [f"({meaning or 'no output'})"]
    lines += [f"[{notice}]" for notice in notices]
    return ToolOutput("\n".join(lines), _structured(parsed, result, notices, meaning, milliseconds), True if failed else None)


def _timeout_notice(result: CommandResult, milliseconds: int) -> str:
    noun = "process" if result.processes_ended == 1 else "processes"
    return (
        f"timed out after {milliseconds} ms: {result.processes_ended} {noun} ended; above is what it wrote until then. "
        "Give a longer timeout, do less at once, or use run_in_background"
    )


def _structured(
    parsed: BashInput, result: CommandResult, notices: list[str], meaning: str | None, milliseconds: int
) -> dict[str, Any]:
    structured: dict[str, Any] = {
        "stdout": result.output.text.rstrip("\n"),
        "stderr": "\n".join(notices),
        "interrupted": result.timed_out,
        "isImage": False,
        "noOutputExpected": _last_program(parsed.command)[0] in _SILENT,
        "exitCode": result.exit_code,
    }
    if meaning is not None:
        structured["returnCodeInterpretation"] = meaning
    if result.timed_out:
        structured["timedOutAfterMs"] = milliseconds
    if result.output.saved_to is not None:
        structured |= {"persistedOutputPath": result.output.saved_to, "persistedOutputSize": result.output.saved_bytes}
    return structured


def _meaning(command: str) -> str | None:
    """What exit code 1 says when the last program of the line is one that answers with it."""
    program, argument = _last_program(command)
    return _NEGATIVE_ANSWERS.get(program) or _NEGATIVE_ANSWERS.get(f"{program} {argument}")


def _last_program(command: str) -> tuple[str, str]:
    """The name and first argument of the last program in a line. Only for showing results: no permission hangs on it."""
    import shlex  # not needed before a command has run

    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    words: list[str] = []
    try:
        for token in lexer:
            words = [] if token and set(token) <= set(";&|()") else [*words, token]
    except ValueError:
        return "", ""
    return (words[0] if words else "", words[1] if len(words) > 1 else "")
