"""Starts what the benchmark needs: the scripted model server, the peers' environments, a contender's experiment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from plan import Contender, Sizes

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "contenders"
ENVIRONMENTS = HERE / ".venvs"
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
LIMIT_SECONDS = 600
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}
"""Nobody here talks to anything but the scripted server."""


class Broken(Exception):
    """A contender that did not do its experiment; the text says what it said."""


class Bench:
    """The server, and a folder that is home, workplace and configuration of every contender."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder

    def experiment(self, contender: Contender, name: str, *, sizes: Sizes, env: Mapping[str, str]) -> dict[str, Any]:
        arguments = [str(SCRIPTS / contender.script), name, *(f"{key}={value}" for key, value in sizes.items())]
        return self.run(python_of(contender), arguments, env={**contender.env, **env})

    def import_cost(self, python: Path, statement: str) -> dict[str, Any]:
        return self.run(python, [str(SCRIPTS / "import_cost.py"), statement])

    def run(self, python: Path, arguments: list[str], *, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Run a script that prints one JSON object; it and all its children are gone afterwards."""
        process = subprocess.Popen(
            [str(python), *arguments],
            cwd=self.folder,
            env={**self.environment(), **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise Broken(f"{' '.join(arguments)}: not done after {LIMIT_SECONDS} s") from None
        finally:
            _end_group(process)
        if process.returncode:
            last = errors.strip().splitlines()[-1:] or ["no error text"]
            raise Broken(f"{' '.join(arguments)}: exit code {process.returncode}: {last[0][:500]}")
        answer: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
        return answer

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "LANG": "C.UTF-8",
            "HOME": str(self.folder),
            "CLAUDE_CONFIG_DIR": str(self.folder / ".claude"),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "benchmark",
            **QUIET,
        }

    def stats(self) -> dict[str, Any]:
        """What the server was asked since the last look: `paths` and `sizes`."""
        with build_opener(ProxyHandler({})).open(f"{self.url}/stats") as answer:
            told: dict[str, Any] = json.load(answer)
        return told


def _end_group(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@contextmanager
def model_server() -> Iterator[str]:
    server = subprocess.Popen([sys.executable, str(HERE / "model_server.py")], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = server.stdout.readline().strip()
        if not url:
            raise Broken("the scripted model server did not start")
        yield url
    finally:
        server.terminate()
        server.wait()


@contextmanager
def bench() -> Iterator[Bench]:
    with model_server() as url, tempfile.TemporaryDirectory(prefix="toolwright-bench-", ignore_cleanup_errors=True) as folder:
        yield Bench(url, Path(folder))


def python_of(contender: Contender) -> Path:
    if not contender.requirements:
        return Path(sys.executable)
    return ENVIRONMENTS / contender.script.removesuffix(".py") / "bin" / "python"


def install(contender: Contender) -> None:
    """Make the contender's environment, unless it stands: a stamp says what is in it."""
    python = python_of(contender)
    stamp = python.parent.parent / "installed.txt"
    wanted = "\n".join(contender.requirements)
    if not contender.requirements or (stamp.exists() and stamp.read_text() == wanted):
        return
    print(f"installing {wanted} …", file=sys.stderr, flush=True)
    venv.create(python.parent.parent, with_pip=True, clear=True)
    done = subprocess.run([str(python), *PIP, *contender.requirements], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"pip could not install {wanted}: {done.stderr.strip()[-500:]}")
    stamp.write_text(wanted)
