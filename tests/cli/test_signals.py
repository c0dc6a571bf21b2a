"""How the command's work ends: by itself, by a failure, by a signal, by a closed output. Each in a process of its own."""

import signal
import subprocess
import sys
import textwrap

import pytest

PROLOGUE = """
import sys, os, anyio
from toolwright.cli.signals import run
from toolwright.cli.frame_io import FrameOutput
from toolwright.types import ClaudeSDKError
"""


def started(program: str) -> subprocess.Popen[bytes]:
    source = PROLOGUE + textwrap.dedent(program)
    return subprocess.Popen(
        [sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finished(program: str) -> tuple[int, str, str]:
    with started(program) as process:
        out, err = process.communicate(timeout=60)
        return process.returncode, out.decode(), err.decode()


def test_the_exit_code_is_what_the_work_returns() -> None:
    assert finished("""
        async def work(stopping): return 7
        sys.exit(run(work))
    """) == (7, "", "")


def test_a_library_error_is_one_line() -> None:
    assert finished("""
        async def work(stopping): raise ClaudeSDKError("model: say which one")
        sys.exit(run(work))
    """) == (1, "", "toolwright: model: say which one\n")


def test_a_fault_of_ours_is_called_one_and_has_a_traceback_only_with_debug() -> None:
    program = """
        async def work(stopping): raise KeyError("x")
        sys.exit(run(work, debug={debug}))
    """
    code, _, err = finished(program.format(debug=False))
    assert (code, err) == (1, "toolwright: internal error: KeyError: 'x' (run it again with --debug to see where)\n")
    assert "Traceback" in finished(program.format(debug=True))[2]


def test_a_lone_error_in_a_group_is_told_as_itself() -> None:
    code, _, err = finished("""
        async def work(stopping): raise ExceptionGroup("tasks", [ExceptionGroup("inner", [ClaudeSDKError("inner reason")])])
        sys.exit(run(work))
    """)
    assert (code, err) == (1, "toolwright: inner reason\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_work_in_good_order(number: signal.Signals, code: int) -> None:
    with started("""
        async def work(stopping):
            try:
                os.write(1, b"ready\\n")
                await anyio.sleep_forever()
            finally:
                os.write(1, b"closed\\n")
        sys.exit(run(work))
    """) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (code, b"closed\n", b"")


def test_a_reader_that_goes_away_ends_the_work_quietly() -> None:
    with started("""
        async def work(stopping):
            output = FrameOutput(1, stopping.output_closed)
            while True:
                await output.write({"text": "x" * 1000})
        sys.exit(run(work))
    """) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


def test_a_reader_that_does_not_read_cannot_keep_a_stopped_process_alive() -> None:
    with started("""
        async def work(stopping):
            output = FrameOutput(1, stopping.output_closed)
            stopping.before = output.abandon
            os.write(2, b"ready\\n")
            await output.write({"text": "x" * 1_000_000})
        sys.exit(run(work))
    """) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143


def test_an_open_stdin_does_not_keep_the_process_alive() -> None:
    with started("""
        from toolwright.cli.stdio import read_chunk
        async def work(stopping):
            with anyio.move_on_after(0.01):
                await read_chunk(0)
            return 3
        sys.exit(run(work))
    """) as process:
        assert process.wait(timeout=60) == 3
