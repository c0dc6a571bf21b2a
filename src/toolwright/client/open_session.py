"""Which session a caller gets, and its start: one in this process, or a remote one behind a transport or a program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from toolwright.base.concurrency import owned
from toolwright.types import ClaudeAgentOptions, OptionsError

if TYPE_CHECKING:
    from toolwright.protocol.subprocess import SubprocessTransport
    from toolwright.protocol.transport import Transport
    from toolwright.runtime.interfaces import Session


def open_for(options: ClaudeAgentOptions, transport: Transport | None) -> Session:
    """A session that has not started. Raises `OptionsError` for options that cannot work."""
    if not isinstance(options, ClaudeAgentOptions):
        raise OptionsError(f"options must be a ClaudeAgentOptions, not {type(options).__name__}")
    if transport is None and options.cli_path is None:
        from toolwright.runtime.assemble import open_session  # the whole runtime: a client of a CLI does without it

        return open_session(options)
    return open_remote(options, transport)


async def start(session: Session) -> dict[str, Any]:
    """Start a session; what it says about itself. What is wrong with the options is told without the way through our code."""
    try:
        return await owned(session.start, name="toolwright starts")
    except OptionsError as error:
        raise error.with_traceback(None) from None


def open_remote(options: ClaudeAgentOptions, transport: Transport | None) -> Session:
    """The session at the other end of `transport`, or of the program at `cli_path`."""
    from toolwright.client.initialize import initialize_extras  # the wire: a session in this process does without it
    from toolwright.client.remote import RemoteSession
    from toolwright.config.options_check import check_combinations, check_types
    from toolwright.runtime.host import host_of

    check_types(options)
    check_combinations(options)
    return RemoteSession(transport or transport_for(options), host=host_of(options), initialize=initialize_extras(options))


def transport_for(options: ClaudeAgentOptions) -> SubprocessTransport:
    """The transport to the program at `cli_path`, with the options as its flags and environment."""
    from toolwright.client import argv
    from toolwright.protocol.subprocess import SubprocessTransport  # few callers start a program

    command = argv.command(options)
    return SubprocessTransport(
        command,
        cwd=options.cwd,
        env=argv.environment(options, os.environ),
        stderr=options.stderr,
        user=options.user,
        max_buffer_size=options.max_buffer_size,
        private=argv.private_arguments(command),
    )
