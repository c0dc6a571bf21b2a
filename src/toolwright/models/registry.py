"""From a model's name to a model that can be asked.

    claude-…                 the Anthropic API, or what ANTHROPIC_BASE_URL names; so do the aliases below
    anthropic:NAME[@URL]     any name, at that API or at the URL
    openai:NAME[@URL]        a server that speaks the chat completions API: OpenAI, OPENAI_BASE_URL or the URL
    scripted:FILE            steps from a JSON or YAML file
    replay:FILE              a recorded session
    PREFIX:…                 a provider that was registered

A key from the environment goes only to the server that the environment names for it, never to a URL inside a name: names can
come from files that others wrote. Instances are shared by all sessions with the same settings. This module asks nothing.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from anyio.lowlevel import current_token

from toolwright.models.base import Event, Model, ModelRequest, Retry
from toolwright.types.errors import OptionsError

ALIASES = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
}
DEFAULT_ALIAS = "sonnet"
DEFAULT_NAMES = ("default", "inherit")
"""As good as no name: the default model."""

ANTHROPIC_URL = "https://api.anthropic.com"
OPENAI_URL = "https://api.openai.com/v1"
NAME_WITH_URL = re.compile(r"(?P<name>[^@].*?)@(?P<url>https?://.+)")
OPENAI_NAMES = re.compile(r"(gpt-|chatgpt|o[1-9](-|$)|codex)")
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
NETWORK_VARIABLES = (
    *PROXY_VARIABLES,
    *(name.upper() for name in PROXY_VARIABLES),
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUEST_METHOD",  # its presence says that this is a CGI process, where HTTP_PROXY cannot be trusted
)
FORMS = "claude-…, sonnet, opus, haiku, openai:NAME, openai:NAME@URL, anthropic:NAME[@URL], scripted:FILE or replay:FILE"
KEPT_KEYS = "model-keys.json (toolwright login)"
MAX_SHARED = 256


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model chosen by name. Close `model` when the session that resolved it ends: the last one closes the connections."""

    model: Model = field(repr=False)
    id: str
    """The provider's own name for the model: what goes into `ModelRequest.model`."""
    provider: str
    key_source: str = "none"
    """The environment variable that the key came from, `KEPT_KEYS`, or `none`."""
    display_name: str = ""


Factory = Callable[[str, Mapping[str, str]], ResolvedModel]
_registered: dict[str, Factory] = {}


def register_provider(prefix: str, factory: Factory) -> None:
    """Let names `prefix:REST` be made by `factory(REST, env)`. It goes before ours; registering again replaces it."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", prefix):
        raise OptionsError(f"A provider's prefix must be lower-case letters, digits, - and _, not {prefix!r}.")
    _registered[prefix] = factory


def unregister_provider(prefix: str) -> None:
    _registered.pop(prefix, None)


def resolve(name: str | None, env: Mapping[str, str]) -> ResolvedModel:
    """The model of that name; for None that of TOOLWRIGHT_MODEL, of ANTHROPIC_MODEL, or the default. `env` is all it reads.

    Raises `OptionsError` for a name that means nothing and for a key that is missing.
    """
    wanted = name if name and name not in DEFAULT_NAMES else env.get("TOOLWRIGHT_MODEL") or env.get("ANTHROPIC_MODEL") or ""
    wanted = wanted.strip()
    if not wanted or wanted in DEFAULT_NAMES:
        wanted = DEFAULT_ALIAS
    prefix, colon, rest = wanted.partition(":")
    factory = (_registered.get(prefix) or PROVIDERS.get(prefix)) if colon else None
    if factory is not None:
        if not rest.strip():
            raise OptionsError(f"The model {wanted!r} has nothing behind the colon. Write {FORMS}.")
        return factory(rest.strip(), env)
    alias = wanted.removesuffix("[1m]").lower()
    if alias in ALIASES:
        wanted = env.get(f"ANTHROPIC_DEFAULT_{alias.upper()}_MODEL") or ALIASES[alias] + wanted[len(alias) :]
        return _anthropic(wanted, env)
    if wanted.startswith("claude-") or env.get("ANTHROPIC_BASE_URL"):
        return _anthropic(wanted, env)
    _refuse(wanted)


def _refuse(name: str) -> NoReturn:
    if OPENAI_NAMES.match(name):
        raise OptionsError(f"The model {name!r} looks like one of OpenAI's: write 'openai:{name}'.")
    known = f"{FORMS}{', or '.join(['', *(f'{prefix}:…' for prefix in sorted(_registered))])}"
    raise OptionsError(f"There is no model {name!r}. Write {known}; or set ANTHROPIC_BASE_URL to a server that knows it.")


# providers


def _anthropic(name: str, env: Mapping[str, str]) -> ResolvedModel:
    model_id, url = _split_url(name)
    base = url or _base_url(env, "ANTHROPIC_BASE_URL") or ANTHROPIC_URL
    own = _same_server(base, env.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL)
    key, source = _key(env, base, "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY") if own else (None, "none")
    if key is None and _same_server(base, ANTHROPIC_URL):
        advice = "set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN), run `toolwright login`"
        raise OptionsError(f"There is no key for the model {name!r}: {advice}, {_other_ways('anthropic')}.")
    settings = _Settings("anthropic", base, key, token=source == "ANTHROPIC_AUTH_TOKEN", network=_network(env))
    sent_id = model_id.removesuffix("[1m]")  # a mark for clients, not part of the id
    return ResolvedModel(SharedModel.of(settings), sent_id, "anthropic", source, display_name(sent_id))


def _openai(name: str, env: Mapping[str, str]) -> ResolvedModel:
    model_id, url = _split_url(name)
    base = url or _base_url(env, "OPENAI_BASE_URL") or OPENAI_URL
    own = _same_server(base, env.get("OPENAI_BASE_URL") or OPENAI_URL)
    key, source = _key(env, base, "OPENAI_API_KEY") if own else (None, "none")
    if key is None and _same_server(base, OPENAI_URL):
        advice = "set OPENAI_API_KEY, run `toolwright login openai`"
        raise OptionsError(f"There is no key for the model 'openai:{name}': {advice}, {_other_ways('openai')}.")
    settings = _Settings("openai", base, key, network=_network(env))
    return ResolvedModel(SharedModel.of(settings), model_id, "openai", source, model_id)


def _scripted(path: str, env: Mapping[str, str]) -> ResolvedModel:
    model = _model_of_file("scripted", *_file_state(path))
    return ResolvedModel(model, model.model, "scripted", "none", f"script {Path(path).name}")


def _replay(path: str, env: Mapping[str, str]) -> ResolvedModel:
    model = _model_of_file("replay", *_file_state(path))
    return ResolvedModel(model, model.model, "replay", "none", f"recording {Path(path).name}")


PROVIDERS: Mapping[str, Factory] = {"anthropic": _anthropic, "openai": _openai, "scripted": _scripted, "replay": _replay}


def _other_ways(provider: str) -> str:
    variable = f"{provider.upper()}_BASE_URL"
    return (
        f"set {variable} for a server that needs none, or choose a local model such as 'openai:NAME@http://127.0.0.1:8000/v1'"
    )


def _split_url(name: str) -> tuple[str, str | None]:
    """NAME@URL → both. The URL is checked here, where the name is still known."""
    found = NAME_WITH_URL.fullmatch(name)
    if found is None:
        if name.startswith("@") or "://" in name:
            raise OptionsError(f"The model {name!r} must be NAME or NAME@URL, with http:// or https:// in the URL.")
        return name, None
    try:
        host = urlsplit(found["url"]).hostname
    except ValueError:
        host = None
    if not host:
        raise OptionsError(f"The model {name!r} has no host in its URL.")
    return found["name"], found["url"]


def _base_url(env: Mapping[str, str], variable: str) -> str | None:
    """Raises `OptionsError` for an address that cannot be one; otherwise it would be told as a dead server."""
    url = env.get(variable)
    if url and not re.match(r"https?://[^/]", url, re.IGNORECASE):
        raise OptionsError(f"{variable} must begin with http:// or https:// and name a host; got {url!r}.")
    return url


def _same_server(url: str, other: str) -> bool:
    a, b = urlsplit(url), urlsplit(other)
    return (a.scheme, a.netloc.lower()) == (b.scheme, b.netloc.lower())


def _key(env: Mapping[str, str], server: str, *names: str) -> tuple[str | None, str]:
    """The key for a server and where it comes from: a variable, or what was kept for this very server."""
    source = next((name for name in names if env.get(name)), None)
    if source is not None:
        return env[source], source
    kept = env.get(kept_key_name(server))
    return (kept, KEPT_KEYS) if kept else (None, "none")


def kept_key_name(server: str) -> str:
    """The name under which `env` holds a key that was kept for a server. No variable has such a name."""
    parts = urlsplit(server)
    return f"{parts.scheme}://{parts.netloc.lower()} key"


def _network(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, env[name]) for name in NETWORK_VARIABLES if name in env)


def display_name(model_id: str) -> str:
    """claude-sonnet-5-5 → Claude Sonnet 5.5; another id as it is."""
    found = re.fullmatch(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?:-\d{8})?", model_id)
    if found is None:
        return model_id
    return f"Claude {found[1].capitalize()} {'.'.join(part for part in found.groups()[1:] if part)}"


# sharing


@dataclass(frozen=True, slots=True)
class _Settings:
    """What two sessions must have in common to share a model."""

    provider: str
    base_url: str
    key: str | None = field(repr=False)
    token: bool = False
    network: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@lru_cache(maxsize=MAX_SHARED)
def _shared(settings: _Settings) -> _Users:
    return _Users(_connect(settings))


def _connect(settings: _Settings) -> Model:
    """The provider itself, without retries. It is loaded when the first session wants it."""
    env = dict(settings.network)
    if settings.provider == "openai":
        from toolwright.models.openai import OpenAIModel

        return OpenAIModel(base_url=settings.base_url, api_key=settings.key, env=env)
    from toolwright.models.anthropic import AnthropicModel

    api_key, auth_token = (None, settings.key) if settings.token else (settings.key, None)
    return AnthropicModel(base_url=settings.base_url, api_key=api_key, auth_token=auth_token, env=env)


class _Users:
    """A model, and how many use it on each event loop."""

    __slots__ = ("count", "model")

    def __init__(self, model: Model) -> None:
        self.model = model
        self.count: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


class SharedModel:
    """One session's hold on a model that others use too. With the last hold on an event loop the model is closed there."""

    __slots__ = ("_loop", "_users")

    def __init__(self, users: _Users) -> None:
        self._users = users
        self._loop: Any = None  # where it was first used; a hold that was never used holds nothing

    @classmethod
    def of(cls, settings: _Settings) -> SharedModel:
        return cls(_shared(settings))

    @property
    def shared(self) -> Model:
        return self._users.model

    def stream(self, request: ModelRequest) -> AsyncGenerator[Event | Retry, None]:
        if self._loop is None:
            self._loop = current_token().native_token
            self._users.count[self._loop] = self._users.count.get(self._loop, 0) + 1
        return self._users.model.stream(request)

    async def aclose(self) -> None:
        loop, self._loop = self._loop, None
        if loop is None:
            return
        left = self._users.count[loop] = self._users.count[loop] - 1
        if not left:
            await self._users.model.aclose()


def _file_state(path: str) -> tuple[str, int, int]:
    file = Path(path).expanduser()
    try:
        state = file.stat()
    except OSError as error:
        raise OptionsError(f"The model's file {file} cannot be read: {error.strerror}.") from error
    return str(file), state.st_mtime_ns, state.st_size


@lru_cache(maxsize=64)
def _model_of_file(kind: str, path: str, _changed: int, _size: int) -> Any:
    """Read once for all sessions, and again when the file has changed."""
    if kind == "scripted":
        from toolwright.models.script_file import load_script

        return load_script(path, record=False)
    from toolwright.models.replay import ReplayModel

    return ReplayModel(path, record=False)
