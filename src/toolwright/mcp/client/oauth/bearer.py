"""The token to show to a server: the one that is kept, renewed when it is old."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from toolwright.mcp.client.oauth.addresses import LoginError
from toolwright.mcp.client.oauth.login import renewed
from toolwright.mcp.client.oauth.store import TokenStore


async def token_for(url: str, folder: str, env: Mapping[str, str]) -> str | None:
    """None if nobody has logged in there. What cannot be renewed is shown as it is: the server says what it thinks of it."""
    store = TokenStore(folder)
    login = store.get(url)
    if login is not None and login.is_old:
        with suppress(LoginError, OSError):
            login = await renewed(login, env)
            store.put(url, login)
    return None if login is None else login.access_token
