"""The entry point: reads the command line and starts what it asks for.

Everything is imported where it is needed, so that --version and --help answer at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolwright._version import COMPATIBLE_CLI_VERSION, __version__

if TYPE_CHECKING:
    from toolwright.cli.flags import ParsedFlags
    from toolwright.cli.signals import Stopping
    from toolwright.types import ClaudeAgentOptions

STDIN, STDOUT, STDERR = 0, 1, 2
_FUNCTIONS = {
    "demo": "demo:demo_command",
    "login": "login:login_command",
    "logout": "login:logout_command",
    "trust": "trust:trust_command",
    "permissions": "permissions:permissions_command",
    "mcp": "mcp:mcp_command",
    "doctor": "doctor:doctor_command",
    "config": "config:config_command",
}
"""Commands with a module of their own, which is loaded when the command is given."""
COMMANDS = (*_FUNCTIONS, "help", "version")


def main(arguments: Sequence[str] | None = None) -> int:
    from toolwright.cli.failures import EXIT_INTERRUPTED, EXIT_OUTPUT_CLOSED, EXIT_USAGE, complain
    from toolwright.cli.flags import UsageError
    from toolwright.cli.plain_output import OutputClosed, TerminalErrors

    if os.isatty(STDERR):
        sys.stderr = TerminalErrors(STDERR)
    try:
        return _dispatch(list(sys.argv[1:] if arguments is None else arguments))
    except UsageError as error:
        complain(str(error))
        return EXIT_USAGE
    except OutputClosed:
        return EXIT_OUTPUT_CLOSED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _dispatch(arguments: list[str]) -> int:
    if arguments in (["-v"], ["--version"]):
        return _show(_version("--version" in arguments))
    if arguments == ["version"]:
        return _show(_version(True))
    if arguments[:1] == ["help"]:
        return _help_about(arguments[1:])
    if arguments[:1] and arguments[0] in _FUNCTIONS:
        from importlib import import_module

        module, _, function = _FUNCTIONS[arguments[0]].partition(":")
        code: int = getattr(import_module(f"toolwright.cli.{module}"), function)(arguments[1:])
        return code
    from toolwright.cli.flags import parse

    line = parse(arguments)
    if line.values.get("version"):
        return _show(_version("--version" in arguments))
    if line.values.get("help"):
        return _show_help()
    return _start(line)


def _version(for_people: bool) -> str:
    """`-v` is what SDKs call: they look for the protocol's version at the beginning."""
    if for_people:
        return f"toolwright {__version__} (protocol {COMPATIBLE_CLI_VERSION})\n"
    return f"{COMPATIBLE_CLI_VERSION} (toolwright {__version__})\n"


def _show(text: str) -> int:
    from toolwright.cli.plain_output import write_now

    write_now(STDOUT, text)
    return 0


def _show_help() -> int:
    from shutil import get_terminal_size

    from toolwright.cli.help import help_text

    return _show(help_text(min(max(get_terminal_size().columns, 60), 100)))


def _help_about(words: list[str]) -> int:
    """`toolwright help`, and `toolwright help COMMAND` for what the command says with --help."""
    if len(words) == 1 and words[0] in COMMANDS and words[0] not in ("help", "version"):
        return _dispatch([words[0], "--help"])
    if words and words[0] not in COMMANDS:
        from toolwright.cli.flags import UsageError

        raise UsageError(f"there is no command {words[0]!r}; there are {', '.join(COMMANDS)}")
    return _show_help()


def _start(line: ParsedFlags) -> int:
    from toolwright.cli.failures import teller
    from toolwright.cli.options import options_from_flags
    from toolwright.processes.hardening import refuse_inspection

    refuse_inspection()  # keys of model providers are in our environment and soon in our memory
    streams_in = line.values.get("input-format") == "stream-json"
    if streams_in:
        _refuse_in_stream_mode(line)
    elif _is_bare(line) and os.isatty(STDIN):
        return _show_short_usage()
    elif not line.values.get("print"):
        _refuse_mistyped_command(line.words)
    options = options_from_flags(line.values, os.environ)
    options.stderr = teller(line.values.get("debug-file"))
    if streams_in:
        return _converse(line, options)
    return _rewind(line, options) if line.values.get("rewind-files") else _ask(line, options)


def _is_bare(line: ParsedFlags) -> bool:
    return not line.words and not line.values


def _show_short_usage() -> int:
    from toolwright.cli.help import SHORT_USAGE

    return _show(SHORT_USAGE)


def _refuse_in_stream_mode(line: ParsedFlags) -> None:
    from toolwright.cli.flags import UsageError

    if line.values.get("output-format") != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json")
    if any(line.words):
        raise UsageError("with --input-format stream-json prompts come as frames on stdin, not as an argument")


def _refuse_mistyped_command(words: Sequence[str]) -> None:
    """`toolwright demmo` is more likely a slip than a question; `-p demmo` asks it all the same."""
    from difflib import get_close_matches

    from toolwright.cli.flags import UsageError

    if len(words) != 1 or len(words[0]) < 3:
        return
    begun = [command for command in COMMANDS if command.startswith(words[0].lower())]
    near = begun or get_close_matches(words[0].lower(), COMMANDS, n=1, cutoff=0.6)
    if near:
        raise UsageError(f"unknown command {words[0]!r} (did you mean {near[0]}? to ask it as a prompt: -p {words[0]})")


def _ask(line: ParsedFlags, options: ClaudeAgentOptions) -> int:
    from toolwright.cli.ask import ask, read_prompt
    from toolwright.cli.failures import EXIT_INTERRUPTED, EXIT_USAGE, complain
    from toolwright.cli.flags import UsageError
    from toolwright.cli.frame_io import FrameOutput
    from toolwright.cli.signals import run

    async def work(stopping: Stopping) -> int:
        try:
            prompt = await read_prompt(line.words, STDIN)
        except UsageError as error:
            complain(str(error))
            return EXIT_USAGE
        if not prompt:
            if _is_bare(line):
                return _show_short_usage()
            complain('no prompt: give it as an argument (toolwright -p "…") or on stdin')
            return EXIT_USAGE
        output = FrameOutput(STDOUT, stopping.output_closed)
        stopping.before = output.abandon
        output_format = line.values.get("output-format", "text")
        if _is_attended(line) and output_format == "text" and os.isatty(STDOUT):
            from toolwright.cli.attended import ask_watched

            return await ask_watched(options, prompt, stdin=STDIN, stdout=STDOUT)

        async def opened() -> Any:
            session = _open_at_terminal(options) if _is_attended(line) else await _open_session(options)
            stopping.leave = None if output_format == "text" else session.leave
            return session

        return await ask(opened, prompt, output=output, output_format=output_format)

    code = run(work, debug=_debug(line.values))
    if code == EXIT_INTERRUPTED and line.values.get("output-format", "text") == "text":
        complain('stopped; to go on where it was: toolwright --continue "…"')
    return code


def _rewind(line: ParsedFlags, options: ClaudeAgentOptions) -> int:
    from toolwright.cli.flags import UsageError
    from toolwright.cli.frame_io import FrameOutput
    from toolwright.cli.rewind import rewind_files
    from toolwright.cli.signals import run

    if options.resume is None and not options.continue_conversation:
        raise UsageError("--rewind-files needs the session whose files it rewinds: --resume ID or --continue")
    options.enable_file_checkpointing = True
    message, output_format = line.values["rewind-files"], line.values.get("output-format", "text")

    async def work(stopping: Stopping) -> int:
        output = FrameOutput(STDOUT, stopping.output_closed)
        stopping.before = output.abandon
        return await rewind_files(lambda: _open_session(options), message, output=output, output_format=output_format)

    return run(work, debug=_debug(line.values))


def _is_attended(line: ParsedFlags) -> bool:
    """Whether somebody sits at a terminal and can be asked; `-p` is for programs and never asks."""
    return not line.values.get("print") and os.isatty(STDIN) and os.isatty(STDERR)


def _open_at_terminal(options: ClaudeAgentOptions) -> Any:
    from toolwright.cli.attended import open_at_terminal

    return open_at_terminal(options, stdin=STDIN, stderr=STDERR)


async def _open_session(options: ClaudeAgentOptions) -> Any:
    from toolwright.runtime.assemble import open_session

    return open_session(options)


def _converse(line: ParsedFlags, options: ClaudeAgentOptions) -> int:
    from toolwright.cli.converse import converse
    from toolwright.cli.frame_io import FrameOutput
    from toolwright.cli.signals import run
    from toolwright.runtime.wire_session import ServedSession

    async def work(stopping: Stopping) -> int:
        output = FrameOutput(STDOUT, stopping.output_closed)
        stopping.before = output.abandon
        served = ServedSession(options, output.write, output.taken)
        stopping.leave = served.leave
        return await converse(lambda read, _: served.run(read), stdin=STDIN, output=output)

    return run(work, debug=_debug(line.values))


def _debug(values: dict[str, Any]) -> bool:
    return bool(values.get("debug") or values.get("debug-to-stderr"))
