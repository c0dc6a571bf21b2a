"""A stand-in for a server that wants a login and for its authorization server, both on one port of loopback."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import msgspec

from toolwright.mcp.server.http_messages import HttpConnection, Request
from toolwright.mcp.server.http_server import listen, port_of, serve_http

JSON = {"content-type": "application/json"}


class Provider:
    """Changes to `resource`, `metadata` and `callback` make it misbehave."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.url = f"{self.base}/mcp"
        self.resource: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": [self.base],
            "scopes_supported": ["read"],
        }
        self.metadata: dict[str, Any] = {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }
        self.callback: dict[str, str | None] = {}
        self.token: dict[str, Any] = {
            "access_token": "the-token",
            "token_type": "Bearer",
            "expires_in": 3600,
            "refresh_token": "again",
        }
        self.asked: dict[str, str] = {}
        self.tokens_asked: list[dict[str, str]] = []
        self.challenge = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'

    async def serve(self, request: Request, connection: HttpConnection) -> None:
        match request.path:
            case "/.well-known/oauth-protected-resource/mcp":
                await self._json(connection, self.resource)
            case "/.well-known/oauth-authorization-server":
                await self._json(connection, self.metadata)
            case "/register":
                await self._json(connection, {"client_id": "registered"})
            case "/token":
                fields = {key: value[0] for key, value in parse_qs(request.body.decode()).items()}
                self.tokens_asked.append(fields)
                await self._json(connection, self.token)
            case _:
                await connection.respond(404, {})

    async def _json(self, connection: HttpConnection, value: Any) -> None:
        await connection.respond(200, JSON, msgspec.json.encode(value))

    async def browse(self, url: str) -> None:
        """Be the person's browser: agree, and go back to where the program waits."""
        self.asked = {key: value[0] for key, value in parse_qs(urlsplit(url).query).items()}
        back = urlsplit(self.asked["redirect_uri"])
        values = {"code": "the-code", "state": self.asked["state"], **self.callback}
        query = urlencode({key: value for key, value in values.items() if value is not None})
        async with await anyio.connect_tcp("127.0.0.1", back.port or 0) as stream:
            await stream.send(f"GET {back.path}?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            await stream.receive()

    def pkce_fits(self) -> bool:
        digest = hashlib.sha256(self.tokens_asked[0]["code_verifier"].encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.asked["code_challenge"]


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    listener = await listen("127.0.0.1", 0)
    made = Provider(port_of(listener))
    async with anyio.create_task_group() as group:
        group.start_soon(serve_http, listener, made.serve)
        yield made
        group.cancel_scope.cancel()
