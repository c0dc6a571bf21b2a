"""What importing the package loads: by the list of modules, not by the clock."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

HEAVY = {
    "PIL",
    "anthropic",
    "click",
    "httpx2",
    "importlib.metadata",
    "jsonschema_rs",
    "mcp",
    "openai",
    "opentelemetry",
    "pathspec",
    "prompt_toolkit",
    "pydantic",
    "pypdfium2",
    "rich",
    "starlette",
    "textual",
    "turbohtml",
    "uvicorn",
    "yaml",
}


def modules_after(statement: str) -> set[str]:
    """The modules that `statement` loads beyond what a bare interpreter has."""
    code = f"import sys; before = set(sys.modules)\n{statement}\nprint(*(set(sys.modules) - before))"
    # -I: no site packages of a user, no PYTHON* variables; what a .pth file loads is there before and does not count.
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_but_itself() -> None:
    assert modules_after("import toolwright") == {"toolwright"}


def test_the_version_is_there_without_the_types() -> None:
    loaded = modules_after("import toolwright; toolwright.__version__")
    assert {name for name in loaded if name.startswith("toolwright")} == {"toolwright", "toolwright._version"}


def test_the_options_need_no_event_loop_and_no_other_package() -> None:
    loaded = modules_after("from toolwright import ClaudeAgentOptions")
    assert not loaded & (HEAVY | {"asyncio", "anyio", "msgspec", "toolwright.client", "toolwright.mcp"})
    outside = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"toolwright"}
    assert outside <= {"org"}  # a name that the standard library's `copy` looks for


@pytest.mark.parametrize("names", ["query, ClaudeAgentOptions, tool", "ClaudeSDKClient, create_sdk_mcp_server"])
def test_the_entry_points_load_nothing_heavy(names: str) -> None:
    assert not modules_after(f"from toolwright import {names}") & HEAVY


def rooms_of(loaded: set[str]) -> set[str]:
    """The rooms of ours that were entered: `toolwright.client.query` is of `client`."""
    return {name.split(".")[1] for name in loaded if name.startswith("toolwright.")}


def test_the_entry_points_load_the_client_and_no_room_that_a_session_needs() -> None:
    loaded = modules_after("from toolwright import query, ClaudeAgentOptions")
    assert rooms_of(loaded) == {"base", "client", "protocol", "types"}
    assert not loaded & {"msgspec", "toolwright.client.remote", "toolwright.protocol.control", "toolwright.protocol.subprocess"}


PLAIN_SESSION = """
import os, tempfile
import anyio
from toolwright import ClaudeAgentOptions, query
from toolwright.testing import Say, ScriptedModel

async def main(folder):
    env = {"CLAUDE_CONFIG_DIR": os.path.join(folder, "config")}
    options = ClaudeAgentOptions(model=ScriptedModel([Say("Hello.")]), cwd=folder, env=env)
    return [message async for message in query(prompt="hi", options=options)]

with tempfile.TemporaryDirectory() as folder:
    anyio.run(main, folder)
"""

NOT_FOR_A_PLAIN_SESSION = {
    "toolwright.client.remote",
    "toolwright.mcp.client.client",
    "toolwright.mcp.client.configs",
    "toolwright.mcp.client.connections",
    "toolwright.mcp.client.server_connection",
    "toolwright.mcp.author.functions",
    "toolwright.mcp.client.listing",
    "toolwright.mcp.author.schema",
    "toolwright.mcp.author.server",
    "toolwright.hooks.commands",
    "toolwright.hooks.configured",
    "toolwright.hooks.http",
    "toolwright.permissions.shell.command_rules",
    "toolwright.permissions.explanation",
    "toolwright.permissions.shell.git_commands",
    "toolwright.permissions.shell.grammar",
    "toolwright.permissions.shell.command_line",
    "toolwright.permissions.policy",
    "toolwright.permissions.shell.program_table",
    "toolwright.permissions.shell.programs",
    "toolwright.permissions.shell.command_walker",
    "toolwright.permissions.shell.policy",
    "toolwright.permissions.suggestions",
    "toolwright.protocol.control",
    "toolwright.protocol.subprocess",
    "toolwright.permissions.session.auto_mode",
    "toolwright.permissions.session.filesystem_facts",
    "toolwright.sandbox.session.sandbox_setup",
    "toolwright.mcp.session.resources",
    "toolwright.hooks.session.settings_hooks",
    "toolwright.permissions.session.approval_text",
    "toolwright.mcp.session.server_selection",
    "toolwright.sessions.find",
    "toolwright.sessions.fork",
    "toolwright.sessions.load",
    "toolwright.base.jsonc",
    "toolwright.settings.merging",
    "toolwright.settings.reader",
    "toolwright.settings.sandbox",
    "toolwright.settings.schema",
    "toolwright.settings.writing",
    "toolwright.tools.editing",
    "toolwright.tools.read_file",
    "toolwright.tools.media.decoder",
    "toolwright.tools.media.kinds",
    "toolwright.tools.notebook_editing",
    "toolwright.tools.notebooks",
    "toolwright.tools.tool_index",
    "toolwright.processes.background",
    "toolwright.files.checkpoints",
    "toolwright.processes.child_process",
    "toolwright.processes.environment",
    "toolwright.processes.ripgrep",
    "toolwright.processes.shell",
}
"""What is loaded when something is there to do for it: a call, a server, a hook, a settings file."""


def test_a_plain_session_loads_nothing_for_calls_servers_and_settings_that_it_does_not_have() -> None:
    loaded = modules_after(PLAIN_SESSION)
    assert not loaded & (HEAVY - {"importlib.metadata"})
    assert not loaded & NOT_FOR_A_PLAIN_SESSION


@pytest.mark.parametrize("name", sorted(NOT_FOR_A_PLAIN_SESSION))
def test_the_modules_of_that_list_exist(name: str) -> None:
    assert find_spec(name) is not None
