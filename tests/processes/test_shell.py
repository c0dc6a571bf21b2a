from __future__ import annotations

import os
import resource
import secrets
import stat
from pathlib import Path

import anyio
import pytest

from support_tools import make_workspace, open_descriptors, running, watchdog_gone
from toolwright.workspace import CommandNotStarted, PathNotAllowed

pytestmark = pytest.mark.anyio


async def test_output_code_and_folder_come_back(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    result = await workspace.commands.run("echo out; echo err >&2; mkdir sub; cd sub; exit 3")
    assert (result.output.text, result.exit_code, result.last_directory) == ("out\nerr\n", 3, f"{tmp_path}/ws/sub")


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("kill -9 $$", 137, ""),
        ("exec false", 1, ""),
        ("set -e; false; echo no", 1, ""),
        ('echo "$#:$0"', 0, "0:bash\n"),
        ("cat; read x || echo none", 0, "none\n"),
        ("printf 'a\\0\\xff\\x01z'", 0, "a\\x00\\xff\\x01z"),
        ("echo one; exec 1>&- 2>&-; true", 0, "one\n"),
        ("trap 'echo bye' EXIT", 0, "bye\n"),
    ],
)
async def test_each_way_to_end_is_reported(tmp_path: Path, command: str, code: int, text: str) -> None:
    result = await make_workspace(tmp_path).commands.run(command, timeout=20)
    assert (result.exit_code, result.output.text) == (code, text)


async def test_a_child_that_holds_stdout_open_does_not_delay_the_result(tmp_path: Path) -> None:
    marker = str(secrets.randbelow(10**6) + 10**6)
    workspace = make_workspace(tmp_path)
    result = await workspace.commands.run(f"echo hi; (sleep {marker} &)", timeout=60)
    assert (result.output.text, result.timed_out) == ("hi\n", False)
    assert running(f"sleep {marker}")  # it may go on until the session ends
    await workspace.close()
    assert not running(f"sleep {marker}")


TREE = """
sleep {m} & nohup sleep {m} >/dev/null 2>&1 &
setsid sleep {m} & (setsid sh -c 'trap "" TERM HUP; sleep {m}; sleep {m}' >/dev/null 2>&1 &)
(env -i setsid sh -c 'trap "" TERM; (sleep {m} &) ; sleep {m}; sleep {m}' </dev/null >/dev/null 2>&1 &)
trap '' TERM
echo started; sleep {m}; sleep {m}
"""


async def test_a_timeout_leaves_no_descendant(tmp_path: Path) -> None:
    marker = str(secrets.randbelow(10**6) + 10**6)
    result = await make_workspace(tmp_path).commands.run(TREE.format(m=marker), timeout=1.0)
    assert result.timed_out
    assert result.output.text.startswith("started\n")  # bash may add which of its children was killed
    assert result.processes_ended >= 2
    assert not running(marker)


async def test_cancelling_leaves_no_descendant_and_no_descriptor(tmp_path: Path) -> None:
    marker = str(secrets.randbelow(10**6) + 10**6)
    workspace = make_workspace(tmp_path)
    await workspace.commands.run("true")
    before = open_descriptors()
    async with anyio.create_task_group() as group:
        group.start_soon(workspace.commands.run, f"touch started; {TREE.format(m=marker)}")
        with anyio.fail_after(10):
            while len(running(f"sleep {marker}")) < 5:
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert not running(marker)
    assert open_descriptors() == before


async def test_a_terminated_command_may_still_say_something(tmp_path: Path) -> None:
    command = (
        "trap 'head -c 200000 /dev/zero | tr \"\\0\" x; echo cleaned up; exit 5' TERM; echo begun; while :; do sleep 0.05; done"
    )
    result = await make_workspace(tmp_path).commands.run(command, timeout=0.5)
    assert result.timed_out
    assert result.output.text.startswith("begun\n")
    assert result.output.text.endswith("cleaned up\n")


async def test_a_flood_of_output_keeps_memory_flat_and_the_whole_in_a_file(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    await workspace.commands.run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = 64 << 20
    result = await workspace.commands.run(f"echo begin; head -c {size} /dev/zero | tr '\\0' x; echo; echo end", timeout=60)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 16 * 1024  # KiB
    saved = result.output.saved_to
    assert saved is not None
    assert os.stat(saved).st_size == result.output.total_bytes == size + 11
    assert stat.S_IMODE(os.stat(saved).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(saved)).st_mode) == 0o700
    assert len(result.output.text) < 31_000
    assert result.output.text.startswith("begin\nx")
    assert result.output.text.endswith("x\nend\n")
    assert f"{size + 11:,} bytes" in result.output.text
    assert saved in result.output.text
    await workspace.close()
    assert not os.path.exists(saved)


@pytest.mark.parametrize(
    "command",
    [
        "head -c 300000000 /dev/zero | tr '\\0' x",
        "seq 1000000",
        "head -c 50000000 /dev/urandom",
        "seq 300000 >&2 & seq 300000; wait",
    ],
    ids=["one line", "a million lines", "binary", "two streams"],
)
async def test_no_kind_of_flood_takes_memory(tmp_path: Path, command: str) -> None:
    workspace = make_workspace(tmp_path)
    await workspace.commands.run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await workspace.commands.run(command, timeout=100)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024  # KiB
    assert (result.exit_code, result.timed_out) == (0, False)
    assert len(result.output.text) < 31_000
    assert result.output.saved_bytes == result.output.total_bytes > 3_000_000
    await workspace.close()


async def test_the_event_loop_goes_on_during_a_flood(tmp_path: Path) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.005)
            ticks += 1

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await make_workspace(tmp_path).commands.run("yes", timeout=0.5)
        group.cancel_scope.cancel()
    assert ticks


async def test_no_descriptor_and_no_zombie_is_left(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    await workspace.commands.run("true")
    await watchdog_gone()
    before = open_descriptors()
    for _ in range(5):
        await workspace.commands.run("echo hi")
        await workspace.commands.run("yes | head -c 200000")
        with pytest.raises(CommandNotStarted, match="Argument list too long"):
            await workspace.commands.run("x" * 200_000)
    await watchdog_gone()
    assert open_descriptors() == before


async def test_a_folder_outside_is_no_place_to_run_in(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for folder in ("/", "..", str(tmp_path)):
        with pytest.raises(PathNotAllowed):
            await workspace.commands.run("true", cwd=folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_commands_run_as_the_user_of_the_session(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, user="nobody")
    result = await workspace.commands.run("id -un; echo $USER; kill -0 1 2>/dev/null || echo harmless")
    assert result.output.text == "nobody\nnobody\nharmless\n"
    with pytest.raises(CommandNotStarted, match="no user"):
        await make_workspace(tmp_path, user="nobody-at-all").commands.run("true")


async def test_many_commands_run_at_once(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    results: list[str] = []

    async def one(number: int) -> None:
        results.append((await workspace.commands.run(f"sleep 0.2; echo {number}")).output.text.strip())

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    assert sorted(map(int, results)) == list(range(20))
