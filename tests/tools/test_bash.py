from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from support_tools import call, error_of, make_workspace, running, text_of
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


async def test_output_comes_in_order_with_the_structured_result(workspace: Workspace) -> None:
    output = await call("Bash", workspace, command="echo out; echo err >&2; echo out2", description="say things")
    assert output.content == "out\nerr\nout2"
    assert output.structured == {
        "stdout": "out\nerr\nout2",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "exitCode": 0,
    }


async def test_a_failure_is_an_error_that_starts_with_the_code(workspace: Workspace) -> None:
    assert await error_of("Bash", workspace, command="echo why; exit 3") == "Exit code 3\nwhy"
    assert await error_of("Bash", workspace, command="false") == "Exit code 1"
    assert "command not found" in await error_of("Bash", workspace, command="surely-no-such-program")
    assert "syntax error" in await error_of("Bash", workspace, command="if )")


@pytest.mark.parametrize(("command", "code"), [("echo why; exit 3", 3), ("false", 1), ("kill -9 $$", 137), ("true", 0)])
async def test_the_structured_result_has_the_exit_code_also_of_a_failure(command: str, code: int, workspace: Workspace) -> None:
    output = await call("Bash", workspace, command=command)
    assert output.structured["exitCode"] == code
    assert bool(output.is_error) is (code != 0)


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("grep -q nothing /dev/null", "No matches found"),
        ("cd . && echo x | grep 'y z'", "No matches found"),
        ("echo a > a; echo b > b; diff a b", "Files differ"),
        ("test -e nothing", "Condition is false"),
    ],
)
async def test_a_negative_answer_is_no_failure(workspace: Workspace, command: str, meaning: str) -> None:
    output = await call("Bash", workspace, command=command)
    assert output.is_error is None
    assert output.structured["returnCodeInterpretation"] == meaning


async def test_the_folder_carries_over_and_variables_do_not(workspace: Workspace) -> None:
    await text_of("Bash", workspace, command="mkdir -p sub; cd sub; export X=1; f() { :; }")
    assert await text_of("Bash", workspace, command="pwd; echo [$X]") == f"{workspace.home}/sub\n[]"
    await text_of("Write", workspace, file_path="here", content="x")
    assert (Path(workspace.home) / "sub/here").exists()
    assert await text_of("Bash", workspace, command="pwd", cwd="..") == workspace.home
    assert await text_of("Bash", workspace, command="pwd") == f"{workspace.home}/sub"


async def test_a_folder_outside_is_not_kept(workspace: Workspace) -> None:
    text = await text_of("Bash", workspace, command="cd /; pwd")
    assert text == f"/\n[/ is outside the workspace; working directory stays {workspace.home}]"
    assert await text_of("Bash", workspace, command="pwd") == workspace.home
    for cwd in ("/", "..", "/tmp"):
        assert "Access denied" in await error_of("Bash", workspace, command="touch ran", cwd=cwd)
    assert "cwd is not a folder" in await error_of("Bash", workspace, command="true", cwd="nothing")
    assert workspace.roots == (workspace.home,)


async def test_a_folder_that_is_gone_is_left(workspace: Workspace) -> None:
    await text_of("Bash", workspace, command="mkdir sub; cd sub")
    (Path(workspace.home) / "sub").rmdir()
    text = await text_of("Bash", workspace, command="pwd")
    assert text == f"{workspace.home}\n[{workspace.home}/sub is gone; working directory reset to {workspace.home}]"


async def test_a_timeout_tells_what_was_written_and_ended(workspace: Workspace) -> None:
    marker = str(secrets.randbelow(10**6) + 10**6)
    output = await call("Bash", workspace, command=f"echo begun; setsid sleep {marker} & sleep {marker}", timeout=1000)
    assert output.is_error
    assert str(output.content).startswith("Exit code 143\nbegun\n")  # bash may add "Terminated"
    assert "\n[timed out after 1000 ms: " in str(output.content)
    assert "processes ended" in str(output.content)
    assert output.structured["interrupted"] is True
    assert output.structured["timedOutAfterMs"] == 1000
    assert not running(marker)


async def test_long_output_is_shortened_and_can_be_read_in_full(workspace: Workspace) -> None:
    output = await call("Bash", workspace, command="seq 1 20000")
    text = str(output.content)
    assert text.startswith("1\n2\n")
    assert text.endswith("19999\n20000")
    assert "108,894 bytes" in text
    saved = output.structured["persistedOutputPath"]
    assert output.structured["persistedOutputSize"] == 108_894
    assert "12345\t12345" in await text_of("Read", workspace, file_path=saved, offset=12345, limit=1)
    assert "12345" in await text_of("Grep", workspace, pattern="^12345$", path=saved, output_mode="content")
    await workspace.close()


async def test_silence_is_said(workspace: Workspace) -> None:
    output = await call("Bash", workspace, command="mkdir x")
    assert output.content == "(no output)"
    assert output.structured["noOutputExpected"] is True


async def test_what_is_no_command_line_is_refused(workspace: Workspace) -> None:
    assert "NUL" in await error_of("Bash", workspace, command="echo \0")
    assert "surrogate" in await error_of("Bash", workspace, command="echo \ud800")
    assert "Argument list too long" in await error_of("Bash", workspace, command="echo " + "x" * 200_000)
