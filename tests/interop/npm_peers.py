"""Published programs from npm, pinned in requirements/npm and installed once into `.npm-peers` by the npm client.

The TypeScript SDK has a folder of its own (requirements/npm-sdk, `.npm-sdk`): it is installed without the runtime it may bring.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINNED = ROOT / "requirements" / "npm"
PEERS = ROOT / ".npm-peers"
SDK_PINNED = ROOT / "requirements" / "npm-sdk"
SDK_PEERS = ROOT / ".npm-sdk"
INSTALL_SECONDS = 1200


def needed() -> Path:
    """The folder of the installed packages. Skips the test, with the reason, where npm is missing."""
    need_npm()
    return installed(PINNED, PEERS)


def sdk() -> Path:
    """The folder of the TypeScript SDK and what it needs. Skips the test, with the reason, where npm is missing."""
    need_npm()
    return installed(SDK_PINNED, SDK_PEERS, "--omit=optional")


def need_npm() -> None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed here: the published programs cannot be had")


@cache
def installed(pinned: Path, peers: Path, *flags: str) -> Path:
    """Install what the lock file says, unless it is there already."""
    peers.mkdir(exist_ok=True)
    lock, stamp = (pinned / "package-lock.json").read_bytes(), peers / ".installed"
    with open(peers / ".lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_bytes() != lock:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(pinned / name, peers / name)
            command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", *flags]
            done = subprocess.run(command, cwd=peers, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
            assert done.returncode == 0, f"npm ci failed:\n{done.stderr[-3000:]}"
            stamp.write_bytes(lock)
    return peers / "node_modules"


def node() -> str:
    """Node 22 from npm; its own where the machine is none that it is packed for."""
    found = sorted(needed().glob("node-linux-*/bin/node"))
    return str(found[0]) if found else str(shutil.which("node"))


def script(package: str, path: str = "dist/index.js") -> list[str]:
    """The command that runs a package's program."""
    return [node(), str(needed() / package / path)]
