"""Hooks that are web addresses: the input is POSTed as JSON, the answer is the body of a 2xx response.

Redirects are not followed: an answer that points elsewhere is no answer. How a request is sent is handed in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from toolwright.hooks.answers import capped, said
from toolwright.hooks.commands import to_json
from toolwright.hooks.hook import HookReply, NoReply
from toolwright.types import OptionsError

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class HttpEnd(Struct, frozen=True):
    """A response: its status and (of a long one, the beginning of) its body."""

    status: int
    body: str


class Post(Protocol):
    """Sends one POST request with a JSON body and follows no redirect. Raises any exception if there is no response."""

    async def __call__(self, url: str, body: bytes, *, headers: Sequence[tuple[str, str]]) -> HttpEnd: ...


class HttpWork(Struct, frozen=True):
    """One address, ready to be asked about any input."""

    event: str
    url: str
    headers: tuple[tuple[str, str], ...]
    post: Post

    async def __call__(self, payload: dict[str, Any]) -> HookReply:
        end = await self.post(self.url, to_json(payload), headers=self.headers)
        if not 200 <= end.status < 300:
            redirect = " (redirects are not followed)" if 300 <= end.status < 400 else ""
            raise NoReply(f"it answered with status {end.status}{redirect}")
        return HookReply(said(self.event, end.body), stdout=capped(end.body))


def checked_url(url: str, allowed: Sequence[str] | None) -> str:
    """The address, if it is one and among those that are allowed (None: all are). Raises `OptionsError`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isascii() or "@" in parts.netloc:
        raise OptionsError(f"{url!r} is no address for a hook: it must be http:// or https://, in ASCII, without a password")
    if allowed is not None and not any(_fits(pattern, url) for pattern in allowed):
        raise OptionsError(f"{url!r} is not among the addresses that allowedHttpHookUrls allows for hooks")
    return url


def _fits(pattern: str, url: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), url) is not None


def expanded(headers: Sequence[tuple[str, str]], variables: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers with `$NAME` and `${NAME}` filled in; a variable that is not among `variables` is empty."""
    return tuple((name, _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], ""), value)) for name, value in headers)
