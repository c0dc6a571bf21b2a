"""One login: register if need be, send the person's browser to log in, wait for it to come back, get the token.

PKCE (S256) and `state` always; the issuer is checked where the server tells it; the token is asked for this server alone
(`resource`). The browser is opened by a function that is handed in.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

import anyio
from msgspec import Struct
from msgspec.structs import replace

from toolwright.mcp.client.oauth.addresses import LoginError, checked_url
from toolwright.mcp.client.oauth.discovery import LoginPlace, find_login
from toolwright.mcp.client.oauth.exchange import Exchanger
from toolwright.mcp.client.oauth.store import Login
from toolwright.mcp.server.http_messages import HttpConnection, Request
from toolwright.mcp.server.http_server import listen, port_of, serve_http

TIMEOUT = 300.0
CALLBACK = "/callback"
_DONE = b"You are logged in. You can close this page.\n"
_FAILED = b"The login did not work. See the terminal.\n"

OpenBrowser = Callable[[str], Awaitable[None]]


class KnownClient(Struct, frozen=True):
    """How we are known to an authorization server that was told about us beforehand."""

    client_id: str
    client_secret: str | None = None


class _Return(Struct):
    """What the browser came back with."""

    state: str
    came: anyio.Event
    values: dict[str, str]

    async def serve(self, request: Request, connection: HttpConnection) -> None:
        values = {key: value[0] for key, value in parse_qs(request.query, max_num_fields=20).items()}
        fits = request.path == CALLBACK and hmac.compare_digest(values.get("state", "").encode(), self.state.encode())
        if fits and not self.came.is_set():
            self.values = values
            self.came.set()
        headers = {"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"}
        await connection.respond(200 if fits else 400, headers, _DONE if fits and "code" in values else _FAILED, close=True)


async def log_in(
    url: str,
    challenge: str,
    *,
    env: Mapping[str, str],
    open_browser: OpenBrowser,
    client: KnownClient | None = None,
    patience: float = TIMEOUT,
) -> Login:
    """Raises `LoginError`."""
    exchanger = Exchanger(env)
    place = await find_login(checked_url(url, "server's URL"), challenge, exchanger)
    async with await listen("127.0.0.1", 0) as listener:
        redirect = f"http://127.0.0.1:{port_of(listener)}{CALLBACK}"
        known, method = await _client(place, client, redirect, exchanger)
        verifier, back = secrets.token_urlsafe(64), _Return(secrets.token_urlsafe(32), anyio.Event(), {})
        async with anyio.create_task_group() as group:
            group.start_soon(serve_http, listener, back.serve)
            await open_browser(_address(place, known, redirect, verifier=verifier, state=back.state))
            with anyio.move_on_after(patience):
                await back.came.wait()
            group.cancel_scope.cancel()
    code = _code(back.values, place)
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
    asked = Login("", place.token, known.client_id, place.resource, known.client_secret, method, scope=place.scope)
    return await _token(asked, fields, exchanger)


async def renewed(login: Login, env: Mapping[str, str]) -> Login:
    """The same login with a new token. Raises `LoginError`."""
    if login.refresh_token is None:
        raise LoginError("the login has ended and cannot be renewed; log in again")
    fields = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    return await _token(login, fields, Exchanger(env))


async def _client(
    place: LoginPlace, client: KnownClient | None, redirect: str, exchanger: Exchanger
) -> tuple[KnownClient, str]:
    """Who we are there, and how we prove it to the token endpoint."""
    if client is None:
        if place.register is None:
            raise LoginError(f"{place.issuer} does not let programs register themselves; give a client id")
        method = next(
            (each for each in ("none", "client_secret_basic", "client_secret_post") if each in place.secret_methods), "none"
        )
        wishes = {
            "client_name": "toolwright",
            "application_type": "native",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
        }
        given = await exchanger.post_json(place.register, wishes | ({"scope": place.scope} if place.scope else {}))
        if not isinstance(given.get("client_id"), str):
            raise LoginError(f"{place.register} gave no client id")
        secret = given.get("client_secret")
        return KnownClient(given["client_id"], secret if isinstance(secret, str) else None), method
    ways = ("client_secret_basic", "client_secret_post") if client.client_secret else ("none",)
    return client, next((each for each in ways if each in place.secret_methods), ways[0])


def _address(place: LoginPlace, client: KnownClient, redirect: str, *, verifier: str, state: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    wishes = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "state": state,
        "resource": place.resource,
    } | ({"scope": place.scope} if place.scope else {})
    mark = "&" if "?" in place.authorize else "?"
    return checked_url(f"{place.authorize}{mark}{urlencode(wishes, quote_via=quote)}", "address of the login")


def _code(values: Mapping[str, str], place: LoginPlace) -> str:
    if not values:
        raise LoginError("nobody logged in: the browser did not come back in time")
    issuer = values.get("iss")
    if (issuer is None and place.tells_issuer) or (issuer is not None and issuer != place.issuer):
        raise LoginError(f"the answer comes from {str(issuer)[:200]!r}, not from {place.issuer}")
    if "code" not in values:
        said = values.get("error_description") or values.get("error") or "no reason given"
        raise LoginError(f"the login was refused: {said[:300]}")
    return values["code"]


async def _token(login: Login, fields: dict[str, str], exchanger: Exchanger) -> Login:
    headers: dict[str, str] = {}
    given = {**fields, "resource": login.resource, "client_id": login.client_id}
    if login.secret_method == "client_secret_basic" and login.client_secret is not None:
        pair = f"{quote(login.client_id, safe='')}:{quote(login.client_secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        del given["client_id"]
    elif login.client_secret is not None:
        given["client_secret"] = login.client_secret
    return _taken(login, await exchanger.post(login.token_url, given, headers=headers))


def _taken(login: Login, answer: dict[str, Any]) -> Login:
    token, kind, lasts = answer.get("access_token"), answer.get("token_type"), answer.get("expires_in")
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token:
        raise LoginError("the authorization server gave no usable token")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise LoginError(f"the authorization server gave a token of the type {str(kind)[:50]!r}; only bearer is known")
    refresh = answer.get("refresh_token")
    until = time.time() + lasts if isinstance(lasts, int | float) and not isinstance(lasts, bool) else None
    kept = refresh if isinstance(refresh, str) else login.refresh_token
    return replace(login, access_token=token, refresh_token=kept, expires_at=until)
