"""What a settings file means, and how precisely a wrong one is refused (CF-12)."""

import os
from pathlib import Path
from typing import Any

import pytest

from support_settings import Place
from toolwright.settings.locations import MAX_SIZE
from toolwright.settings.schema import sandbox_of
from toolwright.types import OptionsError


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


BROKEN = [
    ("{", "1:2: not valid JSON: a key in quotes was expected"),
    ('{\n  "permissions": {"deny": ["Bash"]\n}', "3:2: not valid JSON: a comma or } is missing"),
    ('{"model": "a", "model": "b"}', "1:16: not valid JSON: the key 'model' is there twice"),
    ('{"cleanupPeriodDays": NaN}', "1:23: not valid JSON"),
    ('{"a":' * 60 + "1" + "}" * 60, "nested more than 40 deep"),
    ("[]", "1:1: settings must be an object, not a list"),
    ('{"permissions": []}', "1:17: permissions: expected an object, got a list"),
    ('{"permissions": {\n"deny": ["A", "B", "C", 4]}}', "2:25: permissions.deny[3]: expected a text, got a number"),
    ('{"permissions": {"deny": null}}', "permissions.deny: expected a list, got null"),
    ('{"permissions": {"deni": []}}', "permissions.deni: unknown key; if 'deny' is meant, it must not be ignored"),
    ('{"Permissions": {}}', "Permissions: unknown key; if 'permissions' is meant"),
    ('{"sandbox": {"enable": true}}', "sandbox.enable: unknown key; if 'enabled' is meant"),
    ('{"permissions": {"defaultMode": "yolo"}}', "permissions.defaultMode: must be one of default, acceptEdits"),
    ('{"permissions": {"disableBypassPermissionsMode": true}}', "disableBypassPermissionsMode: expected a text"),
    ('{"env": {"A": 1}}', "env.A: expected a text, got a number"),
    ('{"env": {"A=B": "1"}}', "env.A=B: this is not the name of a variable"),
    ('{"env": {"A": "a\\u0000b"}}', "env.A: the text holds a NUL character"),
    ('{"hooks": {"PreToolUse": [{"hooks": [{"type": "command"}]}]}}', "hooks.PreToolUse[0].hooks[0].command: a text is needed"),
    (
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "magic"}]}]}}',
        "hooks.PreToolUse[0].hooks[0].type: must be one of command",
    ),
    ('{"hooks": {"Stop": {}}}', "hooks.Stop: expected a list, got an object"),
    ('{"sandbox": {"network": {"httpProxyPort": 70000}}}', "sandbox.network.httpProxyPort: must be a whole number"),
    ('{"sandbox": {"filesystem": {"denyRead": "x"}}}', "sandbox.filesystem.denyRead: expected a list, got a text"),
    ('{"mcpServers": {"a": {"type": "stdio"}}}', "mcpServers.a.command: a text is needed here"),
    ('{"cleanupPeriodDays": 1.5}', "cleanupPeriodDays: must be a whole number"),
]


@pytest.mark.parametrize("scope", ["user", "project", "local", "managed"])
@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_a_wrong_file_is_refused_with_file_and_key(text: str, said: str, scope: str, place: Place) -> None:
    path = place.write(scope, text)
    with pytest.raises(OptionsError) as caught:
        place.load()
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_inline_settings_are_refused_the_same_way(place: Place) -> None:
    with pytest.raises(OptionsError, match=r"^settings:1:26: permissions.deny: expected a list, got a text$"):
        place.load(inline='{"permissions": {"deny": "Bash"}}')


def too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def other_encoding(path: Path) -> None:
    path.write_bytes('{"model": "ü"}'.encode("utf-16"))


@pytest.mark.parametrize("make", [too_large, a_folder, a_pipe, a_dangling_link, a_loop, a_device, other_encoding])
@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_file_that_cannot_be_read_stops_the_session(make: Any, scope: str, place: Place) -> None:
    path = place.write(scope, {})
    path.unlink()
    make(path)
    with pytest.raises(OptionsError, match="cannot read the settings") as caught:
        place.load()
    assert str(path) in str(caught.value)


def test_a_large_file_within_the_bound_is_read(place: Place) -> None:
    place.write("user", {"x" * (MAX_SIZE - 100): 1})
    assert len(place.load().notes) == 1


def test_a_byte_order_mark_hides_no_rule(place: Place) -> None:
    place.write("user", '\ufeff{"permissions": {"deny": ["Bash"]}}')
    assert [rule.text for rule in place.load().rules] == ["Bash"]


def test_an_unknown_key_is_noted_and_known_ones_of_other_programs_are_not(place: Place) -> None:
    path = place.write(
        "user", '{\n"includeCoAuthoredBy": false, "$schema": "x", "statusLine": {"type": "command"},\n"colour": 1}'
    )
    assert place.load().notes == (f"{path}:3: the key colour is not known and has no effect",)


def test_rules_know_where_they_were_written(place: Place) -> None:
    path = place.write("project", '{"permissions": {\n "ask": ["Read"],\n "deny": [\n  "Bash",\n  "Edit"]}}')
    rules = {rule.text: (rule.behavior, str(rule.source)) for rule in place.load().rules}
    assert rules == {"Read": ("ask", f"{path}:2"), "Bash": ("deny", f"{path}:4"), "Edit": ("deny", f"{path}:5")}


def test_hooks_are_handed_over_as_values(place: Place) -> None:
    hooks = {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard", "timeout": 5, "if": "Bash(rm *)"}]}
        ],
        "Stop": [{"hooks": [{"type": "http", "url": "http://127.0.0.1/x", "headers": {"A": "b"}}]}],
        "Tomorrow": [],
    }
    path = place.write("user", {"hooks": hooks})
    settings = place.load()
    guard, stop = settings.hooks
    assert (guard.event, guard.matcher, guard.kind, guard.command, guard.timeout) == (
        "PreToolUse",
        "Bash",
        "command",
        "guard",
        5,
    )
    assert (guard.condition, str(guard.source)) == ("Bash(rm *)", f"{path}:1")
    assert (stop.matcher, stop.url, stop.headers) == ("", "http://127.0.0.1/x", (("A", "b"),))
    assert "hooks.Tomorrow is not known" in settings.notes[0]


def test_turning_hooks_off_leaves_those_of_the_administrator(place: Place) -> None:
    one = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}
    place.write("managed", one)
    place.write("user", {**one, "disableAllHooks": True})
    assert [hook.source.scope for hook in place.load().hooks_in_force] == ["managed"]


def test_the_sandbox_is_handed_over_as_a_value(place: Place) -> None:
    place.write(
        "user",
        {
            "sandbox": {
                "enabled": True,
                "failIfUnavailable": True,
                "selfTest": False,
                "excludedCommands": ["docker"],
                "ignoreViolations": {"*": ["/x"]},
                "network": {"allowedDomains": ["a.example"], "strictAllowlist": True},
                "filesystem": {"denyRead": ["~/.ssh"]},
                "credentials": {"files": [{"path": "~/.netrc", "mode": "deny"}], "envVars": [{"name": "K", "mode": "mask"}]},
                "limits": {"memoryMb": 512},
            }
        },
    )
    sandbox = place.load().sandbox
    assert sandbox is not None
    assert (sandbox.enabled, sandbox.fail_if_unavailable, sandbox.self_test) == (True, True, False)
    assert (sandbox.excluded_commands, sandbox.ignore_violations) == (("docker",), (("*", ("/x",)),))
    assert (sandbox.network.allowed_domains, sandbox.network.strict_allowlist) == (("a.example",), True)
    assert (sandbox.filesystem.deny_read, sandbox.limits.memory_mb) == (("~/.ssh",), 512)
    assert [(each.kind, each.name, each.mode) for each in sandbox.credentials] == [
        ("file", "~/.netrc", "deny"),
        ("variable", "K", "mask"),
    ]


def test_the_option_sandbox_is_read_like_the_settings() -> None:
    assert sandbox_of({"enabled": True, "network": {"allowLocalBinding": True}}).network.allow_local_binding is True
    with pytest.raises(OptionsError, match=r"sandbox:1:.*enabled: expected true or false, got a text"):
        sandbox_of({"enabled": "yes"})


def test_variables_cannot_move_the_settings(place: Place) -> None:
    place.write("user", {"env": {"CLAUDE_CONFIG_DIR": "/elsewhere", "HOME": "/elsewhere", "IS_SANDBOX": "1", "A": "b"}})
    settings = place.load()
    assert settings.env == {"A": "b"}
    assert len(settings.notes) == 3


@pytest.mark.parametrize("key", ["allowManagedHooksOnly", "allowManagedPermissionRulesOnly", "deniedMcpServers"])
def test_an_administrators_limit_that_is_not_carried_out_is_refused(key: str, place: Place) -> None:
    place.write("managed", {key: True})
    with pytest.raises(OptionsError, match=f"{key}: is not supported in this version and must not be ignored"):
        place.load()
