"""Tokens of servers in a file of the user's that nobody else can read (0600), replaced in one step."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from toolwright.base.locked_folder import locked_folder

NAME = "mcp-tokens.json"
EARLY = 60.0
"""Seconds before its end at which a token counts as old."""


class Login(Struct, frozen=True):
    """A login to one server: the token, how to renew it, and as whom."""

    access_token: str
    token_url: str
    client_id: str
    resource: str
    client_secret: str | None = None
    secret_method: str = "none"
    refresh_token: str | None = None
    expires_at: float | None = None
    scope: str | None = None

    @property
    def is_old(self) -> bool:
        return self.expires_at is not None and time.time() > self.expires_at - EARLY

    def __repr__(self) -> str:
        return f"Login(resource={self.resource!r}, client_id={self.client_id!r})"


class TokenStore:
    """Logins by the URL of their server."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def get(self, url: str) -> Login | None:
        entry = self._read().get(url)
        try:
            return Login(**entry) if isinstance(entry, dict) else None
        except TypeError:
            return None

    def put(self, url: str, login: Login | None) -> None:
        """Keep a login, or with None forget it. Raises `OSError`."""
        with locked_folder(self._folder, private=True) as folder:
            entries = {key: value for key, value in self._read().items() if key != url}
            if login is not None:
                entries[url] = asdict(login)
            folder.replace(NAME, json.dumps(entries, indent=1).encode(), mode=0o600)

    def _read(self) -> dict[str, Any]:
        try:
            with open(os.open(os.path.join(self._folder, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                read = json.loads(file.read(1024 * 1024))
        except (OSError, ValueError):
            return {}
        return read if isinstance(read, dict) else {}
