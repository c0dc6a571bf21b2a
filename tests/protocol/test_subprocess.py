import json
import os
import pwd
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_client import children, nothing_left, write_program
from toolwright.protocol.subprocess import SubprocessTransport
from toolwright.types import CLIConnectionError, CLIJSONDecodeError, CLINotFoundError, ProcessError

pytestmark = pytest.mark.anyio

ECHO = """
import sys
for line in sys.stdin:
    print(line, end="", flush=True)
"""


async def received(transport: SubprocessTransport) -> list[dict[str, Any]]:
    return [frame async for frame in transport.read_messages()]


def program(tmp_path: Path, source: str, **options: Any) -> SubprocessTransport:
    return SubprocessTransport([str(write_program(tmp_path, source))], **options)


async def test_lines_go_there_and_come_back(tmp_path: Path) -> None:
    transport = program(tmp_path, ECHO)
    async with nothing_left():
        await transport.connect()
        assert transport.is_ready()
        await transport.write('{"n":1}\n')
        await transport.write('noise\n{"n":2}\n')
        await transport.end_input()
        assert not transport.is_ready()
        assert await received(transport) == [{"n": 1}, {"n": 2}]
        await transport.close()
        await transport.close()


async def test_folder_environment_and_arguments_reach_the_child(tmp_path: Path) -> None:
    source = "import json, os, sys; print(json.dumps({'cwd': os.getcwd(), 'env': dict(os.environ), 'args': sys.argv[1:]}))"
    path = write_program(tmp_path, source)
    transport = SubprocessTransport([str(path), "a b", "--x="], cwd=tmp_path, env={"ONLY": "this"})
    await transport.connect()
    [frame] = await received(transport)
    await transport.close()
    assert frame["cwd"] == str(tmp_path.resolve())
    assert frame["env"]["ONLY"] == "this"
    assert "HOME" not in frame["env"]
    assert frame["args"] == ["a b", "--x="]


async def test_a_line_of_thirty_megabytes_comes_whole(tmp_path: Path) -> None:
    transport = program(tmp_path, ECHO)
    data = json.dumps({"data": "x" * 30_000_000}) + "\n"
    await transport.connect()
    async with anyio.create_task_group() as group:
        group.start_soon(transport.write, data)
        stream = transport.read_messages()
        frame = await anext(stream)
    assert len(frame["data"]) == 30_000_000
    await transport.end_input()
    assert [rest async for rest in stream] == []
    await transport.close()


async def test_a_limit_on_lines_is_kept_when_the_caller_sets_one(tmp_path: Path) -> None:
    transport = program(tmp_path, "print('{\"data\":\"' + 'x' * 5000 + '\"}')", max_buffer_size=1000)
    await transport.connect()
    with pytest.raises(CLIJSONDecodeError, match="max_buffer_size=1000"):
        await received(transport)
    await transport.close()


async def test_a_failing_child_is_an_error_with_its_own_last_words(tmp_path: Path) -> None:
    source = "import sys\nfor n in range(100): print('word', n, file=sys.stderr)\nsys.exit(7)"
    transport = program(tmp_path, source)
    await transport.connect()
    with pytest.raises(ProcessError) as caught:
        await received(transport)
    await transport.close()
    assert caught.value.exit_code == 7
    assert caught.value.stderr is not None
    assert caught.value.stderr.splitlines() == [f"word {n}" for n in range(50, 100)]
    assert "word 99" in str(caught.value)


async def test_a_child_ended_by_a_signal_is_named_so(tmp_path: Path) -> None:
    transport = program(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    await transport.connect()
    with pytest.raises(ProcessError, match="SIGKILL") as caught:
        await received(transport)
    await transport.close()
    assert caught.value.exit_code == -signal.SIGKILL


async def test_a_torn_last_line_is_dropped_and_said_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    transport = program(tmp_path, """import sys; sys.stdout.write('{"a":1}\\n{"b":')""")
    await transport.connect()
    assert await received(transport) == [{"a": 1}]
    await transport.close()
    assert "unfinished" in caplog.text


async def test_a_broken_line_is_a_typed_error_after_what_came_before(tmp_path: Path) -> None:
    transport = program(tmp_path, """print('{"a":1}\\n{broken}\\n{"b":2}')""")
    await transport.connect()
    stream = transport.read_messages()
    assert await anext(stream) == {"a": 1}
    with pytest.raises(CLIJSONDecodeError, match="broken"):
        await anext(stream)
    await transport.close()


async def test_diagnostics_reach_the_callback_line_by_line_even_if_it_raises(tmp_path: Path) -> None:
    lines: list[str] = []

    def callback(line: str) -> None:
        lines.append(line)
        raise RuntimeError("not today")

    transport = program(tmp_path, "import sys; print('one\\n\\ntwo', file=sys.stderr); print('{}')", stderr=callback)
    await transport.connect()
    assert await received(transport) == [{}]
    await transport.close()
    assert lines == ["one", "two"]


async def test_a_flood_of_diagnostics_does_not_block_the_child(tmp_path: Path) -> None:
    source = "import sys\nsys.stderr.write('x' * 3_000_000)\nprint('{\"done\":true}')"
    transport = program(tmp_path, source)
    await transport.connect()
    assert await received(transport) == [{"done": True}]
    await transport.close()


async def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    with pytest.raises(CLINotFoundError, match="nowhere"):
        await SubprocessTransport([str(tmp_path / "nowhere")]).connect()
    with pytest.raises(CLINotFoundError, match="no-such-command-anywhere"):
        await SubprocessTransport(["no-such-command-anywhere"]).connect()
    with pytest.raises(CLIConnectionError, match=r"Working directory does not exist: .*gone"):
        await SubprocessTransport([sys.executable], cwd=tmp_path / "gone").connect()
    with pytest.raises(CLIConnectionError, match="Permission denied"):
        await SubprocessTransport([str(plain)]).connect()
    with pytest.raises(CLIConnectionError, match="no user 'nobody-of-this-name'"):
        await SubprocessTransport([sys.executable], user="nobody-of-this-name").connect()
    with pytest.raises(CLIConnectionError, match="Argument list too long"):
        await SubprocessTransport([sys.executable, "x" * 10_000_000]).connect()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_a_program_that_its_user_cannot_reach_is_named_with_the_closed_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(CLIConnectionError, match=r"program: user 'nobody' may not enter /.*chmod o\+x /"):
        await SubprocessTransport([str(program)], user="nobody").connect()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_a_program_of_another_user_keeps_none_of_our_groups() -> None:
    who = 'echo "{\\"type\\": \\"who\\", \\"ids\\": \\"$(id -u) $(id -G)\\"}"'
    transport = SubprocessTransport(["/bin/sh", "-c", who], user="nobody", cwd="/")
    await transport.connect()
    entry = pwd.getpwnam("nobody")
    frames = [frame async for frame in transport.read_messages()]
    assert frames == [{"type": "who", "ids": f"{entry.pw_uid} {entry.pw_gid}"}]
    await transport.close()


async def test_before_connect_nothing_can_be_read_or_written() -> None:
    transport = SubprocessTransport([sys.executable])
    with pytest.raises(CLIConnectionError, match="not connected"):
        await transport.write("{}\n")
    with pytest.raises(CLIConnectionError, match="Not connected"):
        await received(transport)
    await transport.end_input()
    await transport.close()


async def test_writing_to_a_child_that_has_ended_tells_its_last_words(tmp_path: Path) -> None:
    transport = program(tmp_path, "import sys; sys.exit('out of memory')")
    await transport.connect()
    with pytest.raises(ProcessError):
        await received(transport)
    with pytest.raises(CLIConnectionError, match=r"exit code 1.*out of memory"):
        await transport.write("{}\n")
    await transport.close()


async def test_closing_ends_a_child_that_ignores_everything_but_sigkill(tmp_path: Path) -> None:
    source = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('{}', flush=True)\ntime.sleep(600)"
    transport = program(tmp_path, source)
    transport.exit_seconds = 0.3
    async with nothing_left():
        await transport.connect()
        stream = transport.read_messages()
        assert await anext(stream) == {}
        await stream.aclose()  # type: ignore[attr-defined]  # a generator
        await transport.close()


async def test_closing_does_not_wait_for_a_child_that_waits_for_its_reader(tmp_path: Path) -> None:
    source = "import sys\nsys.stdin.read()\nsys.stdout.write('x' * 5_000_000)"
    transport = program(tmp_path, source)
    async with nothing_left():
        await transport.connect()
        with anyio.fail_after(4):
            await transport.close()


async def test_a_cancelled_owner_still_closes(tmp_path: Path) -> None:
    transport = program(tmp_path, ECHO)
    async with nothing_left():
        with anyio.CancelScope() as scope:
            await transport.connect()
            try:
                scope.cancel()
                await anyio.sleep_forever()
            finally:
                await transport.close()
    assert transport.pid is None


async def test_a_cancelled_write_never_cuts_a_line(tmp_path: Path) -> None:
    source = "import json, os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
    source += "for line in sys.stdin: print(json.dumps({'length': len(line)}), flush=True)"
    go = tmp_path / "go"
    transport = SubprocessTransport([str(write_program(tmp_path, source)), str(go)])
    await transport.connect()
    with anyio.move_on_after(0.2) as scope:
        await transport.write('{"data":"' + "x" * 3_000_000 + '"}\n')
    assert scope.cancelled_caught
    go.touch()
    await transport.write('{"next":1}\n')
    await transport.end_input()
    assert await received(transport) == [{"length": 3_000_012}, {"length": 11}]
    await transport.close()


async def test_pipes_held_by_a_grandchild_neither_hang_nor_leak(tmp_path: Path) -> None:
    source = "import os, time\nif os.fork() == 0:\n    time.sleep(8)\n    os._exit(0)\nprint('{}', flush=True)"
    transport = program(tmp_path, source)
    async with nothing_left():
        await transport.connect()
        with anyio.fail_after(15):
            assert await received(transport) == [{}]
            await transport.close()


async def test_many_children_leave_nothing(tmp_path: Path) -> None:
    async with nothing_left(), anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(_echo_once, program(tmp_path, ECHO))
    assert not children()


async def _echo_once(transport: SubprocessTransport) -> None:
    await transport.connect()
    await transport.write('{"n":1}\n')
    await transport.end_input()
    assert await received(transport) == [{"n": 1}]
    await transport.close()


async def test_a_relative_path_is_meant_from_here_not_from_the_childs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path, "print('{}')", name="tool")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    transport = SubprocessTransport([f".{os.sep}tool"], cwd=tmp_path / "elsewhere")
    await transport.connect()
    assert await received(transport) == [{}]
    await transport.close()


async def test_a_private_argument_is_read_by_the_child_and_seen_by_nobody_else(tmp_path: Path) -> None:
    source = """
import json, sys
seen = open("/proc/self/cmdline").read() if sys.platform == "linux" else " ".join(sys.argv)
print(json.dumps({"text": open(sys.argv[2]).read(), "again": open(sys.argv[2]).read(), "seen": seen, "plain": sys.argv[3]}))
"""
    path = write_program(tmp_path, source)
    transport = SubprocessTransport([str(path), "--settings", '{"key": "sécret"}', "plain"], private=['{"key": "sécret"}'])
    before = len(os.listdir("/dev/fd"))
    await transport.connect()
    [frame] = await received(transport)
    await transport.close()
    assert frame["text"] == '{"key": "sécret"}'
    assert frame["plain"] == "plain"
    assert "cret" not in frame["seen"]
    assert len(os.listdir("/dev/fd")) == before
