"""Which settings win, and what an untrusted folder may say (CF-03)."""

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from support_permissions import bash, mcp, read, write
from support_settings import Place
from toolwright.config.session_config import settings_rules
from toolwright.permissions import PermissionCall, decide
from toolwright.permissions import SessionFolders as Somewhere
from toolwright.settings import Settings
from toolwright.settings.merging import merge, tighten
from toolwright.settings.sandbox import SandboxConfig
from toolwright.settings.values import Origin
from toolwright.types import OptionsError, PermissionMode


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_highest_scope_wins_and_lists_come_together(place: Place) -> None:
    for scope in ("user", "project", "local", "managed"):
        env = {"WHO": scope, scope.upper(): "1"}
        place.write(scope, {"model": scope, "env": env, "permissions": {"allow": [f"mcp__{scope}"]}})
    merged = place.load(inline='{"model": "inline"}', trusted=True)
    assert merged.model == "managed"
    assert merged.env == {"WHO": "managed", "USER": "1", "PROJECT": "1", "LOCAL": "1", "MANAGED": "1"}
    assert [rule.text for rule in merged.rules] == ["mcp__managed", "mcp__local", "mcp__project", "mcp__user"]
    (place.managed / "managed-settings.json").unlink()
    assert place.load(inline='{"model": "inline"}', trusted=True).model == "inline"
    assert place.load(trusted=True).model == "local"


OF_THE_HIGHEST: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(("default_mode", "model", "output_style", "api_key_helper"), ("high", "low")),
    **dict.fromkeys(("hook_urls", "hook_variables", "available_models"), (("high",), ("low",))),
    **dict.fromkeys(("all_hooks_disabled", "all_project_servers_enabled", "auto_memory"), (False, True)),
    "default_mode_source": (Origin("user", "high"), Origin("user", "low")),
    "cleanup_period_days": (0, 1),
    "status_line": ({}, {"command": "low"}),
    "sandbox": (SandboxConfig(enabled=False), SandboxConfig(enabled=True)),
}
TOGETHER = ("additional_directories", "enabled_servers", "disabled_servers", "memory_excludes")
ONE_AFTER_THE_OTHER = ("rules", "hooks", "notes")
IN_THEIR_OWN_WAY = {"env", "mcp_servers", "said", "bypass_disabled", "boundary_is_strict"}


def saying(name: str, value: Any, **more: Any) -> Settings:
    parts: dict[str, Any] = {**more, name: value}
    return Settings(**parts)


def test_there_is_a_way_to_merge_every_setting() -> None:
    assert {*OF_THE_HIGHEST, *TOGETHER, *ONE_AFTER_THE_OTHER, *IN_THEIR_OWN_WAY} == Settings.__annotations__.keys()


@pytest.mark.parametrize("name", OF_THE_HIGHEST)
def test_the_highest_that_says_anything_is_heard(name: str) -> None:
    mode = {"default_mode": "plan"} if name == "default_mode_source" else {}  # the two belong together
    high, low = (saying(name, value, **mode) for value in OF_THE_HIGHEST[name])
    for ranked, heard in (((high, low), high), ((low, high), low), ((Settings(), low), low), ((high, Settings()), high)):
        assert getattr(merge(ranked), name) == getattr(heard, name)


@pytest.mark.parametrize("name", TOGETHER)
def test_lists_come_together_the_highest_first(name: str) -> None:
    high, low = saying(name, ("a", "b")), saying(name, ("b", "c"))
    assert getattr(merge([high, low]), name) == ("a", "b", "c")


@pytest.mark.parametrize("name", ONE_AFTER_THE_OTHER)
def test_nothing_of_a_list_is_lost(name: str) -> None:
    assert getattr(merge([saying(name, ("a", "b")), saying(name, ("b",))]), name) == ("a", "b", "b")


def test_what_was_said_anywhere_was_said() -> None:
    one, other = Settings(said=frozenset({"model", "env"})), Settings(said=frozenset({"env", "hooks"}))
    assert merge([one, other]).said == {"model", "env", "hooks"}


def test_our_folder_comes_before_the_other_one(place: Place) -> None:
    place.write("project", {"model": "theirs", "permissions": {"deny": ["Read"]}})
    place.write("project", {"model": "ours", "permissions": {"deny": ["Edit"]}}, folder=".toolwright")
    merged = place.load(trusted=True)
    assert merged.model == "ours"
    assert {rule.text for rule in merged.rules} == {"Read", "Edit"}


def test_sandbox_lists_merge_and_the_highest_says_the_rest(place: Place) -> None:
    place.write("user", {"sandbox": {"enabled": True, "excludedCommands": ["git"], "network": {"allowedDomains": ["a"]}}})
    place.write("local", {"sandbox": {"enabled": False, "excludedCommands": ["docker"], "network": {"allowedDomains": ["b"]}}})
    sandbox = place.load(trusted=True).sandbox
    assert sandbox is not None
    assert (sandbox.enabled, sandbox.excluded_commands, sandbox.network.allowed_domains) == (
        False,
        ("docker", "git"),
        ("b", "a"),
    )


STRICTER_WISHES = {
    None: {"plan", "dontAsk"},
    "default": {"plan", "dontAsk"},
    "acceptEdits": {"default", "plan", "dontAsk"},
    "auto": {"default", "plan", "dontAsk"},
    "bypassPermissions": {"default", "acceptEdits", "auto", "plan", "dontAsk"},
    "plan": set(),
    "dontAsk": set(),
}
"""The mode a person set, and those that an untrusted folder may put in its place: none allows a call that it does not."""


@pytest.mark.parametrize("wish", get_args(PermissionMode))
@pytest.mark.parametrize("mine", STRICTER_WISHES)
def test_an_untrusted_folder_may_only_choose_a_stricter_mode(mine: str | None, wish: str, place: Place) -> None:
    if mine is not None:
        place.write("user", {"permissions": {"defaultMode": mine}})
    place.write("project", {"permissions": {"defaultMode": wish}})
    found = place.load()
    heard = wish in STRICTER_WISHES[mine]
    assert found.default_mode == (wish if heard else mine)
    silent = heard or wish == (mine or "default")
    assert any("defaultMode" in note and "not trusted" in note for note in found.notes) != silent


@pytest.mark.parametrize("scope", ["managed", "local", "project", "user"])
@pytest.mark.parametrize("trusted", [True, False])
def test_bypass_stays_off_whoever_turned_it_off(scope: str, trusted: bool, place: Place) -> None:
    for other in ("managed", "local", "project", "user"):
        place.write(other, {"permissions": {"deny": ["mcp__x"]}})
    assert not place.load(trusted=trusted).bypass_disabled
    place.write(scope, {"permissions": {"disableBypassPermissionsMode": "disable"}})
    assert place.load(trusted=trusted).bypass_disabled


@pytest.mark.parametrize("scope", ["managed", "local", "project", "user", "inline"])
@pytest.mark.parametrize("trusted", [True, False])
def test_a_boundary_stays_strict_whoever_made_it_so(scope: str, trusted: bool, place: Place) -> None:
    for other in ("managed", "local", "project", "user"):
        place.write(other, {"boundary": "default"})
    assert not place.load(trusted=trusted, inline='{"boundary": "default"}').boundary_is_strict
    if scope == "inline":
        assert place.load(trusted=trusted, inline='{"boundary": "strict"}').boundary_is_strict
        return
    place.write(scope, {"boundary": "strict"})
    found = place.load(trusted=trusted, inline='{"boundary": "default"}')
    assert found.boundary_is_strict
    assert found.notes == ()


@pytest.mark.parametrize("said", ['{"boundary": "strickt"}', '{"boundary": true}', '{"boundry": "strict"}'])
def test_a_boundary_that_cannot_be_read_is_refused(said: str, place: Place) -> None:
    with pytest.raises(OptionsError, match="bound"):
        place.load(inline=said)


def test_an_untrusted_sandbox_that_only_tightens_costs_no_note(place: Place) -> None:
    place.write("user", {"sandbox": {"enabled": True, "network": {"deniedDomains": ["a"]}}})
    place.write("project", {"$schema": "x", "sandbox": {"network": {"deniedDomains": ["b"]}}})
    assert place.load().notes == ()
    place.write("project", {"sandbox": {"network": {"allowedDomains": ["b"]}}})
    assert any("loosen the sandbox" in note for note in place.load().notes)


def test_only_the_named_sources_are_read(place: Place) -> None:
    for scope in ("user", "project", "local"):
        place.write(scope, {"permissions": {"deny": [f"mcp__{scope}"]}})
    for sources in ([], ["user"], ["project"], ["local"], ["user", "local"]):
        assert {rule.text for rule in place.load(sources=sources).rules} == {f"mcp__{scope}" for scope in sources}
    assert len(place.load().rules) == 3


def test_a_server_file_is_handed_over_only_when_trusted(place: Place) -> None:
    place.write("servers", {"mcpServers": {"files": {"command": "serve", "args": ["x"]}, "web": {"url": "https://a.example"}}})
    assert [(each.name, each.kind) for each in place.load(trusted=True).mcp_servers] == [("files", "stdio"), ("web", "http")]
    untrusted = place.load()
    assert untrusted.mcp_servers == ()
    assert "the key mcpServers has no effect: this folder is not trusted" in untrusted.notes[0]


def test_an_untrusted_server_file_is_not_even_read_for_errors(place: Place) -> None:
    place.write("servers", "{")
    assert place.load().mcp_servers == ()
    with pytest.raises(OptionsError, match=r"mcp\.json:1:2: not valid JSON"):
        place.load(trusted=True)


def test_everything_that_an_untrusted_folder_loses_is_named(place: Place) -> None:
    path = place.write(
        "project",
        {
            "permissions": {"allow": ["Bash"], "deny": ["Read"], "defaultMode": "acceptEdits", "additionalDirectories": ["/"]},
            "env": {"A": "b"},
            "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]},
            "disableAllHooks": True,
            "model": "openai:x@http://evil.example/v1",
            "apiKeyHelper": "x",
            "statusLine": {"type": "command", "command": "x"},
            "mcpServers": {"a": {"command": "x"}},
            "enableAllProjectMcpServers": True,
            "claudeMdExcludes": ["*"],
            "sandbox": {"enabled": False, "excludedCommands": ["*"]},
        },
    )
    left = place.load()
    assert [rule.text for rule in left.rules] == ["Read"]
    assert left == Settings(rules=left.rules, said=left.said, notes=left.notes)
    named = " ".join(left.notes)
    for part in ("permissions.allow 'Bash'", "defaultMode 'acceptEdits'", "additionalDirectories (/)", "key env", "key hooks"):
        assert part in named
    for key in (
        "disableAllHooks",
        "model",
        "apiKeyHelper",
        "statusLine",
        "mcpServers",
        "enableAllProjectMcpServers",
        "sandbox",
    ):
        assert key in named
    assert all(str(path) in note and "not trusted" in note for note in left.notes)


def test_an_untrusted_folder_may_turn_servers_off_and_says_nothing_else() -> None:
    mine = Settings(said=frozenset({"model"}), disabled_servers=("a",))
    wish = Settings(said=frozenset({"model", "env", "disabledMcpjsonServers", "permissions"}), disabled_servers=("b",))
    tight = tighten(mine, wish, Origin("project", "p.json"))
    assert (tight.disabled_servers, tight.said) == (("a", "b"), frozenset({"model", "permissions"}))
    left_out = [f"p.json: the key {key} has no effect: this folder is not trusted" for key in ("env", "model")]
    assert list(tight.notes) == left_out


def test_who_chose_a_stricter_mode_is_known() -> None:
    mine = Settings(default_mode="acceptEdits", default_mode_source=Origin("user", "mine"))
    theirs = Origin("project", "theirs")
    for mode, chosen, by in (("plan", "plan", theirs), ("bypassPermissions", "acceptEdits", mine.default_mode_source)):
        tight = tighten(mine, Settings(default_mode=mode, default_mode_source=theirs), theirs)
        assert (tight.default_mode, tight.default_mode_source) == (chosen, by)


def test_an_untrusted_folder_may_tighten_the_sandbox_but_gains_nothing_by_turning_it_on(place: Place) -> None:
    wish = {"enabled": True, "network": {"deniedDomains": ["x"], "allowedDomains": ["y"]}, "filesystem": {"denyRead": ["/s"]}}
    place.write("project", {"sandbox": wish})
    sandbox = place.load().sandbox
    assert sandbox is not None
    assert (sandbox.enabled, sandbox.auto_allow_bash) == (True, False)
    assert (sandbox.network.denied_domains, sandbox.network.allowed_domains) == (("x",), ())
    assert sandbox.filesystem.deny_read == ("/s",)
    place.write("user", {"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True}})
    assert (known := place.load().sandbox) is not None
    assert known.auto_allow_bash is True


def test_an_untrusted_folder_may_lower_limits_but_not_raise_them(place: Place) -> None:
    place.write("user", {"sandbox": {"limits": {"processes": 100, "openFiles": 50}}})
    place.write("project", {"sandbox": {"limits": {"processes": 7, "openFiles": 0, "memoryMb": 9}}})
    sandbox = place.load().sandbox
    assert sandbox is not None
    assert (sandbox.limits.processes, sandbox.limits.open_files, sandbox.limits.memory_mb) == (100, 50, None)
    assert (sandbox.caps.processes, sandbox.caps.open_files, sandbox.caps.memory_mb) == (7, None, 9)


def test_an_untrusted_folder_may_hide_its_env_files_but_not_show_them(place: Place) -> None:
    place.write("project", {"sandbox": {"filesystem": {"hideEnvFiles": True}}})
    assert (known := place.load().sandbox) is not None
    assert known.filesystem.hide_env_files is True
    place.write("user", {"sandbox": {"filesystem": {"hideEnvFiles": True}}})
    place.write("project", {"sandbox": {"filesystem": {"hideEnvFiles": False}}})
    assert (known := place.load().sandbox) is not None
    assert known.filesystem.hide_env_files is True


RULES = some.sampled_from(
    [
        *("Bash", "Read", "Edit", "Write", "Glob", "mcp__a", "mcp__a__b", "WebFetch(domain:*)"),
        *("Bash(ls:*)", "Bash(npm run *)", "Read(./secret/**)", "Edit(src/**)"),
    ]
)
MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)
PERMISSIONS = some.fixed_dictionaries(
    {},
    optional={
        "allow": some.lists(RULES, max_size=3),
        "ask": some.lists(RULES, max_size=2),
        "deny": some.lists(RULES, max_size=2),
        "defaultMode": some.sampled_from(MODES),
        "additionalDirectories": some.just(["/work/other"]),
        "disableBypassPermissionsMode": some.just("disable"),
    },
)
SANDBOX = some.fixed_dictionaries(
    {},
    optional={
        "enabled": some.booleans(),
        "autoAllowBashIfSandboxed": some.booleans(),
        "failIfUnavailable": some.booleans(),
        "excludedCommands": some.just(["docker"]),
    },
)
FILES = some.fixed_dictionaries(
    {},
    optional={
        "permissions": PERMISSIONS,
        "env": some.dictionaries(
            some.sampled_from(["ANTHROPIC_BASE_URL", "LD_PRELOAD", "PATH"]), some.just("evil"), max_size=2
        ),
        "model": some.just("evil"),
        "disableAllHooks": some.booleans(),
        "sandbox": SANDBOX,
        "hooks": some.just({"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}),
    },
)
CALLS = [
    *(read("/work/app/a"), read("/work/app/secret/k"), read("/work/other/x"), read("/etc/passwd")),
    *(write("/work/app/src/a"), write("/work/app/.git/config"), write("/work/other/x")),
    *(bash("ls -l"), bash("npm run build"), bash("rm -rf /"), mcp("mcp__a__b", x=1), mcp("mcp__c__d")),
    PermissionCall("WebFetch", {"url": "https://a.example"}),
]
AT = Somewhere("/work/app", (), "/home/ada")


def allowed(merged: Settings) -> set[int]:
    rules = settings_rules(merged.rules)[0]
    mode: Any = merged.default_mode or "default"
    return {at for at, call in enumerate(CALLS) if decide(call, rules=rules, mode=mode, place=AT).behavior == "allow"}


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(user=FILES, project=FILES, local=FILES)
def test_an_untrusted_folder_never_widens_what_is_allowed(user: Any, project: Any, local: Any, place: Place) -> None:
    place.write("user", user)
    alone = place.load(sources=["user"])
    place.write("project", project)
    place.write("local", local)
    both = place.load()
    assert allowed(both) <= allowed(alone)
    assert both.env == alone.env
    assert both.model == alone.model
    assert both.hooks_in_force == alone.hooks_in_force
    assert both.additional_directories == alone.additional_directories
    assert both.bypass_disabled >= alone.bypass_disabled
    assert both.boundary_is_strict >= alone.boundary_is_strict
    before, after = alone.sandbox, both.sandbox
    if before is not None and after is not None:
        assert after.excluded_commands == before.excluded_commands
        assert not (before.enabled and not after.enabled)
    if after is not None and after.enabled and not (before is not None and before.enabled):
        assert after.auto_allow_bash is False
