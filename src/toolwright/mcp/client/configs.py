"""How external tool servers are configured: dicts, JSON text or files made into checked values, with ${VAR} filled in.

Every complaint names the server and the field, and the file if there is one. Knows the shapes only: it starts nothing, dials
nothing, and reads a file only in `read_servers`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

Kind = Literal["stdio", "sse", "http"]

KINDS: dict[str, Kind] = {"stdio": "stdio", "sse": "sse", "http": "http", "streamable-http": "http", "streamableHttp": "http"}
IN_PROCESS = "sdk"
MAX_FILE_SIZE = 4 * 1024 * 1024
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class BadServerConfig(ValueError):
    """A server's configuration cannot be used; the text names the server, the field and where it was written."""


class SamplingBudget(Struct, frozen=True):
    """How much one server may ask of the session's model, for as long as the session lasts."""

    max_requests: int
    max_tokens: int
    """In and out, of all its requests together."""


class ServerConfig(Struct, frozen=True):
    """One external server, checked and expanded. Times are in seconds; None means the session's own default."""

    name: str
    kind: Kind
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    call_timeout: float | None = None
    tool_timeouts: Mapping[str, float] = field(default_factory=dict)
    always_load: bool = False
    disabled: bool = False
    shared: bool = True
    """Whether sessions of this process may use one process of this (stdio) server together."""
    protocol: str | None = None
    """The protocol version to speak, where it is not to be negotiated."""
    sampling: SamplingBudget | None = None
    """None: the server may not ask for the model."""
    scope: str = "dynamic"

    def shown(self) -> dict[str, Any]:
        """The configuration for a status: values of variables and headers may be secrets and are not shown."""
        if self.kind == "stdio":
            shown: dict[str, Any] = {"type": "stdio", "command": self.command, "args": list(self.args)}
            return shown | ({"env": dict.fromkeys(self.env, "[hidden]")} if self.env else {})
        shown = {"type": self.kind, "url": _without_secrets(self.url)}
        return shown | ({"headers": dict.fromkeys(self.headers, "[hidden]")} if self.headers else {})


def read_servers(given: str | os.PathLike[str], cwd: str) -> tuple[dict[str, Any], str]:
    """The servers (name → entry) of JSON text or of a file, and what to call the place they stand in."""
    text = os.fspath(given)
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return servers_of(text, "mcp_servers"), "mcp_servers"
    path = os.path.join(cwd, os.path.expanduser(text))
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        raise BadServerConfig(f"mcp_servers: cannot read {text}: {error.strerror or error}") from None
    if len(content) > MAX_FILE_SIZE:
        raise BadServerConfig(f"mcp_servers: {text} is larger than {MAX_FILE_SIZE} bytes; that is no list of servers")
    return servers_of(content, text), text


def servers_of(text: str | bytes, where: str) -> dict[str, Any]:
    """The servers in JSON text: `{"mcpServers": {…}}`, or the inner object alone."""
    try:
        read = msgspec.json.decode(text if isinstance(text, bytes) else text.lstrip("\ufeff"))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadServerConfig(f"{where} is not valid JSON: {error}") from None
    servers = read.get("mcpServers", read) if isinstance(read, dict) else None
    if not isinstance(servers, dict):
        raise BadServerConfig(f'{where} must be {{"mcpServers": {{name: {{…}}}}}}')
    return servers


def parse_config(
    name: str, entry: Any, *, env: Mapping[str, str] | None = None, where: str = "mcp_servers", scope: str = "dynamic"
) -> ServerConfig:
    """One entry, checked. With `env`, ${VAR} and ${VAR:-default} are filled in from it. Raises `BadServerConfig`."""
    return _Entry(name, entry, where).read(env, scope)


class _Entry:
    """One server's entry while it is looked at."""

    def __init__(self, name: str, entry: Any, where: str) -> None:
        self._place = f"{where}[{name!r}]" if where == "mcp_servers" else f"{where}: server {name!r}"
        self._name = name
        if not isinstance(name, str) or not name.strip():
            raise BadServerConfig(f"{where}: a server's name must be a text that is not empty, not {name!r}")
        if not isinstance(entry, Mapping):
            raise self._bad("", f"must be an object with a command or a url, not {_kind(entry)}")
        self._entry: dict[str, Any] = dict(entry)

    def read(self, env: Mapping[str, str] | None, scope: str) -> ServerConfig:
        kind = self._server_kind()
        if env is not None:
            self._entry = {key: self._expanded(value, env, key) for key, value in self._entry.items()}
        fields = self._of_process() if kind == "stdio" else self._of_url()
        return ServerConfig(
            self._name,
            kind,
            **fields,
            call_timeout=self._milliseconds("timeout") or self._milliseconds("request_timeout_ms"),
            tool_timeouts=self._tool_timeouts(),
            always_load=self._boolean("alwaysLoad", False),
            disabled=self._boolean("disabled", False),
            shared=self._boolean("shared", True),
            protocol=self._text("protocolVersion") or None,
            sampling=self._sampling(),
            scope=scope,
        )

    def _server_kind(self) -> Kind:
        given = self._entry.get("type")
        if given is None:
            given = "http" if "url" in self._entry and "command" not in self._entry else "stdio"
        if not isinstance(given, str) or given not in KINDS:
            raise self._bad("type", f"must be stdio, sse, http or sdk; got {given!r}"[:200])
        return KINDS[given]

    def _of_process(self) -> dict[str, Any]:
        command = self._text("command", needed=True)
        args = self._entry.get("args") or []
        if not isinstance(args, list | tuple) or not all(_is_text(arg) for arg in args):
            raise self._bad("args", "must be a list of texts")
        cwd = self._text("cwd")
        return {"command": command, "args": tuple(args), "env": self._texts("env"), "cwd": cwd or None}

    def _of_url(self) -> dict[str, Any]:
        url = self._text("url", needed=True)
        if not re.match(r"https?://[^/\s]", url, re.IGNORECASE):
            raise self._bad("url", f"must begin with http:// or https:// and a host; got {url!r}"[:300])
        headers = self._texts("headers")
        for name, value in headers.items():
            if not name.isascii() or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
                raise self._bad("headers", f"{name!r} is no name for an HTTP header")
            if not value.isascii() or not (value.isprintable() or not value) or value != value.strip():
                raise self._bad("headers", f"the value of {name} has a line break, a space at its end or is not plain ASCII")
        return {"url": url, "headers": headers}

    def _tool_timeouts(self) -> dict[str, float]:
        given = self._entry.get("toolTimeouts") or {}
        if not isinstance(given, Mapping) or not all(isinstance(name, str) and _is_time(ms) for name, ms in given.items()):
            raise self._bad("toolTimeouts", "must be an object: a tool's name → milliseconds above 0")
        return {name: ms / 1000 for name, ms in given.items()}

    def _sampling(self) -> SamplingBudget | None:
        given = self._entry.get("sampling")
        if given is None:
            return None
        names = ("maxRequests", "maxTokens")
        if not isinstance(given, Mapping) or set(given) != set(names):
            raise self._bad("sampling", "must be an object with maxRequests and maxTokens, or be left out to allow none")
        for name in names:
            if not isinstance(given[name], int) or isinstance(given[name], bool) or given[name] < 1:
                raise self._bad(f"sampling.{name}", f"must be a whole number above 0; got {given[name]!r}"[:200])
        return SamplingBudget(given["maxRequests"], given["maxTokens"])

    def _milliseconds(self, key: str) -> float | None:
        given = self._entry.get(key)
        if given is None:
            return None
        if not _is_time(given):
            raise self._bad(key, f"must be milliseconds above 0; got {given!r}"[:200])
        return float(given) / 1000

    def _boolean(self, key: str, default: bool) -> bool:
        given = self._entry.get(key, default)
        if not isinstance(given, bool):
            raise self._bad(key, f"must be true or false; got {given!r}"[:200])
        return given

    def _text(self, key: str, *, needed: bool = False) -> str:
        given = self._entry.get(key)
        if given is None and not needed:
            return ""
        if not isinstance(given, str) or "\0" in given or (needed and not given.strip()):
            what = "is missing" if given is None else f"must be a text that is not empty; got {_kind(given)}"
            raise self._bad(key, what)
        return given

    def _texts(self, key: str) -> dict[str, str]:
        given = self._entry.get(key) or {}
        if not isinstance(given, Mapping) or not all(_is_text(name) and _is_text(value) for name, value in given.items()):
            raise self._bad(key, "must be an object of texts")
        return dict(given)

    def _expanded(self, value: Any, env: Mapping[str, str], key: str) -> Any:
        if isinstance(value, str):
            text, end, rest = value.rpartition("}")  # beyond the last brace each ${ would be followed to the end in vain
            return _VARIABLE.sub(lambda match: self._value_of(match, env, key), text + end) + rest
        if isinstance(value, list):
            return [self._expanded(item, env, key) for item in value]
        if isinstance(value, Mapping):
            return {name: self._expanded(item, env, f"{key}.{name}") for name, item in value.items()}
        return value

    def _value_of(self, match: re.Match[str], env: Mapping[str, str], key: str) -> str:
        name, default = match[1], match[2]
        value = env.get(name)
        if value is not None and (value or default is None):
            return value
        if default is None:
            raise self._bad(
                key, f"needs the environment variable {name}, which is not set; set it or write ${{{name}:-default}}"
            )
        return default

    def _bad(self, key: str, what: str) -> BadServerConfig:
        return BadServerConfig(f"{self._place}{'.' if key else ''}{key}: {what}" if key else f"{self._place} {what}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _without_secrets(url: str) -> str:
    """A URL for showing: without a password and without the values of its query."""
    url = re.sub(r"(?<=://)[^/@]*@", "", url)
    address, mark, _ = url.partition("?")
    return f"{address}?[hidden]" if mark else address
