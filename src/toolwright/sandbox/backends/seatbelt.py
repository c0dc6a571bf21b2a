"""Seatbelt: a policy as a profile for macOS's sandbox-exec. Later rules win, so what is denied is said last.

Names that are not there yet are denied like any other: a profile speaks of paths, not of files.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

from msgspec import Struct

from toolwright.sandbox.errors import SandboxRefused
from toolwright.sandbox.launch import Inside, Launch, PrivateFolder, git_config_environment
from toolwright.sandbox.policy import SandboxPolicy, is_within_any

PROGRAM = "/usr/bin/sandbox-exec"
_BASE = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read*)
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper"))
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.notification_center")
                   (global-name "com.apple.logd") (global-name "com.apple.cfprefsd.agent"))
(allow user-preference-read)
"""


class Seatbelt(Struct, frozen=True):
    """Sandboxes by sandbox-exec."""

    proxy_ports: tuple[int, ...] = ()
    """Ports of our proxy on the loopback address, where commands may go if domains are allowed."""
    name: str = "Seatbelt"

    def launch(self, policy: SandboxPolicy, inside: Inside, *, private: PrivateFolder, stack: ExitStack) -> Launch:
        git = git_config_environment(policy, inside, private)
        text = profile(policy, private.temporary, proxy_ports=self.proxy_ports, readable=tuple(git.values()))
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), private.temporary)
        return Launch((PROGRAM, "-p", text, "--", *inside.argv), {**inside.environment, **temporary, **git}, ())


def profile(policy: SandboxPolicy, temporary: str, *, proxy_ports: tuple[int, ...] = (), readable: tuple[str, ...] = ()) -> str:
    """The profile; `readable` are files of ours. Raises `SandboxRefused` if the policy leaves nothing to hold."""
    if "/" in policy.writable or (policy.network == "proxied" and not proxy_ports):
        raise SandboxRefused("The command was not started: the sandbox would hold nothing, or allowed domains have no proxy.")
    writable = ("/",) if policy.everything_writable else (*policy.writable, os.path.realpath(temporary))
    homes = tuple(home.path for home in policy.homes)
    of_homes = tuple(path for path in (*policy.readable_of_homes, *writable) if is_within_any(path, homes))
    rules = [
        _rule("deny", "file-read*", homes),
        _rule("allow", "file-read-metadata", _ways(homes, of_homes), kind="literal"),
        _rule("allow", "file-read*", of_homes),
        _rule("allow", "file-write*", writable),
        _rule("deny", "file-write*", (*policy.read_only, *policy.absent)),
        _rule("deny", "file-write-unlink", policy.pinned, kind="literal"),
        _rule("deny", "file-read* file-write*", policy.unreadable),
        _rule("allow", "file-read*", (*policy.shown, *readable)),
        *_network(policy, proxy_ports),
    ]
    return _BASE + "".join(f"{rule}\n" for rule in rules if rule)


def _ways(homes: tuple[str, ...], shown: tuple[str, ...]) -> tuple[str, ...]:
    """The homes themselves, and the folders in them on the way to something that is shown: they can be passed, not listed."""
    ways = dict.fromkeys(homes)
    for path in shown:
        while is_within_any(path := os.path.dirname(path), homes):
            ways[path] = None
    return tuple(ways)


def _network(policy: SandboxPolicy, proxy_ports: tuple[int, ...]) -> list[str]:
    if policy.network == "open":
        return ["(allow network*)"]
    rules = [f'(allow network-outbound (remote ip "localhost:{port}"))' for port in proxy_ports if policy.network == "proxied"]
    if policy.all_unix_sockets:
        return [*rules, "(allow network* (local unix-socket) (remote unix-socket))"]
    return [
        *rules,
        *(f"(allow network-outbound (remote unix-socket (path-literal {_quoted(path)})))" for path in policy.unix_sockets),
    ]


def _rule(verdict: str, operations: str, paths: tuple[str, ...], *, kind: str = "subpath") -> str:
    if not paths:
        return ""
    return f"({verdict} {operations} " + " ".join(f"({kind} {_quoted(path)})" for path in paths) + ")"


def _quoted(path: str) -> str:
    if any(ord(character) < 0x20 for character in path):
        raise SandboxRefused(
            f"The command was not started: {path!r} holds a control character, which no sandbox profile can name."
        )
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
