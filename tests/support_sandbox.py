"""Sandboxed commands for tests: a workspace beside things outside it, and a mechanism of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from toolwright.sandbox.backends.bubblewrap import Bubblewrap, find_bubblewrap
from toolwright.sandbox.backends.landlock import Landlocked
from toolwright.sandbox.backends.selection import availabilities
from toolwright.sandbox.launch import Backend, PrivateFolder
from toolwright.sandbox.policy import FilesystemWishes, NetworkWishes, PermissionPaths, sandbox_rules
from toolwright.sandbox.sandbox import Sandbox

NOBODY = 65534


def need(name: str) -> None:
    """Skip, with the reason, where the machine cannot have this mechanism."""
    found = next((each for each in availabilities() if each.name == name), None)
    if found is None or not found.works:
        pytest.skip(f"{name}: {found.problem if found else 'unknown on ' + sys.platform}")


def mechanism_named(name: str, register: Path | str) -> Backend:
    need(name)
    if name == "Landlock":
        return Landlocked()
    program = find_bubblewrap()
    assert program is not None
    return Bubblewrap(program, str(register))


@contextmanager
def visible_folder() -> Iterator[Path]:
    """A folder that is not below /tmp, which no sandbox shows; others can pass through it."""
    for place in ("/opt", "/srv", "/var/lib", os.path.expanduser("~/.cache"), os.path.expanduser("~")):
        if os.path.isdir(place) and os.access(place, os.W_OK):
            folder = tempfile.mkdtemp(prefix=".toolwright-test-", dir=place)
            os.chmod(folder, 0o755)
            try:
                yield Path(folder)
            finally:
                shutil.rmtree(folder)
            return
    pytest.skip("there is no folder outside /tmp that can be written to")


@dataclass
class Place:
    """A workspace `ws` in a folder `base` with `outside` beside it."""

    base: Path
    mechanism: Backend
    filesystem: FilesystemWishes = field(default_factory=FilesystemWishes)
    network: NetworkWishes = field(default_factory=NetworkWishes)
    permissions: PermissionPaths = field(default_factory=PermissionPaths)
    secrets: Sequence[str] = ()
    weaker: bool = False

    def __post_init__(self) -> None:
        for folder in (self.ws / "work", self.base / "outside", self.base / "home"):
            folder.mkdir(parents=True, exist_ok=True)
        self.private = PrivateFolder(str(self.base / "private"))
        os.makedirs(self.private.path, mode=0o700, exist_ok=True)
        self.private.set_up()

    @property
    def ws(self) -> Path:
        return self.base / "ws"

    @property
    def enclosure(self) -> Sandbox:
        rules = sandbox_rules(
            str(self.ws),
            [],
            home=str(self.base / "home"),
            secrets=self.secrets,
            filesystem=self.filesystem,
            network=self.network,
            permissions=self.permissions,
            weaker=self.weaker,
        )
        return Sandbox(self.mechanism, lambda: rules, private=lambda: self.private)

    def run(self, command: str, *, directory: Path | None = None) -> str:
        """What a sandboxed bash says, errors included. Nothing is judged by its exit code."""
        where = str(directory or self.ws)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.base / "home"), "LC_ALL": "C.UTF-8"}
        with self.enclosure.wrap(["/bin/bash", "-c", command], directory=where, environment=environment) as launch:
            done = subprocess.run(
                launch.argv,
                env=launch.environment,
                pass_fds=launch.keep,
                cwd=where,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=120,
            )
        return done.stdout.decode()
