"""What published SDKs send to the command that they start: every recorded flag, variable and field is taken.

The recordings are made by `tests/interop/record_sdks.py`, from about one release for each month and with every option set.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.cli.flags import parse
from toolwright.cli.options import options_from_flags
from toolwright.config import options_check
from toolwright.runtime.initialization import initialized, notes_on, server_names
from toolwright.types import ClaudeAgentOptions

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = sorted(Path(__file__).with_name("sdk_recordings").glob("*.json"))
OF_NODE = ("NoDefaultCurrentDirectoryInExePath",)
"""What a program's own runtime sets for any child."""


def recorded(path: Path, folder: Path) -> dict[str, Any]:
    runs: dict[str, Any] = json.loads(path.read_text().replace("FOLDER", str(folder)))["runs"]
    return runs


def options_of(run: dict[str, Any]) -> ClaudeAgentOptions:
    line = parse(run["argv"])
    assert line.words == ()
    return options_from_flags(line.values, run["env"])


def test_there_are_recordings_of_both_sdks_for_a_year() -> None:
    names = [path.stem for path in RECORDINGS]
    assert sum(name.startswith("npm-") for name in names) >= 13
    assert sum(name.startswith("python-") for name in names) >= 13


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_recorded_start_is_understood(path: Path, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("You are brief.")
    for name, run in recorded(path, tmp_path).items():
        options = options_of(run)
        (request,) = [request for request in run["requests"] if request["subtype"] == "initialize"]
        opened = initialized(options, request)
        opened.plugins = []  # known, and refused with a sentence of their own
        options_check.check(opened)
        assert not [note for note in notes_on(request) if "not known" in note], name
        assert isinstance(server_names(request), list)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_recorded_variable_is_documented(path: Path, tmp_path: Path) -> None:
    documented = (ROOT / "docs" / "cli.md").read_text()
    names = {name for run in recorded(path, tmp_path).values() for name in run["env"]} - set(OF_NODE)
    assert not [name for name in sorted(names) if f"`{name}" not in documented]


def newest(kind: str) -> Path:
    return max((path for path in RECORDINGS if path.stem.startswith(kind)), key=lambda path: [*map(int, _version(path))])


def _version(path: Path) -> list[str]:
    return path.stem.rpartition("-")[2].split(".")


def test_options_arrive_from_either_sdk(tmp_path: Path) -> None:
    """The newest releases, with everything set: what was asked for is what the session is opened with."""
    for kind in ("npm-", "python-"):
        run = recorded(newest(kind), tmp_path)["everything"]
        (request,) = [request for request in run["requests"] if request["subtype"] == "initialize"]
        options = initialized(options_of(run), request)
        assert options.system_prompt == {
            "type": "preset",
            "preset": "claude_code",
            "append": "Be brief.",
            "exclude_dynamic_sections": True,
            "snapshot": True,
        }
        assert (options.max_turns, options.max_budget_usd, options.effort) == (4, 1.5, "high")
        assert options.thinking == {"type": "enabled", "budget_tokens": 2048, "display": "omitted"}
        assert options.allowed_tools == ["Read", "Bash(git log:*)", "Skill(s)"]
        assert options.disallowed_tools == ["WebFetch"]
        assert options.tools == ["Read", "Bash"]
        assert options.permission_prompt_tool_name == "stdio"
        assert options.permission_mode == "acceptEdits"
        assert options.enable_file_checkpointing is True
        assert options.output_format is not None
        assert options.agents is not None
        assert options.agents["reviewer"].permissionMode == "plan"
        assert isinstance(options.mcp_servers, dict)
        assert {"weather", "files"} <= {*options.mcp_servers, *server_names(request)}


def test_nobody_is_asked_where_a_client_says_so(tmp_path: Path) -> None:
    run = recorded(newest("npm-"), tmp_path)["asked_by_tool"]
    assert "--permission-prompts=none" in run["argv"]
    options = options_of(run)
    assert options.permission_prompt_tool_name is None
    assert "await-initialize" in options.extra_args


def test_a_new_flag_or_field_is_noticed() -> None:
    assert list(notes_on({"subtype": "initialize", "newField": 1})) == [
        "toolwright: initialize: the field newField is not known and has no effect"
    ]
