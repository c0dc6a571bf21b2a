"""Which addresses of a login are used at all. They come from servers, and one is handed to a browser.

https, or http to this machine itself; nothing that a shell, a browser or a log could take for something else. Pure.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PLAIN = re.compile(r"[!#-;=?-\[\]_a-z~%]+")
"""The characters of RFC 3986, of which none means anything to a shell that is inside quotes."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
MAX_LENGTH = 4000


class LoginError(Exception):
    """A login cannot go on; the text says why."""


def checked_url(url: object, what: str) -> str:
    """`url` itself. Raises `LoginError` for one that must not be used."""
    if not isinstance(url, str) or not url or len(url) > MAX_LENGTH or not _PLAIN.fullmatch(url):
        raise LoginError(f"the {what} is no plain URL: {str(url)[:200]!r}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise LoginError(f"the {what} is no URL: {url[:200]!r}") from None
    is_local = parts.hostname in _LOOPBACK
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        raise LoginError(f"the {what} must be https (or http to this machine): {url[:200]!r}")
    if not parts.hostname or "@" in parts.netloc or parts.fragment or port == 0:
        raise LoginError(f"the {what} has no host, or a user or a fragment in it: {url[:200]!r}")
    return url


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def covers(resource: str, url: str) -> bool:
    """Whether a server at `url` may call itself `resource`: the same origin, and the path or one above it."""
    wide, narrow = urlsplit(resource), urlsplit(url)
    if (wide.scheme, wide.netloc.lower()) != (narrow.scheme, narrow.netloc.lower()):
        return False
    above, path = wide.path.rstrip("/"), narrow.path.rstrip("/")
    return path == above or path.startswith(f"{above}/")
