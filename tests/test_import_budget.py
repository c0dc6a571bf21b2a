"""What importing the package loads: by the list of modules, not by the clock."""

import subprocess
import sys

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
