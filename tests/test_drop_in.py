"""Our package under the original's names, in processes of their own: the names are for a whole process."""

import subprocess
import sys
from pathlib import Path

import pytest

INSTALL = "import toolwright\ntoolwright.install_as_claude_agent_sdk()\n"


def output_of(*arguments: str, cwd: Path | None = None) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


CLAIMS = [
    "sdk.query is toolwright.query",
    "sdk.types is toolwright.types",
    "sdk.ResultMessage is toolwright.ResultMessage",
    "set(toolwright.__all__) - set(sdk.__all__) == {'install_as_claude_agent_sdk'}",
    "module('types').HookMatcher is toolwright.HookMatcher",
    "module('client').ClaudeSDKClient is toolwright.ClaudeSDKClient",
    "module('query').query is toolwright.query",
    "module('_errors').ResultError is toolwright.ResultError",
    "module('_errors').MessageParseError is toolwright.types.MessageParseError",
    "module('testing').ScriptedModel.__module__.startswith('toolwright')",
    "callable(module('_internal.message_parser').parse_message)",
    "sdk.__version__ == module('_version').__version__ == '0.2.182' != toolwright.__version__",
    "find_spec('claude_agent_sdk') is not None",
    "version('claude-agent-sdk') == '0.2.182' != version('pytest')",
    "str(toolwright.ResultError.from_result({})).startswith('Claude Code returned an error result')",
]


def test_the_names_of_the_original_are_ours() -> None:
    """In one process, which may also install twice."""
    head = INSTALL + INSTALL + "import claude_agent_sdk as sdk\nfrom claude_agent_sdk import *\n"
    head += (
        "from importlib import import_module\nfrom importlib.metadata import version\nfrom importlib.util import find_spec\n"
    )
    head += "module = lambda name: import_module('claude_agent_sdk.' + name)\n"
    assert output_of("-c", f"{head}print([claim for claim in {CLAIMS} if not eval(claim)])") == "[]\n"


def test_without_the_switch_nothing_is_installed() -> None:
    assert output_of("-c", "import sys, toolwright.client; print('claude_agent_sdk' in sys.modules)") == "False\n"


def test_a_package_that_is_in_use_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "claude_agent_sdk.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", "import claude_agent_sdk\n" + INSTALL], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 1
    assert "claude_agent_sdk is imported already" in done.stderr


PROGRAM = """
import sys
import anyio
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query
from beside import SCRIPT

async def main() -> None:
    async for message in query(prompt="go", options=ClaudeAgentOptions(model=f"scripted:{SCRIPT}")):
        if isinstance(message, ResultMessage):
            print(message.result, sys.argv[1:], __name__)

anyio.run(main)
"""


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"]])
def test_a_program_that_imports_the_original_runs_unchanged(
    how: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text(f"SCRIPT = {str(tmp_path / 'script.json')!r}")
    (tmp_path / "script.json").write_text('{"steps": [{"text": "done"}]}')
    assert output_of("-m", "toolwright.drop_in", *how, "--flag", cwd=tmp_path) == "done ['--flag'] __main__\n"


@pytest.mark.parametrize("arguments", [[], ["--flag"], ["missing.py"]])
def test_a_wrong_command_line_is_told_in_a_line(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "toolwright.drop_in", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
