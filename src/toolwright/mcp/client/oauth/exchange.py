"""The few HTTP requests of a login: documents read and forms posted, within bounds, without following redirects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import anyio
import msgspec

from toolwright.mcp.client.http_client import HttpDoor
from toolwright.mcp.client.oauth.addresses import LoginError, checked_url
from toolwright.mcp.client.transport import LinkError

SECONDS = 30.0


class Exchanger:
    """Requests with the session's proxies and certificates."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    async def document(self, url: str) -> dict[str, Any] | None:
        """The JSON object at `url`; None if there is none (4xx). Raises `LoginError`."""
        status, body = await self._request("GET", url, {"accept": "application/json"}, b"")
        if 400 <= status < 500:
            return None
        return _object(status, body, url)

    async def post(self, url: str, fields: Mapping[str, str], *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        given = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json", **(headers or {})}
        return _object(*await self._request("POST", url, given, urlencode(dict(fields)).encode()), url)

    async def post_json(self, url: str, value: Mapping[str, Any]) -> dict[str, Any]:
        given = {"content-type": "application/json", "accept": "application/json"}
        return _object(*await self._request("POST", url, given, msgspec.json.encode(value)), url)

    async def _request(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        door = HttpDoor(checked_url(url, "address"), {}, self._env)
        try:
            with anyio.fail_after(SECONDS):
                async with door.request(method, headers, body=body) as answer:
                    return answer.status, await answer.read_all()
        except LinkError as error:
            raise LoginError(f"{url}: {error}") from None
        except TimeoutError:
            raise LoginError(f"{url}: no answer within {SECONDS:g} seconds") from None
        finally:
            await door.release()


def _object(status: int, body: bytes, url: str) -> dict[str, Any]:
    try:
        read = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        read = None
    if status >= 300 or not isinstance(read, dict):
        said = read.get("error_description") or read.get("error") if isinstance(read, dict) else None
        raise LoginError(f"{url} answered HTTP {status}{f': {said}'[:300] if said else ' without a JSON object'}")
    return read
