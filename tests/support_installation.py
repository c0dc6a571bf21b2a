"""An installation that lacks packages, as pip leaves it where there is no wheel of them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
_START = (
    "import sys; folders, script = sys.argv[1].split(':'), sys.argv[2]; sys.path[:0] = folders; del sys.argv[1:3]; exec(script)"
)


def installation_without(folder: Path, *packages: str) -> Path:
    """A copy, made of links, of the packages of this environment but for some, given as pip spells them."""
    left_out = tuple(f"{package.replace('-', '_')}-" for package in packages)
    ours = Path(sysconfig.get_path("purelib"))
    theirs = folder / ours.relative_to(sys.prefix)
    theirs.mkdir(parents=True)
    (folder / "bin").symlink_to(sysconfig.get_path("scripts"))
    for name in os.listdir(ours):
        if not name.startswith(left_out) and not name.endswith((".pth", "__pycache__")):
            (theirs / name).symlink_to(ours / name)
    return theirs


def run_in(installation: Path, script: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script with nothing but our source and the packages of that installation."""
    argv = [sys.executable, "-P", "-S", "-c", _START, f"{installation}:{SOURCE}", script, *arguments]
    return subprocess.run(
        argv, capture_output=True, text=True, cwd=cwd, timeout=120, env={"PATH": "/usr/bin:/bin", "IS_SANDBOX": "1"}
    )
