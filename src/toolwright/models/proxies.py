"""Which proxy leads to a server, by the usual environment variables, read from a mapping that the caller gives.

HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, lower case first. NO_PROXY is a comma-separated list of hosts (with all
their subdomains), `host:port`, addresses or `*`; networks in CIDR form are not understood. Loopback never goes by a proxy.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_for(origin: str, env: Mapping[str, str]) -> str | None:
    parts = urlsplit(origin)
    host = (parts.hostname or "").lower()
    if _is_loopback(host) or _is_exempt(host, parts.port, _lookup(env, "no_proxy")):
        return None
    proxy = _lookup(env, f"{parts.scheme}_proxy") or _lookup(env, "all_proxy")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _lookup(env: Mapping[str, str], name: str) -> str | None:
    if name == "http_proxy" and "REQUEST_METHOD" in env:
        return env.get(name)  # in a CGI process HTTP_PROXY is a request header: anybody could set it
    return env.get(name) or env.get(name.upper()) or None


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _is_exempt(host: str, port: int | None, listed: str | None) -> bool:
    for entry in (listed or "").lower().split(","):
        name = entry.strip()
        if name.rpartition(":")[2].isdigit() and name.count(":") == 1:
            name, _, wanted = name.partition(":")
            if wanted != str(port):
                continue
        name = name.removeprefix("*.").removeprefix(".").strip("[]")
        if name and (name == "*" or host == name or host.endswith(f".{name}")):
            return True
    return False
