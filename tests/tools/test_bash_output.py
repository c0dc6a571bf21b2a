from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from support_tools import call, error_of, make_workspace, text_of
from toolwright.processes.background import BackgroundShell
from toolwright.tools import bash_output
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def workspace_in(folder: Path) -> AsyncIterator[Workspace]:
    workspace = make_workspace(folder)
    try:
        yield workspace
    finally:
        await workspace.close()


async def start(workspace: Workspace, command: str) -> BackgroundShell:
    output = await call("Bash", workspace, command=command, run_in_background=True, description="a test")
    return workspace.commands.shell(output.structured["backgroundTaskId"])


async def written(shell: BackgroundShell, size: int) -> None:
    with anyio.fail_after(30):
        while shell.log.size < size:
            await anyio.sleep(0.01)


async def test_bash_returns_at_once_with_an_id_and_a_file(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        output = await call("Bash", workspace, command="exec sleep 1000", run_in_background=True)
        (shell,) = workspace.commands.shells
        assert output.content == f"Command running in background with ID: {shell.id}. Its output goes to {shell.log.path}."
        assert output.is_error is None
        assert output.structured["backgroundTaskId"] == output.structured["bash_id"] == shell.id
        assert await text_of("Read", workspace, file_path=shell.log.path)


async def test_the_working_directory_stays_where_it_is(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        (tmp_path / "ws/sub").mkdir()
        await (await start(workspace, "cd sub")).wait(30)
        assert workspace.cwd == workspace.home
        await call("Bash", workspace, command="cd sub")
        shell = await start(workspace, "pwd")
        await shell.wait(30)
        assert shell.log.read_new(1000).text == f"{tmp_path}/ws/sub\n"
        assert "Nothing was run" in await error_of("Bash", workspace, command="true", cwd="no", run_in_background=True)


async def test_only_what_is_new_is_shown_with_status_and_exit_code(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        shell = await start(workspace, "echo one; until test -e go; do sleep 0.01; done; echo two; exit 3")
        await written(shell, 4)
        first = await call("BashOutput", workspace, bash_id=shell.id)
        assert first.content == f"{shell.id} is running\none\n[log: {shell.log.path}, 4 bytes]"
        assert first.structured["retrieval_status"] == "not_ready"
        assert not shell.told
        again = await text_of("BashOutput", workspace, bash_id=shell.id)
        assert again.splitlines()[1] == "(no new output)"
        (tmp_path / "ws/go").touch()
        last = await call("BashOutput", workspace, task_id=shell.id, block=True)
        assert last.content == f"{shell.id} failed (exit code 3)\ntwo\n[log: {shell.log.path}, 8 bytes]"
        task = {"task_id": shell.id, "task_type": "local_bash", "status": "failed", "description": "a test", "exitCode": 3}
        assert last.structured["retrieval_status"] == "success"
        assert last.structured["task"].items() >= (task | {"output": "two\n", "output_file": shell.log.path}).items()
        assert shell.told


async def test_blocking_ends_after_the_timeout(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        shell = await start(workspace, "exec sleep 1000")
        output = await call("BashOutput", workspace, bash_id=shell.id, block=True, timeout=50)
        assert output.structured["retrieval_status"] == "timeout"
        assert "[still running after 50 ms]" in output.text


async def test_a_filter_skips_lines_but_not_in_the_log(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        shell = await start(workspace, "printf 'PASS a\\nnoise\\nFAIL b\\n'")
        await shell.wait(30)
        assert "unclosed group" in await error_of("BashOutput", workspace, bash_id=shell.id, filter="(")
        text = await text_of("BashOutput", workspace, bash_id=shell.id, filter="PASS|FAIL")
        assert text.splitlines()[1:4] == [
            "PASS a",
            "FAIL b",
            "[filter: 2 of 3 new lines match; the others are in the log only]",
        ]
        assert "(no new output)" in await text_of("BashOutput", workspace, bash_id=shell.id)
        assert "noise" in Path(shell.log.path).read_text()


async def test_a_filter_takes_much_output_piece_by_piece_and_says_so(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        lines = bash_output.FILTERED_BYTES // 8
        shell = await start(workspace, f"seq -f %07.0f {lines + 10}")
        await shell.wait(30)
        first = await text_of("BashOutput", workspace, bash_id=shell.id, filter="7$")
        assert "[only the first 30,000 characters of them are shown" in first
        assert "[80 more bytes are new: call again for them]" in first
        second = await text_of("BashOutput", workspace, bash_id=shell.id, filter="7$")
        assert "more bytes are new" not in second
        assert "1 of 10 new lines match" in second


async def test_of_very_much_the_ends_are_shown(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        shell = await start(workspace, "seq 1000000")
        await shell.wait(30)
        text = await text_of("BashOutput", workspace, bash_id=shell.id)
        assert len(text) < 31_000
        assert text.splitlines()[1] == "1"
        assert "\n1000000\n[log:" in text
        assert f"[... {6888896 - 30_000:,} bytes left out here: they are in {shell.log.path} ...]" in text


async def test_an_unknown_id_lists_the_known_ones(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        assert "This session has started none" in await error_of("BashOutput", workspace, bash_id="bx")
        shell = await start(workspace, "exec sleep 1000")
        for tool, field in (("BashOutput", "bash_id"), ("KillShell", "shell_id")):
            assert f"There are: {shell.id} (running)." in await error_of(tool, workspace, **{field: "bx"})


async def test_killing_says_what_was_ended_and_what_had_ended_before(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        command = "sleep 1000 & echo here; while :; do wait; done"  # does not end by itself when sleep is ended first
        shell = await start(workspace, command)
        await written(shell, 5)
        output = await call("KillShell", workspace, task_id=shell.id)
        message = f"Ended {shell.id} (2 processes): {command}"
        assert output.structured == {
            "message": message,
            "task_id": shell.id,
            "task_type": "local_bash",
            "command": shell.command,
        }
        assert output.text.startswith(message)
        assert shell.told
        assert "had ended before (exit code 143): there was nothing to end" in await text_of(
            "KillShell", workspace, shell_id=shell.id
        )
        assert "was killed (exit code 143)\nhere\n" in await text_of("BashOutput", workspace, bash_id=shell.id)
        left = await start(workspace, "(setsid sleep 1000 &)")
        await left.wait(30)
        assert "1 process it had left running ended" in await text_of("KillShell", workspace, shell_id=left.id)
