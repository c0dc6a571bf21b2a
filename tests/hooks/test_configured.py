"""Hooks of the settings, made ready: which are refused, which are noted, how long they may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from support_hooks import Failures, Setting
from toolwright.hooks import Background, Hook, HookFailure, HookOutcome, HookRunner
from toolwright.hooks.commands import CommandEnd
from toolwright.hooks.configured import Applies, Means, configured_hooks
from toolwright.hooks.http import HttpEnd
from toolwright.types import OptionsError


def condition(rule: str) -> Applies:
    if rule == "(":
        raise OptionsError("a rule needs a name")

    async def applies(name: str, tool_input: dict[str, Any]) -> bool:
        return name == rule

    return applies


class Machine:
    """Runs no command, but remembers each."""

    def __init__(self, *ends: CommandEnd | HttpEnd | Exception) -> None:
        self.ends = list(ends)
        self.ran: list[tuple[str, Any]] = []

    async def run(
        self, command: str, args: tuple[str, ...] | None, *, stdin: bytes, on_output: Callable[[bytes], None]
    ) -> CommandEnd:
        self.ran.append((command, args))
        end = self.ends.pop(0) if self.ends else CommandEnd(0, "", "")
        if isinstance(end, Exception):
            raise end
        assert isinstance(end, CommandEnd)
        return end

    async def post(self, url: str, body: bytes, *, headers: Sequence[tuple[str, str]]) -> HttpEnd:
        self.ran.append((url, tuple(headers)))
        end = self.ends.pop(0)
        if isinstance(end, Exception):
            raise end
        assert isinstance(end, HttpEnd)
        return end

    @property
    def means(self) -> Means:
        return Means(self.run, self.post, condition, Background())


def ready(*settings: Setting, means: Means | None = None) -> tuple[dict[str, tuple[Hook, ...]], list[str]]:
    notes: list[str] = []
    return configured_hooks(settings, means or Machine().means, note=notes.append), notes


async def outcome_of(machine: Machine, *settings: Setting, tool: str = "Bash") -> tuple[HookOutcome, list[HookFailure]]:
    failures = Failures()
    hooks, _ = ready(*settings, means=machine.means)
    runner = HookRunner(configured=hooks, listener=failures)
    event = settings[0].event
    return await runner.run(event, {"tool_name": tool, "tool_input": {}}, match_value=tool), failures.heard


@pytest.mark.parametrize(
    ("event", "said", "seconds"),
    [
        ("PreToolUse", None, 600),
        ("PreToolUse", 5, 5),
        ("UserPromptSubmit", None, 30),
        ("SessionEnd", None, 1.5),
        ("SessionEnd", 60, 1.5),
        ("SessionEnd", 0.5, 0.5),
        ("Stop", 1000, 1000),
    ],
)
def test_how_long_a_hook_may_take(event: str, said: float | None, seconds: float) -> None:
    hooks, _ = ready(Setting(event, timeout=said))
    assert hooks[event][0].timeout == seconds


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        (Setting(kind="prompt", command=None), "hooks of type prompt are not supported in this version"),
        (Setting("Stop", kind="agent", command=None), "hooks of type agent"),
        (Setting("UserPromptSubmit", kind="mcp_tool", command=None), "hooks of type mcp_tool"),
        (Setting(shell="powershell"), "bash only"),
        (Setting(timeout=0), "positive number of seconds"),
        (Setting(matcher="(unclosed"), "neither a list of names nor a regular expression"),
        (Setting(condition="("), "a rule needs a name"),
        (Setting(kind="http", command=None, url="ftp://example.com"), "no address for a hook"),
        (Setting(kind="http", command=None, url="http://user:pw@example.com"), "no address for a hook"),
    ],
)
def test_a_hook_that_cannot_work_is_refused_and_says_where(setting: Setting, problem: str) -> None:
    with pytest.raises(OptionsError, match=f"settings.json:3: hooks.{setting.event}: .*") as caught:
        ready(setting)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "setting",
    [
        Setting("WorktreeCreate"),
        Setting("NoSuchEvent"),
        Setting("Stop", condition="Bash"),
        Setting("Notification", kind="prompt", command=None),
    ],
)
def test_a_hook_that_guards_nothing_and_never_runs_is_noted(setting: Setting) -> None:
    hooks, notes = ready(setting)
    assert hooks == {}
    assert len(notes) == 1
    assert f"settings.json:3: the {setting.event} hook has no effect" in notes[0]


def test_what_is_said_twice_runs_once() -> None:
    hooks, _ = ready(Setting(), Setting(source="another file"), Setting(command="false"), Setting(matcher="Bash"))
    assert len(hooks["PreToolUse"]) == 3


def test_only_allowed_addresses_may_be_asked() -> None:
    setting = Setting(kind="http", command=None, url="https://hooks.example.com/x?y=1")
    for allowed in (None, ["https://hooks.example.com/*"], ["*"]):
        ready(setting, means=replace(Machine().means, allowed_urls=allowed))
    for allowed in ([], ["https://hooks.example.com/"], ["https://hooks.example.co*/y"], ["http://*"]):
        with pytest.raises(OptionsError, match="allowedHttpHookUrls"):
            ready(setting, means=replace(Machine().means, allowed_urls=allowed))


@pytest.mark.anyio
async def test_a_condition_chooses_the_calls() -> None:
    machine = Machine()
    await outcome_of(machine, Setting(condition="Write"), tool="Bash")
    assert machine.ran == []
    await outcome_of(machine, Setting(condition="Bash"), tool="Bash")
    assert machine.ran == [("true", None)]


@pytest.mark.anyio
async def test_a_hook_that_runs_once_runs_once() -> None:
    machine = Machine()
    hooks, _ = ready(Setting(once=True), means=machine.means)
    runner = HookRunner(configured=hooks)
    for _ in range(3):
        await runner.run("PreToolUse", {"tool_name": "Bash", "tool_input": {}}, match_value="Bash")
    assert len(machine.ran) == 1
    assert not runner.has("PreToolUse", "Bash")


@pytest.mark.anyio
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
@pytest.mark.parametrize(
    "end",
    [
        CommandEnd(0, '{"hookSpecificOutput": {"permissionDecision": "Deny"}}', ""),
        OSError("no bash"),
    ],
)
async def test_a_guard_without_an_answer_refuses_and_anything_else_does_not(event: str, end: Any) -> None:
    outcome, failures = await outcome_of(Machine(end), Setting(event))
    assert outcome.decision == ("deny" if event == "PreToolUse" else None)
    assert [failure.blocked for failure in failures] == [event == "PreToolUse"]


@pytest.mark.anyio
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
@pytest.mark.parametrize(
    "end", [HttpEnd(500, ""), HttpEnd(302, ""), HttpEnd(404, '{"decision": "approve"}'), ConnectionError("refused")]
)
async def test_an_address_without_a_good_answer_refuses_only_as_a_guard(event: str, end: Any) -> None:
    setting = Setting(event, kind="http", command=None, url="http://localhost:1/")
    outcome, failures = await outcome_of(Machine(end), setting)
    assert outcome.decision == ("deny" if event == "PreToolUse" else None)
    assert len(failures) == 1


@pytest.mark.anyio
async def test_headers_are_filled_in_with_the_variables_that_they_may_name() -> None:
    machine = Machine(HttpEnd(200, ""))
    headers = (("authorization", "Bearer $TOKEN"), ("x-other", "${SECRET}-$OTHER-x"))
    variables = ("TOKEN", "SECRET", "MISSING")
    setting = Setting(kind="http", command=None, url="http://localhost:1/", headers=headers, variables=variables)
    env = {"TOKEN": "t0", "SECRET": "not allowed by the administrator", "OTHER": "not listed by the hook"}
    hooks, _ = ready(setting, means=replace(machine.means, env=env, allowed_variables=["TOKEN"]))
    await HookRunner(configured=hooks).run("PreToolUse", {"tool_name": "Bash", "tool_input": {}}, match_value="Bash")
    assert machine.ran == [("http://localhost:1/", (("authorization", "Bearer t0"), ("x-other", "--x")))]
