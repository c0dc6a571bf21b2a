"""Logging in to servers: the whole way against a stand-in provider, and every way in which it must not go."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from support_oauth import Provider, provider
from toolwright.mcp.client.oauth.addresses import LoginError, checked_url, covers
from toolwright.mcp.client.oauth.bearer import token_for
from toolwright.mcp.client.oauth.discovery import challenge_values
from toolwright.mcp.client.oauth.login import KnownClient, log_in, renewed
from toolwright.mcp.client.oauth.store import Login, TokenStore

pytestmark = pytest.mark.anyio


async def enter(made: Provider, **more: Any) -> Login:
    with anyio.fail_after(30):
        return await log_in(made.url, made.challenge, env={}, open_browser=made.browse, **more)


async def test_a_person_logs_in_with_pkce_state_and_this_server_as_the_resource() -> None:
    async with provider() as made:
        login = await enter(made)
        assert (login.access_token, login.refresh_token, login.client_id) == ("the-token", "again", "registered")
        assert made.asked["code_challenge_method"] == "S256"
        assert len(made.asked["state"]) >= 43
        assert made.pkce_fits()
        assert made.asked["resource"] == made.tokens_asked[0]["resource"] == made.url
        assert made.asked["scope"] == "read"
        assert "the-token" not in repr(login)


async def test_the_scope_of_the_challenge_wins() -> None:
    async with provider() as made:
        made.challenge += ', scope="write all"'
        await enter(made)
        assert made.asked["scope"] == "write all"


async def test_a_client_that_is_known_there_does_not_register() -> None:
    async with provider() as made:
        made.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        del made.metadata["registration_endpoint"]
        await enter(made, client=KnownClient("ours", "secret"))
        assert made.tokens_asked[0]["client_secret"] == "secret"
        with pytest.raises(LoginError, match="register"):
            await enter(made)


BAD_URLS = [
    "file:///etc/passwd",
    "javascript:alert(1)",
    "a:$(touch C)",
    "http://evil.test/authorize",
    "https://user@evil.test/",
    "https://evil.test/\nx",
    "https://evil.test/`id`",
    'https://evil.test/"x',
    "https://evil.test/ x",
    "https://",
    "",
    7,
]


@pytest.mark.parametrize("url", BAD_URLS)
@pytest.mark.parametrize("key", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_an_address_that_is_no_plain_https_url_is_refused_and_never_opened(key: str, url: object) -> None:
    async with provider() as made:
        made.metadata[key] = url
        with pytest.raises(LoginError):
            await enter(made)
        assert not made.asked


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"resource": {"resource": "https://other.test/mcp"}}, "speaks for"),
        ({"resource": {"authorization_servers": ["http://evil.test"]}}, "https"),
        ({"metadata": {"issuer": "https://other.test"}}, "issuer"),
        ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "PKCE"),
        ({"metadata": {"code_challenge_methods_supported": None}}, "PKCE"),
        ({"metadata": {"authorization_response_iss_parameter_supported": True}}, "comes from"),
        ({"callback": {"iss": "https://other.test"}}, "comes from"),
        ({"callback": {"code": None, "error": "access_denied"}}, "access_denied"),
        ({"token": {"access_token": "a\r\nb"}}, "usable token"),
        ({"token": {"token_type": "mac"}}, "bearer"),
    ],
)
async def test_a_login_that_does_not_add_up_is_refused(change: dict[str, dict[str, Any]], said: str) -> None:
    async with provider() as made:
        for name, values in change.items():
            getattr(made, name).update(values)
        with pytest.raises(LoginError, match=said):
            await enter(made)


async def test_an_answer_with_another_state_is_not_ours() -> None:
    async with provider() as made:
        made.callback["state"] = "guessed"
        with pytest.raises(LoginError, match="nobody logged in"):
            await enter(made, patience=0.3)
        assert not made.tokens_asked


async def test_a_token_is_kept_for_its_owner_alone_and_renewed_when_it_is_old(tmp_path: Path) -> None:
    folder = str(tmp_path / "config")
    async with provider() as made:
        login = await enter(made)
        store = TokenStore(folder)
        store.put(made.url, replace(login, expires_at=time.time() - 1))
        path = os.path.join(folder, "mcp-tokens.json")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        made.token["access_token"] = "a-new-one"
        assert await token_for(made.url, folder, {}) == "a-new-one"
        assert made.tokens_asked[-1]["grant_type"] == "refresh_token"
        kept = store.get(made.url)
        assert kept is not None
        assert (kept.access_token, kept.refresh_token) == ("a-new-one", "again")
        store.put(made.url, None)
        assert await token_for(made.url, folder, {}) is None
        with pytest.raises(LoginError, match="log in again"):
            await renewed(replace(login, refresh_token=None), {})


def test_a_store_that_makes_no_sense_or_is_a_link_holds_nothing(tmp_path: Path) -> None:
    store = TokenStore(str(tmp_path))
    (tmp_path / "mcp-tokens.json").write_text("{")
    assert store.get("x") is None
    (tmp_path / "mcp-tokens.json").write_text('{"x": {"unknown": 1}}')
    assert store.get("x") is None
    (tmp_path / "mcp-tokens.json").unlink()
    (tmp_path / "real").write_text('{"x": {"access_token": "t", "token_url": "u", "client_id": "c", "resource": "r"}}')
    (tmp_path / "mcp-tokens.json").symlink_to(tmp_path / "real")
    assert store.get("x") is None


def test_addresses() -> None:
    assert checked_url("https://example.test/a?b=c&d=%20", "x")
    assert checked_url("http://localhost:8000/a", "x")
    assert covers("https://a.test", "https://a.test/mcp")
    assert covers("https://a.test/mcp", "https://a.test/mcp/")
    assert not covers("https://a.test/mcp", "https://a.test/mcp2")
    assert not covers("https://a.test/mcp", "https://a.test:444/mcp")
    assert challenge_values('Bearer error="x", resource_metadata="https://a", scope=read') == {
        "error": "x",
        "resource_metadata": "https://a",
        "scope": "read",
    }
