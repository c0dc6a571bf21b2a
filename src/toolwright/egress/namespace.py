"""A network of their own for a session's commands: nothing in it but the loopback interface and our listener.

Made once per session, so a server that one command starts can be reached by the next, and a command costs one `nsenter`
more, not a handshake. There is no bridge process: the listening socket was opened inside and its descriptor handed out, so our
process accepts what arrives in there. Linux only. Knows nothing of what is served on the listener.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import which

import anyio.to_thread

from toolwright.egress.errors import NetworkUnavailable

PROXY_PORT = 3128
_PROGRAM_FOLDERS = "/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin"  # never PATH: it may name the workspace
_MAKING_SECONDS = 60.0
_CLOSING_SHELL = ("/bin/bash", "--noprofile", "--norc", "-c")


class PrivateNetwork:
    """A user and a network namespace held open by descriptors, and a socket that listens inside."""

    __slots__ = ("_nsenter", "descriptors", "listener")

    def __init__(self, nsenter: str, descriptors: tuple[int, int], listener: socket.socket) -> None:
        self._nsenter = nsenter
        self.descriptors = descriptors
        """The child that starts `entering(...)` has to inherit these two; they are closed before the sandbox begins."""
        self.listener = listener

    def entering(self, sandbox: Sequence[str]) -> list[str]:
        """The command line that starts a bubblewrap command line inside this network instead of in an empty one.

        It takes out `--unshare-net`, which has to be there (not in a file of `--args`): who forgets to call this gets no
        network, never the whole one. Raises `ValueError` if it is not.
        """
        user, network = self.descriptors
        enter = [self._nsenter, f"--user=/proc/self/fd/{user}", f"--net=/proc/self/fd/{network}", "--preserve-credentials"]
        return [*enter, "--", *_CLOSING_SHELL, f'exec "$@" {user}<&- {network}<&-', "bash", *_sharing_network(sandbox)]

    def close(self) -> None:
        """Let go of the namespaces; the kernel removes them with the last process inside. The listener is its server's."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = (-1, -1)


def _sharing_network(sandbox: Sequence[str]) -> list[str]:
    end = sandbox.index("--")
    options = [option for option in sandbox[:end] if option != "--unshare-net"]
    if len(options) == end:
        raise ValueError("The sandbox's command line has no --unshare-net among its options.")
    return [*options, *sandbox[end:]]


async def make_network(*, uid: int | None = None, gid: int | None = None, port: int = PROXY_PORT) -> PrivateNetwork:
    """Make a private network for commands that run as `uid` (this process's own if not given). Raises `NetworkUnavailable`."""
    return await anyio.to_thread.run_sync(
        _make, os.geteuid() if uid is None else uid, os.getegid() if gid is None else gid, port
    )


def _make(uid: int, gid: int, port: int) -> PrivateNetwork:
    nsenter = which("nsenter", path=_PROGRAM_FOLDERS)
    if sys.platform != "linux" or nsenter is None:
        raise NetworkUnavailable("A private network for commands needs Linux and the program nsenter (package util-linux).")
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            maker = _start_maker(theirs.fileno(), port, uid, gid)
        ours.settimeout(_MAKING_SECONDS)
        try:
            text, descriptors, *_ = socket.recv_fds(ours, 1024, 3, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            raise NetworkUnavailable(f"No private network for commands: {error}.") from error
        finally:
            maker.kill()
            maker.wait()
    if len(descriptors) != 3:
        raise NetworkUnavailable(_failure(text))
    user, network, listening = descriptors
    return PrivateNetwork(nsenter, (user, network), socket.socket(fileno=listening))


def _start_maker(channel: int, *arguments: int) -> subprocess.Popen[bytes]:
    program = Path(__file__).with_name("make_network.py")
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(program), str(channel), *map(str, arguments)],
            env=kept,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(channel,),
        )
    except OSError as error:
        raise NetworkUnavailable(f"No private network for commands: {sys.executable} could not be started: {error}.") from error


def _failure(text: bytes) -> str:
    why = text.decode("utf-8", "replace") or "the program that makes it ended without an answer"
    return f"No private network for commands: {why}. This machine may not let users make namespaces."
