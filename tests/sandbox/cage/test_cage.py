"""The cage by its effects on the host: nothing written, dialed, reached, read or left running, whatever a line says."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from support_cage_attempts import ATTEMPTS
from support_sandbox import visible_folder
from support_tools import open_descriptors, running
from toolwright.processes.shell import CommandResult
from toolwright.sandbox.cage import cage
from toolwright.sandbox.cage import selection as cage_choice
from toolwright.sandbox.cage.cage import CageRules
from toolwright.sandbox.system_places import system_places
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio

SECRET = "the-secret-of-this-test"
CANARIES = ("/tmp/toolwright-canary", "/dev/shm/toolwright-canary", "/var/tmp/toolwright-canary")


@pytest.fixture
def anyio_backend() -> str:
    """What a command does is not a matter of the event loop."""
    return "asyncio"


@pytest.fixture(params=["own", "nobody"])
def user(request: pytest.FixtureRequest) -> str | None:
    if request.param == "own":
        return None
    if os.geteuid() != 0:
        pytest.skip("only root can run commands as somebody else")
    return "nobody"


class Host:
    """What a caged command must not reach: files, a process, and ears that hear every attempt to dial."""

    def __init__(self, base: Path, stack: ExitStack) -> None:
        self.base, self._stack = base, stack
        self.ws, self.outside, self.home = base / "ws", base / "outside", base / "home"
        self.seconds = 400_000 + os.getpid()
        self._make_files()
        command = ["sleep", "4000"]
        environment = {"HOST_KEY": SECRET, "PATH": "/usr/bin:/bin", "NAME": "toolwright-host-process"}
        self.process = subprocess.Popen(command, env=environment, cwd=self.outside)
        stack.callback(self._end)
        self.ears = dict(self._listen())

    def _make_files(self) -> None:
        for folder in (self.ws / "sub", self.ws / "empty", self.outside, self.home / ".ssh", self.home / "notes"):
            folder.mkdir(parents=True, exist_ok=True)
        for path in (self.ws / ".env", self.ws / "sub/.env", self.outside / "secret.txt"):
            path.write_text(f"KEY={SECRET}\n")
        for name in (".ssh/id_rsa", ".netrc", "notes/diary.txt"):
            (self.home / name).write_text(f"{SECRET}\n")
        (self.home / ".bashrc").write_text("# mine\n")
        (self.ws / "f.txt").write_text("x\n")
        (self.outside / "kept.txt").write_text("kept\n")
        (self.ws / "link-to-secret").symlink_to(self.home / ".ssh/id_rsa")
        (self.ws / "link-to-env").symlink_to(".env")
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", str(self.ws)]
        for words in (["init", "-q"], ["add", "f.txt"], ["commit", "-qm", "first"]):
            subprocess.run([*git, *words], check=True, env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)})

    def restore(self) -> None:
        """Make the working folder anew."""
        shutil.rmtree(self.ws)
        for path in (self.outside / "CANARY", self.home / "CANARY", *map(Path, CANARIES)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self._make_files()

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()

    def _listen(self) -> Iterator[tuple[str, socket.socket]]:
        abstract = f"toolwright-test-{os.getpid()}"
        made: list[tuple[str, socket.AddressFamily, socket.SocketKind, str | tuple[str, int]]] = [
            ("port", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("socket", socket.AF_UNIX, socket.SOCK_STREAM, str(self.base / "s")),
            ("datagrams", socket.AF_UNIX, socket.SOCK_DGRAM, str(self.base / "s.d")),
            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{abstract}"),
        ]
        for name, family, kind, address in made:
            ear = self._stack.enter_context(socket.socket(family, kind))
            ear.bind(address)
            ear.setblocking(False)
            if kind == socket.SOCK_STREAM:
                ear.listen()
            yield name, ear
        for name in ("s", "s.d"):
            os.chmod(self.base / name, 0o777)
        self.abstract = abstract

    def line(self, attempt: str) -> str:
        return attempt.format(
            ws=self.ws,
            outside=self.outside,
            home=self.home,
            pid=self.process.pid,
            port=self.ears["port"].getsockname()[1],
            udp=self.ears["udp"].getsockname()[1],
            socket=self.base / "s",
            abstract=self.abstract,
            seconds=self.seconds,
        )

    def hears(self) -> list[str]:
        """The ears that somebody dialed since the last time."""
        heard = []
        for name, ear in self.ears.items():
            try:
                ear.accept()[0].close() if ear.type == socket.SOCK_STREAM else ear.recv(99)
                heard.append(name)
            except BlockingIOError:
                continue
        return heard

    def state(self) -> dict[str, object]:
        """All that could have been changed: files with their attributes, and the process."""
        found: dict[str, object] = {name: os.path.lexists(name) for name in CANARIES}
        for folder in (self.ws, self.outside, self.home):
            for path in sorted(folder.rglob("*")):
                found[str(path)] = described(path)
        pid = self.process.pid
        found["process"] = (self.process.poll(), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid))
        found["limits"] = Path(f"/proc/{pid}/limits").read_text()
        found["state"] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        found["adjusted"] = Path(f"/proc/{pid}/oom_score_adj").read_text()
        found["shared"] = Path("/proc/sysvipc/shm").read_text()
        return found


def described(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else os.readlink(path) if path.is_symlink() else b""
    attributes = [] if path.is_symlink() else os.listxattr(path)
    old = status.st_atime < 1e9  # reading sets it anew; nothing here sets it back
    return (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, content, attributes, old)


@dataclass
class Stage:
    host: Host
    workspace: Workspace

    async def run(self, attempt: str, *, caged: bool = True, timeout: float = 90) -> CommandResult:
        return await self.workspace.commands.run(self.host.line(attempt), timeout=timeout, caged=caged)


@pytest.fixture
def stage(tmp_path: Path, mechanism: str, user: str | None) -> Iterator[Stage]:
    with ExitStack() as stack:
        base = stack.enter_context(visible_folder())
        host = Host(base, stack)
        if user is not None:
            subprocess.run(["chown", "-R", user, str(host.ws), str(host.home), str(host.outside)], check=True)
        environment = {"HOME": str(host.home), "PATH": "/usr/bin:/bin"}
        workspace = Workspace(str(host.ws), env=environment, state_dir=str(tmp_path / "state"), user=user)
        rules = CageRules(
            (str(host.ws),),
            system_places(str(host.home), environment),
            str(host.home),
            is_hidden=lambda path: os.path.basename(path) == ".env",
        )
        workspace.commands.cage_by(lambda: rules)
        yield Stage(host, workspace)
        shutil.rmtree(tmp_path / "state", ignore_errors=True)


@pytest.mark.parametrize("kind", ATTEMPTS)
async def test_no_attempt_has_an_effect_on_the_host(stage: Stage, kind: str) -> None:
    before = stage.host.state()
    at_once = anyio.Semaphore(4)
    assert stage.host.hears() == []

    async def attempt(line: str) -> None:
        async with at_once:
            result = await stage.run(line)
        assert not result.timed_out, line
        assert SECRET not in result.output.text, line

    async with anyio.create_task_group() as group:
        for line in ATTEMPTS[kind]:
            group.start_soon(attempt, line)
    assert stage.host.hears() == []
    assert running(f"sleep {stage.host.seconds}") == []
    assert stage.host.state() == before
    await stage.workspace.close()


@pytest.mark.parametrize(("mechanism", "user"), [("Landlock", "own")], indirect=True)
async def test_most_attempts_would_have_an_effect_without_the_cage(stage: Stage) -> None:
    """What they try is real: the same lines, let through. Only those that change the test's own files, or read or dial."""
    without = []
    writing = (line for line in ATTEMPTS["writing"] if "CANARY" in line and "mount" not in line and "sysrq" not in line)
    tried = [*ATTEMPTS["dialing"], *ATTEMPTS["reading"], *writing]
    for attempt in tried:
        before = stage.host.state()
        result = await stage.run(attempt, caged=False, timeout=0.5)
        if stage.host.state() == before and not stage.host.hears() and SECRET not in result.output.text:
            without.append(attempt)
        stage.host.restore()
    await stage.workspace.close()
    assert len(without) < len(tried) / 3, without


async def test_a_caged_command_reads_the_working_folder_and_the_system(stage: Stage) -> None:
    result = await stage.run("cat f.txt; ls sub; cat /etc/os-release | head -1; git log --format=%s; echo $((1+1)) <(true)")
    assert result.exit_code == 0, result.output.text
    assert result.output.text.splitlines()[0] == "x"
    assert "first" in result.output.text
    assert result.notices == ()
    await stage.workspace.close()


async def test_it_may_use_its_scratch_and_the_null_device(stage: Stage) -> None:
    result = await stage.run("echo kept > $TMPDIR/a && cat $TMPDIR/a; echo gone > /dev/null; sort <(echo b; echo a)")
    assert result.output.text == "kept\na\nb\n"
    await stage.workspace.close()


async def test_what_was_stopped_is_told_and_remembered(stage: Stage) -> None:
    result = await stage.run("touch {ws}/CANARY")
    assert "needs permission to write" in result.notices[0]
    assert stage.workspace.commands.was_stopped(stage.host.line("touch {ws}/CANARY"))
    assert not stage.workspace.commands.was_stopped("ls")
    await stage.workspace.close()


async def test_a_background_command_is_caged_too(stage: Stage) -> None:
    before = stage.host.state()
    shell = await stage.workspace.commands.start(stage.host.line("touch {ws}/CANARY; sleep {seconds}"), caged=True)
    time.sleep(0.3)
    assert shell.running
    assert stage.host.state() == before
    await stage.workspace.close()
    assert running(f"sleep {stage.host.seconds}") == []


async def test_nothing_of_ours_stays_open(stage: Stage) -> None:
    await stage.run("true")
    before = open_descriptors()
    for _ in range(5):
        await stage.run("true")
    assert open_descriptors() == before
    await stage.workspace.close()


async def test_a_file_replaced_by_rename_stays_hidden_or_readable_as_the_rules_say(stage: Stage) -> None:
    for name, text in ((".env", f"KEY={SECRET}2\n"), ("f.txt", "y\n")):
        fresh = stage.host.ws / "fresh"
        fresh.write_text(text)
        os.chmod(fresh, 0o644)
        fresh.rename(stage.host.ws / name)
    result = await stage.run("cat f.txt .env")
    assert "y" in result.output.text
    assert SECRET not in result.output.text
    await stage.workspace.close()


async def test_without_a_mechanism_nothing_runs_caged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cage_choice.VARIABLE, "none")
    workspace = Workspace(str(tmp_path), env={}, state_dir=str(tmp_path / "state"))
    workspace.commands.cage_by(lambda: CageRules((str(tmp_path),), (), "/nonexistent"))
    with pytest.raises(Exception, match="no cage works here"):
        await workspace.commands.run("true", caged=True)
    await workspace.close()


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ("touch: cannot touch 'x': Permission denied", "write"),
        ("touch: cannot touch 'x': Read-only file system", "write"),
        ("chmod: changing permissions of 'f': Operation not permitted", "write"),
        ("curl: (6) Could not resolve host: example.com", "network"),
        ("hello: world", None),
        ("a line that speaks of Permission denied", None),
        ("", None),
    ],
)
def test_what_the_cage_stopped_is_read_off_the_output(output: str, wanted: str | None) -> None:
    found = cage.stopped_by_cage(output)
    assert found is None if wanted is None else wanted in (found or "")
