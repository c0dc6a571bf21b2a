"""The command as a process, where no model is needed."""

import subprocess
import sys

import pytest

from support_cli import command
from toolwright import __version__
from toolwright.cli.flags import FLAGS
from toolwright.cli.main import COMMANDS


def test_the_version_for_people_and_for_sdks() -> None:
    assert command("--version").stdout.decode() == f"toolwright {__version__} (protocol 2.1.325)\n"
    assert command("-v").stdout.decode() == f"2.1.325 (toolwright {__version__})\n"


def test_help_and_version_are_commands_too() -> None:
    assert command("version").stdout == command("--version").stdout
    assert command("help").stdout == command("--help").stdout
    assert command("help", "trust").stdout.startswith(b"Usage: toolwright trust")


def test_the_help_lists_every_flag_that_has_a_text_and_no_other() -> None:
    shown = command("--help", env={"COLUMNS": "80"}).stdout.decode()
    for flag in FLAGS:
        assert (f"--{flag.name} " in shown or f"--{flag.name}\n" in shown) == bool(flag.help), flag.name
    assert max(len(line) for line in shown.splitlines()) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--modle", "x"], "unknown flag --modle (did you mean --model?)"),
        (["demmo"], "unknown command 'demmo' (did you mean demo? to ask it as a prompt: -p demmo)"),
        (["mpc"], "unknown command 'mpc' (did you mean mcp? to ask it as a prompt: -p mpc)"),
        (["conf"], "unknown command 'conf' (did you mean config? to ask it as a prompt: -p conf)"),
        (["Verison"], "unknown command 'Verison' (did you mean version? to ask it as a prompt: -p Verison)"),
        (["help", "me"], f"there is no command 'me'; there are {', '.join(COMMANDS)}"),
        (["-p"], 'no prompt: give it as an argument (toolwright -p "…") or on stdin'),
        (["--input-format", "stream-json"], "--input-format stream-json needs --output-format stream-json"),
        (["demo", "--kep"], "unknown flag --kep (did you mean --keep?)"),
        (["demo", "now"], "demo takes no argument, got 'now'; see toolwright demo --help"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"toolwright: {message}\n")


def test_a_prompt_beside_frames_is_refused() -> None:
    done = command("--input-format", "stream-json", "--output-format", "stream-json", "hello")
    assert done.returncode == 2
    assert "prompts come as frames on stdin" in done.stderr.decode()


def test_a_bare_call_says_what_can_be_typed() -> None:
    done = command()
    assert done.returncode == 0
    assert "toolwright demo" in done.stdout.decode()


def test_version_and_help_load_nothing_heavy() -> None:
    program = "import sys; from toolwright.cli.main import main; main([sys.argv[1]]); print(*sys.modules, file=sys.stderr)"
    for flag in ("--version", "--help"):
        done = subprocess.run([sys.executable, "-c", program, flag], capture_output=True, timeout=60, check=True)
        loaded = set(done.stderr.decode().split())
        assert not loaded & {"anyio", "asyncio", "msgspec", "httpx2", "argparse", "click", "difflib", "json", "traceback"}
