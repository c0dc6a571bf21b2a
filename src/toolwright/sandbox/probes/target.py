"""What escape probes are tried against: a workspace, things outside that must not be touched, and somebody at home on the host.

All of it is made for the probes: no file, process or socket of the person's own is ever at stake.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from contextlib import ExitStack, suppress

from toolwright.sandbox.launch import Backend, PrivateFolder
from toolwright.sandbox.policy import FilesystemWishes, NetworkWishes, PermissionPaths, sandbox_rules
from toolwright.sandbox.sandbox import Sandbox

TIMEOUT = 60.0
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class ProbeTarget:
    """Use as a context manager. `folder` must be one that a sandbox shows: not below /tmp."""

    def __init__(self, mechanism: Backend, folder: str, *, python: str) -> None:
        self.mechanism = mechanism
        self.python = python
        self.token = secrets.token_hex(12)
        """What must not come out."""
        self.base = tempfile.mkdtemp(prefix=".toolwright-probe-", dir=folder)
        self.workspace = os.path.join(self.base, "workspace")
        self.outside = os.path.join(self.base, "outside")
        self.secret = os.path.join(self.base, "secret")
        self._stack = ExitStack()

    def __enter__(self) -> ProbeTarget:
        try:
            self._set_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._open_folders()
        with suppress(OSError):
            shutil.rmtree(self.base)

    def _open_folders(self) -> None:
        """A probe may have made folders that nobody can enter. Links are left alone: where they lead is not ours."""
        for folder, names, _files in os.walk(self.base):
            for path in (os.path.join(folder, name) for name in names):
                if not os.path.islink(path):
                    with suppress(OSError):
                        os.chmod(path, 0o700)

    def _set_up(self) -> None:
        self.write("outside/file", "untouched\n")
        self.write("secret/key", self.token)
        self.write("home/.config/some/token", self.token)
        self.write("home/.local/bin/tool", "a program\n")
        self.write("workspace/work/sub/.env", self.token)
        self.write("workspace/.vscode/settings.json", "untouched\n")
        self.write("workspace/work/file", "")
        private = PrivateFolder(os.path.join(self.base, "private"))
        os.mkdir(private.path, 0o700)
        private.set_up()
        rules = sandbox_rules(
            self.workspace,
            [],
            home=os.path.join(self.base, "home"),
            secrets=(self.secret,),
            filesystem=FilesystemWishes(),
            network=NetworkWishes(),
            permissions=PermissionPaths(is_hidden=lambda path: path.endswith("/.env")),
        )
        self.enclosure = Sandbox(self.mechanism, lambda: rules, private=lambda: private)
        self.neighbour = self._stack.enter_context(
            subprocess.Popen(
                ["/bin/sleep", "600"], env={"SECRET": self.token}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/"
            )
        )
        self._stack.callback(self.neighbour.kill)
        self.tcp = self._listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = self._listening(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.unix = self._listening(socket.AF_UNIX, socket.SOCK_STREAM, self.path("s"))
        self.datagrams = self._listening(socket.AF_UNIX, socket.SOCK_DGRAM, self.path("d"))
        self.abstract = self._listening(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.token}")

    def path(self, name: str) -> str:
        return os.path.join(self.base, name)

    def write(self, name: str, content: str) -> None:
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as file:
            file.write(content)

    def read(self, name: str) -> str | None:
        try:
            with open(self.path(name), errors="replace") as file:
                return file.read()
        except OSError:
            return None

    def run(self, command: str) -> str:
        """What a sandboxed bash says to `command`, errors included."""
        return self.run_argv(["/bin/bash", "--noprofile", "--norc", "-c", command])

    def run_python(self, program: str) -> str:
        return self.run_argv([self.python, "-I", "-S", "-c", program])

    def run_argv(self, argv: list[str], *, stdin: int = subprocess.DEVNULL) -> str:
        environment = {"PATH": _SYSTEM_PATH, "HOME": self.base, "BASE": self.base}
        directory = os.path.join(self.workspace, "work")
        with self.enclosure.wrap(argv, directory=directory, environment=environment) as launch:
            done = subprocess.run(
                launch.argv,
                env=launch.environment,
                pass_fds=launch.keep,
                cwd=directory,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT,
                start_new_session=True,
            )
        return done.stdout.decode("utf-8", "replace")

    def nobody_came(self, listener: socket.socket) -> bool:
        """Whether nothing has reached a listener of ours."""
        try:
            if listener.type == socket.SOCK_STREAM:
                listener.accept()[0].close()
            else:
                listener.recv(100)
        except BlockingIOError:
            return True
        return False

    def _listening(self, family: int, kind: int, address: object) -> socket.socket:
        listener = self._stack.enter_context(socket.socket(family, kind))
        listener.bind(address)  # type: ignore[arg-type]  # a path or a pair, as the family has it
        if kind == socket.SOCK_STREAM:
            listener.listen()
        listener.setblocking(False)
        return listener
