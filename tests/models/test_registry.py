"""Names of models: what each means, what is missing, and what is shared."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from support_models import all_closed
from toolwright.models import registry
from toolwright.models.base import HistoryMessage, ModelRequest
from toolwright.models.registry import ResolvedModel, SharedModel, register_provider, resolve, unregister_provider
from toolwright.models.scripted import ScriptedModel
from toolwright.testing import ModelServer, answer
from toolwright.testing.chat_dialect import chat_answer
from toolwright.types.errors import OptionsError

pytestmark = pytest.mark.anyio

KEY = {"ANTHROPIC_API_KEY": "sk-ant-secret"}
OPENAI = {"OPENAI_API_KEY": "sk-openai-secret"}
LOCAL = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("name", "env", "expected"),
    [
        ("claude-opus-4-6", KEY, ("claude-opus-4-6", "anthropic", "ANTHROPIC_API_KEY", "Claude Opus 4.6")),
        ("sonnet", KEY, (registry.ALIASES["sonnet"], "anthropic", "ANTHROPIC_API_KEY", "Claude Sonnet 5.5")),
        ("Opus", KEY, (registry.ALIASES["opus"], "anthropic", "ANTHROPIC_API_KEY", "Claude Opus 5.5")),
        ("haiku[1m]", KEY, (registry.ALIASES["haiku"], "anthropic", "ANTHROPIC_API_KEY", "Claude Haiku 5.5")),
        ("haiku", {**KEY, "ANTHROPIC_DEFAULT_HAIKU_MODEL": "tiny"}, ("tiny", "anthropic", "ANTHROPIC_API_KEY", "tiny")),
        (None, KEY, (registry.ALIASES["sonnet"], "anthropic", "ANTHROPIC_API_KEY", "Claude Sonnet 5.5")),
        ("", KEY, (registry.ALIASES["sonnet"], "anthropic", "ANTHROPIC_API_KEY", "Claude Sonnet 5.5")),
        ("default", KEY, (registry.ALIASES["sonnet"], "anthropic", "ANTHROPIC_API_KEY", "Claude Sonnet 5.5")),
        ("inherit", KEY, (registry.ALIASES["sonnet"], "anthropic", "ANTHROPIC_API_KEY", "Claude Sonnet 5.5")),
        (None, {**KEY, "ANTHROPIC_MODEL": "claude-a-1"}, ("claude-a-1", "anthropic", "ANTHROPIC_API_KEY", "Claude A 1")),
        (
            None,
            {**OPENAI, "ANTHROPIC_MODEL": "claude-a-1", "TOOLWRIGHT_MODEL": "openai:gpt-x"},
            ("gpt-x", "openai", "OPENAI_API_KEY", "gpt-x"),
        ),
        ("claude-a-1", {"ANTHROPIC_AUTH_TOKEN": "t"}, ("claude-a-1", "anthropic", "ANTHROPIC_AUTH_TOKEN", "Claude A 1")),
        ("anthropic:glm", KEY, ("glm", "anthropic", "ANTHROPIC_API_KEY", "glm")),
        ("anthropic:glm@http://[::1]:9", {}, ("glm", "anthropic", "none", "glm")),
        ("glm-5:cloud", {"ANTHROPIC_BASE_URL": "http://10.0.0.1"}, ("glm-5:cloud", "anthropic", "none", "glm-5:cloud")),
        ("openai:gpt-x", OPENAI, ("gpt-x", "openai", "OPENAI_API_KEY", "gpt-x")),
        (f"openai:qwen@{LOCAL}", {}, ("qwen", "openai", "none", "qwen")),
        (f"openai:org/qwen:7b@1@{LOCAL}", {}, ("org/qwen:7b@1", "openai", "none", "org/qwen:7b@1")),
        ("openai:qwen", {"OPENAI_BASE_URL": LOCAL}, ("qwen", "openai", "none", "qwen")),
    ],
)
async def test_names(name: str | None, env: dict[str, str], expected: tuple[str, ...]) -> None:
    resolved = resolve(name, env)
    assert (resolved.id, resolved.provider, resolved.key_source, resolved.display_name) == expected


@pytest.mark.parametrize(
    ("name", "env", "message"),
    [
        ("gpt-5", KEY, "write 'openai:gpt-5'"),
        ("o3", KEY, "write 'openai:o3'"),
        ("chatgpt-x", {}, "write 'openai:chatgpt-x'"),
        ("llama", KEY, "There is no model 'llama'. Write claude-….*openai:NAME@URL.*scripted:FILE.*ANTHROPIC_BASE_URL"),
        ("mystery:llama", KEY, "There is no model 'mystery:llama'"),
        ("openai:", OPENAI, "nothing behind the colon"),
        ("openai:x@ftp://host", OPENAI, "NAME or NAME@URL"),
        ("openai:@http://host", OPENAI, "NAME or NAME@URL"),
        ("openai:x@http://", OPENAI, "NAME or NAME@URL"),
        ("openai:x@http:///v1", OPENAI, "no host"),
        ("openai:x@http://[::1", OPENAI, "no host"),
        (
            None,
            {**KEY, "ANTHROPIC_BASE_URL": "127.0.0.1:8000"},
            "ANTHROPIC_BASE_URL must begin with http://.*got '127.0.0.1:8000'",
        ),
        ("openai:x", {"OPENAI_BASE_URL": "http:///v1"}, "OPENAI_BASE_URL must begin with http:// or https:// and name a host"),
        (None, {}, "set ANTHROPIC_API_KEY .or ANTHROPIC_AUTH_TOKEN.*ANTHROPIC_BASE_URL.*openai:NAME@http"),
        ("claude-x", OPENAI, "There is no key for the model 'claude-x'"),
        ("openai:gpt-x", KEY, "set OPENAI_API_KEY"),
        ("openai:gpt-x@https://api.openai.com/v1", {}, "set OPENAI_API_KEY"),
        ("scripted:/nowhere/x.json", {}, "/nowhere/x.json cannot be read: No such file"),
        ("replay:/nowhere/x.jsonl", {}, "/nowhere/x.jsonl cannot be read: No such file"),
    ],
)
async def test_names_that_cannot_work_say_what_to_do(name: str | None, env: dict[str, str], message: str) -> None:
    with pytest.raises(OptionsError, match=message):
        resolve(name, env)


async def test_secrets_are_in_no_repr() -> None:
    env = {**KEY, "HTTPS_PROXY": "http://user:password@proxy"}
    resolved = resolve("sonnet", env)
    assert isinstance(resolved.model, SharedModel)
    for thing in (resolved, resolved.model, resolved.model.shared):
        assert "secret" not in repr(thing)
        assert "password" not in repr(thing)


def shared(name: str, env: dict[str, str]) -> Any:
    model = resolve(name, env).model
    assert isinstance(model, SharedModel)
    return model.shared


async def test_sessions_with_the_same_settings_share_one_model() -> None:
    assert shared("sonnet", KEY) is shared("opus", {**KEY, "PATH": "/bin"})
    assert shared("sonnet", KEY) is not shared("sonnet", {"ANTHROPIC_API_KEY": "other"})
    assert shared("sonnet", KEY) is not shared("sonnet", {**KEY, "HTTPS_PROXY": "http://proxy"})
    assert shared("openai:a", OPENAI) is shared("openai:b", OPENAI)


async def ask(resolved: ResolvedModel) -> str:
    request = ModelRequest(resolved.id, [HistoryMessage("user", [{"type": "text", "text": "hi"}])], session_id="s")
    async with aclosing(resolved.model.stream(request)) as stream:
        events: list[Any] = [event async for event in stream]
    return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")


async def test_both_providers_are_reached_with_their_keys() -> None:
    with ModelServer({"/v1/messages": answer("I am A"), "/v1/chat/completions": chat_answer("I am O")}) as server:
        env = {**KEY, **OPENAI, "ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": f"{server.url}/v1"}
        for name, text in (("sonnet", "I am A"), ("openai:x", "I am O")):
            resolved = resolve(name, env)
            assert await ask(resolved) == text
            await resolved.model.aclose()
    first, second = server.requests
    assert first.headers["x-api-key"] == "sk-ant-secret"
    assert second.headers["authorization"] == "Bearer sk-openai-secret"
    assert second.json["model"] == "x"


async def test_a_key_never_goes_to_an_address_that_stands_in_a_name() -> None:
    with ModelServer({"/v1/messages": answer("x"), "/v1/chat/completions": chat_answer("x")}) as server:
        for name in (f"openai:x@{server.url}/v1", f"anthropic:x@{server.url}"):
            resolved = resolve(name, {**KEY, **OPENAI, "OPENAI_BASE_URL": LOCAL})
            assert resolved.key_source == "none"
            await ask(resolved)
            await resolved.model.aclose()
    for request in server.requests:
        assert not {"x-api-key", "authorization"} & request.headers.keys()
        assert not any("secret" in value for value in request.headers.values())


async def test_the_connection_lives_until_the_last_session_lets_go() -> None:
    with ModelServer({"/v1/chat/completions": chat_answer("x")}) as server:
        first, second, unused = (resolve(f"openai:x@{server.url}/v1", {}) for _ in range(3))
        await ask(first)
        await ask(second)
        await first.model.aclose()
        await first.model.aclose()
        await unused.model.aclose()
        assert server.open_connections == 1
        await ask(second)
        await second.model.aclose()
        await all_closed(server)
        assert await ask(first) == "x"
        await first.model.aclose()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"model": "tiny", "steps": [{"text": "from a file"}]}))
    return file


async def test_a_script_is_read_once_and_again_when_it_has_changed(script: Path) -> None:
    resolved = resolve(f"scripted:{script}", {})
    assert (resolved.id, resolved.provider, resolved.key_source, resolved.display_name) == (
        "tiny",
        "scripted",
        "none",
        "script script.json",
    )
    assert await ask(resolved) == "from a file"
    assert resolve(f"scripted:{script}", {}).model is resolved.model
    script.write_text(json.dumps({"steps": [{"text": "another text"}]}))
    assert await ask(resolve(f"scripted:{script}", {})) == "another text"


async def test_a_recording_by_name(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    message = {"id": "m", "model": "claude-x", "content": [{"type": "text", "text": "as then"}]}
    file.write_text(json.dumps({"type": "assistant", "message": message}))
    resolved = resolve(f"replay:{file}", {})
    assert (resolved.id, resolved.provider) == ("claude-x", "replay")
    assert await ask(resolved) == "as then"


@pytest.fixture
def plugged() -> Iterator[list[tuple[str, str]]]:
    asked: list[tuple[str, str]] = []

    def factory(rest: str, env: Any) -> ResolvedModel:
        asked.append((rest, env["WHO"]))
        return ResolvedModel(ScriptedModel(["plugged in"]), rest, "mine")

    register_provider("mine", factory)
    yield asked
    unregister_provider("mine")


async def test_a_provider_of_ones_own(plugged: list[tuple[str, str]]) -> None:
    resolved = resolve("mine:big@v1", {"WHO": "me"})
    assert await ask(resolved) == "plugged in"
    assert plugged == [("big@v1", "me")]
    with pytest.raises(OptionsError, match="mine:…"):
        resolve("nobody", {})


async def test_a_prefix_that_no_name_could_have_is_refused() -> None:
    with pytest.raises(OptionsError, match="prefix"):
        register_provider("My Provider", lambda rest, env: ResolvedModel(ScriptedModel([]), rest, "x"))


async def test_choosing_loads_no_http_and_no_other_provider(script: Path) -> None:
    code = (
        "import sys; from toolwright.models.registry import resolve\n"
        f"resolve('scripted:{script}', {{}})\n"
        "heavy = ('httpx2', 'httpcore2', 'ssl', 'yaml', 'toolwright.models.anthropic', 'toolwright.models.openai')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
