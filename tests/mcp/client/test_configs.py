"""Configurations of servers: what is taken, what is filled in, and that a mistake is named."""

from pathlib import Path
from typing import Any

import pytest

from toolwright.mcp.client.configs import BadServerConfig, SamplingBudget, parse_config, read_servers


def test_a_stdio_server_needs_only_a_command() -> None:
    config = parse_config("files", {"command": "server"})
    assert (config.kind, config.command, config.args, config.shared, config.disabled) == ("stdio", "server", (), True, False)


def test_every_field_is_read() -> None:
    entry = {
        "type": "stdio",
        "command": "server",
        "args": ["-v"],
        "env": {"A": "b"},
        "cwd": "sub",
        "timeout": 1500,
        "toolTimeouts": {"slow": 250},
        "alwaysLoad": True,
        "disabled": True,
        "shared": False,
        "sampling": {"maxRequests": 3, "maxTokens": 1000},
    }
    config = parse_config("files", entry)
    assert (config.args, config.env, config.cwd) == (("-v",), {"A": "b"}, "sub")
    assert (config.call_timeout, config.tool_timeouts) == (1.5, {"slow": 0.25})
    assert (config.always_load, config.disabled, config.shared) == (True, True, False)
    assert config.sampling == SamplingBudget(3, 1000)


@pytest.mark.parametrize(("given", "kind"), [("http", "http"), ("streamable-http", "http"), ("sse", "sse"), (None, "http")])
def test_a_url_makes_a_server_over_http(given: str | None, kind: str) -> None:
    entry = {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer x"}} | ({"type": given} if given else {})
    config = parse_config("remote", entry)
    assert (config.kind, config.headers) == (kind, {"Authorization": "Bearer x"})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (7, "must be an object with a command or a url, not a int"),
        ({}, ".command: is missing"),
        ({"command": ""}, ".command: must be a text that is not empty"),
        ({"command": "x", "args": "y"}, ".args: must be a list of texts"),
        ({"command": "x", "env": {"A": 1}}, ".env: must be an object of texts"),
        ({"command": "x\0"}, ".command"),
        ({"type": "carrier-pigeon"}, ".type: must be stdio, sse, http or sdk; got 'carrier-pigeon'"),
        ({"type": "http"}, ".url: is missing"),
        ({"type": "http", "url": "file:///etc/passwd"}, ".url: must begin with http:// or https://"),
        ({"type": "sse", "url": "http://x", "headers": {"A": "b\r\nC: d"}}, ".headers: the value of A has a line break"),
        ({"type": "sse", "url": "http://x", "headers": {"A b": "c"}}, ".headers: 'A b' is no name"),
        ({"command": "x", "timeout": 0}, ".timeout: must be milliseconds above 0"),
        ({"command": "x", "disabled": "yes"}, ".disabled: must be true or false"),
        ({"command": "x", "toolTimeouts": {"a": "b"}}, ".toolTimeouts"),
        ({"command": "x", "sampling": True}, ".sampling: must be an object with maxRequests and maxTokens"),
        ({"command": "x", "sampling": {"maxRequests": 1}}, ".sampling: must be an object with maxRequests and maxTokens"),
        (
            {"command": "x", "sampling": {"maxRequests": 1, "maxTokens": 0}},
            ".sampling.maxTokens: must be a whole number above 0",
        ),
        ({"command": "x", "sampling": {"maxRequests": True, "maxTokens": 1}}, ".sampling.maxRequests: must be a whole number"),
    ],
)
def test_a_mistake_is_named_with_server_and_field(entry: Any, said: str) -> None:
    with pytest.raises(BadServerConfig) as raised:
        parse_config("mine", entry)
    assert "mcp_servers['mine']" in str(raised.value)
    assert said in str(raised.value)


def test_variables_are_filled_in_everywhere() -> None:
    entry = {"command": "${BIN}/server", "args": ["--key=${KEY:-none}"], "env": {"A": "${A}-${EMPTY:-full}"}}
    config = parse_config("mine", entry, env={"BIN": "/opt", "A": "1", "EMPTY": ""})
    assert (config.command, config.args, config.env) == ("/opt/server", ("--key=none",), {"A": "1-full"})


def test_a_value_is_not_filled_in_twice() -> None:
    assert parse_config("mine", {"command": "${A}"}, env={"A": "${B}", "B": "no"}).command == "${B}"


def test_a_missing_variable_is_named_with_file_and_server() -> None:
    with pytest.raises(BadServerConfig) as raised:
        parse_config("mine", {"command": "x", "env": {"T": "${TOKEN}"}}, env={}, where="/p/.mcp.json")
    assert "/p/.mcp.json: server 'mine'.env.T: needs the environment variable TOKEN" in str(raised.value)


def test_servers_come_from_a_file_or_from_text(tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    assert read_servers("servers.json", str(tmp_path)) == ({"a": {"command": "x"}}, "servers.json")
    assert read_servers(tmp_path / "servers.json", "/")[0] == {"a": {"command": "x"}}
    assert read_servers('{"b": {"command": "y"}}', "/")[0] == {"b": {"command": "y"}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("missing.json", "cannot read missing.json: No such file"),
        ("{broken", "is not valid JSON"),
        ('{"mcpServers": 7}', "must be"),
    ],
)
def test_what_is_no_list_of_servers_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadServerConfig, match=said):
        read_servers(text, str(tmp_path))


def test_secrets_are_not_shown() -> None:
    shown = parse_config("mine", {"command": "x", "args": ["-v"], "env": {"TOKEN": "secret"}}).shown()
    assert shown == {"type": "stdio", "command": "x", "args": ["-v"], "env": {"TOKEN": "[hidden]"}}
    shown = parse_config("mine", {"type": "http", "url": "https://u:p@h/mcp?key=secret", "headers": {"A": "secret"}}).shown()
    assert "secret" not in str(shown)
    assert shown["url"] == "https://h/mcp?[hidden]"
