"""`toolwright "task"` at a terminal: the person is asked, and where the output is the terminal too, watches it all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from toolwright.cli.ask import complain_about_denials, structured_answer, what_failed
from toolwright.cli.failures import EXIT_FAILED, complain
from toolwright.cli.prompt_user import TerminalPerson
from toolwright.cli.render import Renderer
from toolwright.cli.terminal import Terminal
from toolwright.cli.watch import watch
from toolwright.runtime.assemble import open_session
from toolwright.runtime.host import host_of

if TYPE_CHECKING:
    from toolwright.runtime.session import LocalSession
    from toolwright.types import ClaudeAgentOptions


def open_at_terminal(options: ClaudeAgentOptions, *, stdin: int, stderr: int) -> LocalSession:
    """Its questions go to the terminal that stderr is."""
    return _opened(options, TerminalPerson(stdin, Terminal(stderr, os.environ)))


async def ask_watched(options: ClaudeAgentOptions, prompt: str, *, stdin: int, stdout: int) -> int:
    """Everything goes to the terminal, as it comes; the exit code."""
    options.include_partial_messages = True
    terminal = Terminal(stdout, os.environ)
    renderer = Renderer(terminal, _folder(options))
    person = TerminalPerson(stdin, terminal)
    try:
        result = await watch(_opened(options, person), prompt, renderer, drawing=person.asking)
        if (answer := structured_answer(result)) is not None:
            terminal.line(answer)
        terminal.line()
        terminal.line(terminal.paint(f"Done in {renderer.account()}.", "dim"))
    finally:
        terminal.close()
    if result.get("is_error"):
        complain(what_failed(result))
    complain_about_denials(result)
    return EXIT_FAILED if result.get("is_error") else 0


def _opened(options: ClaudeAgentOptions, person: TerminalPerson) -> LocalSession:
    return open_session(options, host=replace(host_of(options), can_use_tool=person))


def _folder(options: ClaudeAgentOptions) -> str:
    return os.path.abspath(options.cwd or os.curdir)
