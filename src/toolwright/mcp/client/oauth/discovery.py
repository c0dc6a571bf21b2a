"""Where to log in for a server: its own word (RFC 9728), then its authorization server's (RFC 8414); all is checked.

The server must speak for itself, the authorization server for its own issuer, and PKCE with S256 must be there.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from toolwright.mcp.client.oauth.addresses import LoginError, checked_url, covers, origin_of
from toolwright.mcp.client.oauth.exchange import Exchanger

_PARAMETER = re.compile(r'(?<![A-Za-z_])(?:([A-Za-z_]+)="((?:[^"\\]|\\.)*)"|([A-Za-z_]+)=([^\s",]+))')


class LoginPlace(Struct, frozen=True):
    """What a login needs to know."""

    resource: str
    issuer: str
    authorize: str
    token: str
    register: str | None
    scope: str | None
    secret_methods: tuple[str, ...]
    tells_issuer: bool


def challenge_values(challenge: str) -> dict[str, str]:
    """The parameters of a WWW-Authenticate header."""
    return {(m[1] or m[3]).lower(): m[2] if m[1] else m[4] for m in _PARAMETER.finditer(challenge[:4000])}


async def find_login(url: str, challenge: str, exchanger: Exchanger) -> LoginPlace:
    """Raises `LoginError`."""
    told = challenge_values(challenge)
    resource = await _resource(url, told.get("resource_metadata"), exchanger)
    servers = resource.get("authorization_servers")
    issuer = servers[0] if isinstance(servers, list) and servers else origin_of(url)
    metadata = await _authorization_server(checked_url(issuer, "authorization server"), exchanger)
    own = resource.get("resource") or url
    scopes = resource.get("scopes_supported")
    listed = " ".join(str(scope) for scope in scopes) if isinstance(scopes, list) and scopes else None
    methods = metadata.get("token_endpoint_auth_methods_supported")
    register = metadata.get("registration_endpoint")
    return LoginPlace(
        str(own),
        issuer,
        checked_url(metadata.get("authorization_endpoint"), "authorization endpoint"),
        checked_url(metadata.get("token_endpoint"), "token endpoint"),
        None if register is None else checked_url(register, "registration endpoint"),
        told.get("scope") or listed,
        tuple(map(str, methods)) if isinstance(methods, list) else ("client_secret_basic",),
        metadata.get("authorization_response_iss_parameter_supported") is True,
    )


async def _resource(url: str, named: str | None, exchanger: Exchanger) -> dict[str, Any]:
    """What the server says of itself; nothing, if it says nothing."""
    path = urlsplit(url).path.rstrip("/")
    known = f"{origin_of(url)}/.well-known/oauth-protected-resource"
    places = [checked_url(named, "resource metadata")] if named else [known + path, known] if path else [known]
    for place in places:
        document = await exchanger.document(place)
        if document is None:
            continue
        resource = document.get("resource")
        if not isinstance(resource, str) or not covers(resource, url):
            raise LoginError(f"{place} speaks for {str(resource)[:200]!r}, not for {url}")
        return document
    return {}


async def _authorization_server(issuer: str, exchanger: Exchanger) -> dict[str, Any]:
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    places = [f"{origin}/.well-known/oauth-authorization-server{path}", f"{origin}/.well-known/openid-configuration{path}"]
    places += [f"{origin}{path}/.well-known/openid-configuration"] if path else []
    for place in places:
        document = await exchanger.document(place)
        if document is not None:
            _check(document, issuer, place)
            return document
    raise LoginError(f"the authorization server {issuer} does not say where to log in (no metadata)")


def _check(document: dict[str, Any], issuer: str, place: str) -> None:
    told = document.get("issuer")
    if not isinstance(told, str) or told.rstrip("/") != issuer.rstrip("/"):
        raise LoginError(f"{place} speaks for the issuer {str(told)[:200]!r}, not for {issuer}")
    methods = document.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        raise LoginError(f"the authorization server {issuer} does not support PKCE with S256")
