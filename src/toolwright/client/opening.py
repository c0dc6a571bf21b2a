"""Which session a caller gets: one in this process, or a remote one behind a transport or a command-line program."""

from __future__ import annotations

import os

from toolwright.client import argv
from toolwright.client.initialize import initialize_extras
from toolwright.client.remote import RemoteSession
from toolwright.protocol.subprocess import SubprocessTransport
from toolwright.protocol.transport import Transport
from toolwright.runtime.checks import check_combinations, check_types
from toolwright.runtime.host import host_of
from toolwright.runtime.seams import Session
from toolwright.types import ClaudeAgentOptions, OptionsError


def open_for(options: ClaudeAgentOptions, transport: Transport | None) -> Session:
    """A session that has not started. Raises `OptionsError` for options that cannot work."""
    if not isinstance(options, ClaudeAgentOptions):
        raise OptionsError(f"options must be a ClaudeAgentOptions, not {type(options).__name__}")
    if transport is None and options.cli_path is None:
        from toolwright.runtime.assemble import open_session  # the whole runtime: a client of a CLI does without it

        return open_session(options)
    check_types(options)
    check_combinations(options)
    return RemoteSession(transport or transport_for(options), host=host_of(options), initialize=initialize_extras(options))


def transport_for(options: ClaudeAgentOptions) -> SubprocessTransport:
    """The transport to the program at `cli_path`, with the options as its flags and environment."""
    return SubprocessTransport(
        argv.command(options),
        cwd=options.cwd,
        env=argv.environment(options, os.environ),
        stderr=options.stderr,
        user=options.user,
        max_buffer_size=options.max_buffer_size,
    )
