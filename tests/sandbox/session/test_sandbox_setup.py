"""Options and settings for the sandbox, through a whole session, judged by what happened on the host."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support_runtime import Frame, play, results
from support_sandbox import need
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.permissions import SessionFolders, parse_rule
from toolwright.sandbox.exemptions import Terms
from toolwright.sandbox.session.sandbox_setup import named_path, own_programs
from toolwright.settings.sandbox import SandboxConfig, SandboxFilesystem
from toolwright.types import (
    CLIConnectionError,
    OptionsError,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

pytestmark = pytest.mark.anyio

ON: dict[str, Any] = {"enabled": True}


async def run(folder: Path, *commands: str | dict[str, Any], **options: Any) -> list[str]:
    """The results of Bash calls, in a session whose options are these."""
    need("bubblewrap")
    inputs = [{"command": each} if isinstance(each, str) else each for each in commands]
    model = ScriptedModel([*(Call("Bash", each) for each in inputs), Say("ok")])
    frames: list[Frame] = await play(folder, model, **options)
    return [str(block["content"]) for block in results(frames)]


async def test_a_sandboxed_command_needs_no_permission_and_stays_inside(tmp_path: Path) -> None:
    said = await run(tmp_path, f"echo x > {tmp_path}/outside; touch made; echo done", sandbox=ON)
    assert "done" in said[0]
    assert not (tmp_path / "outside").exists()
    assert [path.name for path in (tmp_path / "workspace").iterdir()] == ["made"]


async def test_settings_turn_it_on_as_well(tmp_path: Path) -> None:
    await run(tmp_path, f"touch {tmp_path}/outside made", settings='{"sandbox": {"enabled": true}}')
    assert not (tmp_path / "outside").exists()
    assert (tmp_path / "workspace/made").exists()


async def test_permission_is_asked_if_the_settings_say_so(tmp_path: Path) -> None:
    await run(tmp_path, "touch made", sandbox={**ON, "autoAllowBashIfSandboxed": False})
    assert not (tmp_path / "workspace/made").exists()


async def test_rules_are_held_by_both_enforcers(tmp_path: Path) -> None:
    (tmp_path / "workspace/sub").mkdir(parents=True)
    (tmp_path / "workspace/sub/.env").write_text("hunter2")
    (tmp_path / "build").mkdir()
    said = await run(
        tmp_path,
        """f=sub/.en; cat ${f}v; python3 -c 'print(open("sub/" + ".env").read())'""",
        f"echo x > {tmp_path}/build/out; echo x > {tmp_path}/other",
        sandbox=ON,
        disallowed_tools=["Read(**/.env)"],
        allowed_tools=[f"Edit(/{tmp_path}/build/**)"],
    )
    assert "hunter2" not in "".join(said)
    assert (tmp_path / "build/out").exists()
    assert not (tmp_path / "other").exists()


async def test_a_call_that_wants_out_is_always_asked_about(tmp_path: Path) -> None:
    asked: list[str] = []

    async def person(name: str, data: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        asked.append(data["command"])
        return PermissionResultAllow()

    wish = {"command": f"touch {tmp_path}/outside", "dangerouslyDisableSandbox": True}
    await run(tmp_path, wish, sandbox=ON, allowed_tools=["Bash"])
    assert not (tmp_path / "outside").exists()  # nobody to ask
    await run(tmp_path, wish, sandbox={**ON, "allowUnsandboxedCommands": False}, allowed_tools=["Bash"], can_use_tool=person)
    assert (asked, (tmp_path / "outside").exists()) == ([], False)  # the wish counts for nothing
    await run(tmp_path, wish, sandbox=ON, allowed_tools=["Bash"], can_use_tool=person)
    assert (asked, (tmp_path / "outside").exists()) == ([wish["command"]], True)


async def test_excluded_commands_run_outside_and_need_permission(tmp_path: Path) -> None:
    sandbox = {**ON, "excludedCommands": ["touch"]}
    await run(tmp_path, f"touch {tmp_path}/outside", sandbox=sandbox)
    assert not (tmp_path / "outside").exists()
    await run(
        tmp_path, f"touch {tmp_path}/outside", f"touch a; touch {tmp_path}/second", sandbox=sandbox, allowed_tools=["Bash"]
    )
    assert (tmp_path / "outside").exists()
    assert not (tmp_path / "second").exists()  # a line of several commands is no exception


async def test_the_model_is_told_that_it_was_the_sandbox(tmp_path: Path) -> None:
    said = await run(tmp_path, "touch /usr/x", sandbox=ON)
    assert "ran in a sandbox (bubblewrap)" in said[0]
    said = await run(tmp_path, "touch /usr/x", sandbox={**ON, "ignoreViolations": {"*": ["/usr"]}})
    assert "ran in a sandbox" not in said[0]


async def test_credentials_are_kept_from_commands(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/key").write_text("hunter2")
    credentials = {"files": [{"path": "./key", "mode": "deny"}], "envVars": [{"name": "MY_KEY", "mode": "deny"}]}
    said = await run(
        tmp_path, "cat key; env", sandbox={**ON, "credentials": credentials}, env={"MY_KEY": "hunter2", "OTHER": "x"}
    )
    assert "hunter2" not in said[0]
    assert "OTHER=x" in said[0]


def test_what_we_run_ourselves_is_kept_from_commands_that_could_write_it() -> None:
    prefix = os.path.realpath(sys.prefix)
    assert prefix in own_programs(SandboxConfig(), [os.path.dirname(prefix)])
    assert own_programs(SandboxConfig(), [os.path.join(prefix, "other")]) == []
    allowed = SandboxConfig(filesystem=SandboxFilesystem(allow_write=(prefix,)))
    assert prefix not in own_programs(allowed, [os.path.dirname(prefix)])


async def test_env_files_are_hidden_by_choice(tmp_path: Path) -> None:
    (tmp_path / "workspace/sub/.env").mkdir(parents=True)  # a virtual environment of that name
    (tmp_path / "workspace/sub/.env/x").write_text("a folder")
    for name in (".env", "sub/.env.local", ".env.example"):
        (tmp_path / "workspace" / name).write_text(f"hunter2 in {name}")
    command = "cat .env sub/.env.local .env.example sub/.env/x"
    assert "hunter2 in .env\n" in (await run(tmp_path, command.replace(" sub", "; echo; cat sub", 1), sandbox=ON))[0]
    said = await run(tmp_path, command, sandbox={**ON, "filesystem": {"hideEnvFiles": True}})
    assert "hunter2 in .env.example" in said[0]
    assert "a folder" in said[0]
    assert said[0].count("hunter2") == 1


@pytest.mark.parametrize("enabled", [True, False])
async def test_limits_of_the_settings_hold_with_and_without_a_sandbox(tmp_path: Path, enabled: bool) -> None:
    settings = '{"sandbox": {"limits": {"openFiles": 77, "cpuSeconds": 88}}}'
    said = await run(tmp_path, "ulimit -n; ulimit -t", sandbox={"enabled": enabled}, settings=settings, allowed_tools=["Bash"])
    assert said[0].split() == ["77", "88"]


async def test_refused_hosts_are_told_with_what_to_do(tmp_path: Path) -> None:
    strict = {**ON, "network": {"allowedDomains": ["other.invalid"], "strictAllowlist": True}}
    said = await run(tmp_path, FETCH.format("unknown.invalid/"), sandbox=strict)
    assert "the sandbox refused connections" in said[0]
    assert "host unknown.invalid (port 80) is not allowed" in said[0]
    assert "ask the user to allow it" in said[0]


async def test_background_commands_are_held_too(tmp_path: Path) -> None:
    await run(tmp_path, {"command": f"touch {tmp_path}/outside", "run_in_background": True}, "sleep 1", sandbox=ON)
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("network", [{"allowedDomains": ["*"]}, {"allowedDomains": ["http://x"]}])
async def test_bad_domains_are_refused_before_anything_runs(tmp_path: Path, network: dict[str, Any]) -> None:
    with pytest.raises((OptionsError, CLIConnectionError), match="network"):
        await run(tmp_path, "true", sandbox={**ON, "network": network})


async def test_the_self_test_lets_a_sandbox_through_that_holds(tmp_path: Path) -> None:
    assert "yes" in (await run(tmp_path, "echo yes", sandbox={**ON, "selfTest": True}))[0]


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("Edit(//data/out/**)", "/data/out"),
        ("Edit(~/x)", "/home/me/x"),
        ("Edit(build/**)", "/ws/build"),
        ("Edit(./a/b)", "/ws/a/b"),
        ("Edit(**/x)", None),
        ("Edit(*.py)", None),
        ("Edit(name)", None),
        ("Edit(//**)", None),
    ],
)
def test_rules_that_name_one_place_are_told_from_patterns(rule: str, path: str | None) -> None:
    assert named_path(parse_rule(rule), SessionFolders("/ws", (), "/home/me")) == path


@pytest.mark.parametrize(
    ("command", "excluded"),
    [
        ("docker ps", True),
        ("docker", True),
        ("git push origin", True),
        ("git status", False),
        ("dockerx", False),
        ("docker ps; rm x", False),
        ("docker ps\nrm x", False),
        ("docker $(rm x)", False),
        ("docker ps > x", False),
        ("", False),
    ],
)
def test_only_a_line_of_one_command_can_be_excluded(command: str, excluded: bool) -> None:
    terms = Terms(excluded=("docker", "git push:*"))
    assert terms.excludes(command) is excluded
    assert terms.encloses(command) is not excluded


class Person:
    """Answers questions about hosts, and lets every command run."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[tuple[str, str, str | None]] = []

    async def __call__(
        self, name: str, data: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        if name != "SandboxNetworkAccess":
            return PermissionResultAllow()
        self.asked.append((data["host"], str(data["port"]), context.title))
        return PermissionResultAllow() if data["host"] in self.allowed else PermissionResultDeny(message="no")


FETCH = "python3 -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=20)' http://{} 2>&1 | tail -1"


async def test_an_unknown_host_is_asked_about_once_in_every_mode(tmp_path: Path) -> None:
    person = Person()
    command = FETCH.format("unknown.invalid/a") + "; " + FETCH.format("unknown.invalid/b")
    said = await run(tmp_path, command, sandbox=ON, can_use_tool=person, permission_mode="acceptEdits")
    assert [asked[:2] for asked in person.asked] == [("unknown.invalid", "80")]
    assert person.asked[0][2] == "Let sandboxed commands reach unknown.invalid, port 80"
    assert "403" in said[0]


async def test_what_the_person_allows_is_tried(tmp_path: Path) -> None:
    person = Person("unknown.invalid")
    said = await run(tmp_path, FETCH.format("unknown.invalid/"), sandbox=ON, can_use_tool=person)
    assert "403" not in said[0]  # the name does not exist: the proxy looked it up and says that


async def test_rules_about_domains_answer_for_the_person(tmp_path: Path) -> None:
    person = Person("denied.invalid")
    said = await run(
        tmp_path,
        FETCH.format("denied.invalid/"),
        FETCH.format("allowed.invalid/"),
        sandbox=ON,
        can_use_tool=person,
        disallowed_tools=["WebFetch(domain:denied.invalid)"],
        allowed_tools=["WebFetch(domain:allowed.invalid)"],
    )
    assert person.asked == []
    assert ["403" in text for text in said] == [True, False]


async def test_nobody_is_asked_where_only_named_domains_count(tmp_path: Path) -> None:
    person = Person("unknown.invalid")
    strict = {**ON, "network": {"allowedDomains": ["other.invalid"], "strictAllowlist": True}}
    said = await run(tmp_path, FETCH.format("unknown.invalid/"), sandbox=strict, can_use_tool=person)
    assert (person.asked, "403" in said[0]) == ([], True)
