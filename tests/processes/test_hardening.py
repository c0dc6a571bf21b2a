from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support_limits import NOBODY
from support_tools import error_of, make_workspace, text_of

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has it"),
    pytest.mark.skipif(os.geteuid() != 0, reason="root alone can be two processes of another user"),
]

SOURCE = Path(__file__).parents[2] / "src"

# A process that is no longer root runs `work` with or without the protection. A command goes through all once as root, so that
# everything is loaded: that user need not be able to read it.
AS_NOBODY = f"""
import os, sys, subprocess, tempfile
import anyio, ctypes
import toolwright.workspace.workspace as room, toolwright.processes.hardening as dumpable
async def once(folder):
    workspace = room.Workspace(folder, env={{}}, state_dir=folder + "/state")
    await workspace.commands.run("(setsid sleep 600 &); sleep 600", timeout=0.1)
    await workspace.close()
with tempfile.TemporaryDirectory() as folder:
    anyio.run(once, folder)
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
"""
LOOK = """
import os, sys
for name in ("environ", "mem", "maps", "fd", "cwd", "root"):
    path = f"/proc/{sys.argv[1]}/{name}"
    try:
        if name in ("cwd", "root"):
            os.readlink(path)
        elif name == "fd":
            os.listdir(path)
        else:
            os.close(os.open(path, os.O_RDONLY))
        print(name)
    except OSError:
        pass
"""
BESIDE = """
if sys.argv[1] == "protected":
    assert dumpable.refuse_inspection()
else:
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # setuid took it away
print(subprocess.run(["/usr/bin/python3", "-I", "-c", sys.argv[2], str(os.getpid())], capture_output=True, text=True).stdout)
"""

needs_python = pytest.mark.skipif(not os.access("/usr/bin/python3", os.X_OK), reason="no python3 that another user can run")


def as_nobody(work: str, *arguments: str, cwd: str = "/") -> str:
    argv = [sys.executable, "-c", AS_NOBODY + work, *arguments]
    done = subprocess.run(
        argv, capture_output=True, text=True, cwd=cwd, env={"PYTHONPATH": str(SOURCE), "PLANTED": "x"}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_python
def test_another_process_of_the_user_can_look_into_one_that_is_not_protected() -> None:
    assert {"environ", "mem", "maps", "fd"} <= set(as_nobody(BESIDE, "open", LOOK).split())


@needs_python
def test_no_other_process_of_the_user_can_look_into_a_protected_one() -> None:
    assert as_nobody(BESIDE, "protected", LOOK).split() == []


COMMANDS = """
assert dumpable.refuse_inspection()
async def work():
    workspace = room.Workspace(sys.argv[1], env={}, state_dir=sys.argv[1] + "/state")
    result = await workspace.commands.run("pwd; id -u; sleep 600 & cat /proc/$PPID/environ || echo refused")
    print(result.output.text, result.exit_code)
    result = await workspace.commands.run("(setsid sleep 600 &); sleep 600", timeout=0.5)
    print("timed out", result.timed_out, result.processes_ended)
    await workspace.close()
anyio.run(work)
"""


def test_commands_run_as_ever_under_a_protected_process_that_is_not_root() -> None:
    with tempfile.TemporaryDirectory() as folder:  # others can get there, unlike to tmp_path
        os.chown(folder, NOBODY, NOBODY)
        said = as_nobody(COMMANDS, folder)
    assert said.startswith(f"{folder}\n{NOBODY}\n")
    assert "refused" in said
    assert "PLANTED" not in said
    assert "timed out True" in said


AFTER_THE_COMMAND = """
import ctypes
from toolwright.cli.main import main
main(["-p"])  # no prompt: it ends before it does anything
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


def test_the_command_protects_itself() -> None:
    argv = [sys.executable, "-c", AFTER_THE_COMMAND]
    assert subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True).stdout == "0\n"


# A program that uses the library and holds a key. It goes through all once as root, so that everything is loaded.
WITH_A_SESSION = """
import anyio, ctypes, os, sys
from toolwright import ClaudeAgentOptions, query, refuse_inspection
from toolwright.testing import Call, Say, ScriptedModel

async def work(folder):
    model = ScriptedModel([Call("Bash", {"command": "cat /proc/$PPID/environ || echo refused"}), Say("done")])
    state = {"CLAUDE_CONFIG_DIR": folder + "/state"}
    options = ClaudeAgentOptions(model=model, cwd=folder, allowed_tools=["Bash"], env=state)
    async for message in query(prompt="x", options=options):
        print(message)

anyio.run(work, sys.argv[1])
os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[3]))
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # setuid took it away
assert sys.argv[4] == "open" or refuse_inspection()
print("as somebody else")
anyio.run(work, sys.argv[2])
"""


@pytest.mark.parametrize("protected", [False, True])
def test_a_program_with_the_library_can_keep_its_keys_from_commands(tmp_path: Path, protected: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:  # others can get there
        os.chown(folder, NOBODY, NOBODY)
        arguments = [str(tmp_path), folder, str(NOBODY), "protected" if protected else "open"]
        argv = [sys.executable, "-c", WITH_A_SESSION, *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, env={"PLANTED": "a key"}, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout.partition("as somebody else")[2]
    assert ("PLANTED=a key" in said) != protected
    assert ("refused" in said.replace("|| echo refused", "")) == protected


def test_importing_the_library_changes_nothing() -> None:
    code = "import ctypes, toolwright.runtime.assemble, toolwright.client; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["environ", "mem", "maps", "cmdline", "fd/0"])
@pytest.mark.parametrize("process", ["self", "1", "own"])
async def test_file_tools_stay_out_of_proc(tmp_path: Path, name: str, process: str) -> None:
    path = f"/proc/{os.getpid() if process == 'own' else process}/{name}"
    workspace = make_workspace(tmp_path)
    for tool, fields in (("Read", {"file_path": path}), ("Grep", {"pattern": ".", "path": path}), ("LS", {"path": path})):
        assert "outside" in await error_of(tool, workspace, **fields)
    (tmp_path / "ws" / "link").symlink_to(path)
    assert await error_of("Read", workspace, file_path="link")
    assert await error_of("Glob", workspace, pattern="*", path=os.path.dirname(path))


@pytest.mark.anyio
async def test_a_command_finds_no_secret_in_its_own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "ghp_0123456789abcdefghij0123")
    said = await text_of("Bash", make_workspace(tmp_path), command="cat /proc/self/environ /proc/$$/environ /proc/self/cmdline")
    assert "ghp_" not in said
