"""The environment of child processes: an allowlist by name, no secrets, and never the keys of model providers.

The same filter serves every kind of child (commands, hooks, servers). It starts nothing itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from functools import lru_cache

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SERVER_NAMES = frozenset({"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"})
"""All that a tool server is given of our own environment: such programs are somebody else's, and long-lived."""

# fmt: off
_ALLOWED = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "TZ", "TMPDIR", "TEMP", "TMP",
    "PWD", "HOSTNAME", "COLUMNS", "LINES", "NO_COLOR", "EDITOR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_STATE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONHASHSEED", "NVM_DIR", "NVM_BIN", "VOLTA_HOME",
    "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "GOCACHE", "JAVA_HOME", "ANDROID_HOME", "CC", "CXX", "CI",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY",
    "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
})
# fmt: on
_OURS_ALONE = re.compile(r"(ANTHROPIC|OPENAI|CLAUDE)_", re.IGNORECASE)
_FUNCTION = "BASH_FUNC_"
"""How bash hands functions down: one by the name of a builtin would stand in for it in our own words."""
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|PRIVATE|COOKIE|SESSION|CERT_PASS|(^|_)(PWD|PAT|DSN)(_|$)", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"gh[pousr]_[A-Z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|\bsk-[\w-]{16,}|[sr]k_(live|test)_\w{8,}|whsec_\w{16,}"
    r"|xox[abeoprs]-[\w-]{8,}|xapp-[\w-]{8,}|\b(AKIA|ASIA)[A-Z0-9]{16}\b|AIza[\w-]{30,}|ya29\.[\w-]{16,}"
    r"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.|npm_[A-Z0-9]{20,}|pypi-[\w-]{20,}|hf_[A-Z0-9]{20,}|\bSG\.[\w-]{16,}|dop_v1_\w{16,}"
    r"|shp(at|ss|ca|pa)_\w{16,}|dapi[0-9a-f]{32}|-----BEGIN [A-Z ]*PRIVATE KEY|\bBearer\s+\S{8,}"
    r"|(password|passwd|secret|token|api_?key)=|://[^/\s@]+@",
    re.IGNORECASE,
)
_OPAQUE = re.compile(r"(?=[A-Za-z0-9]*[a-z])(?=[A-Za-z0-9]*[A-Z])(?=[A-Za-z0-9]*[0-9])[A-Za-z0-9]{32,}")
"""A long run of letters of both cases and digits: no word, no folder, most likely a key."""


def child_environment(
    explicit: Mapping[str, str], base: Mapping[str, str] | None = None, *, only: Collection[str] | None = None
) -> dict[str, str]:
    """The environment for a child: what is harmless in `base` (this process's own if not given), plus `explicit`.

    With `only`, nothing but these names is taken from `base`. What a caller gave explicitly is passed on as it is, secrets
    included, except the keys and settings of model providers and functions for bash.
    """
    environment = {name: value for name, value in (os.environ if base is None else base).items() if is_harmless(name, value)}
    if only is not None:
        environment = {name: value for name, value in environment.items() if name in only}
    environment["PATH"] = safe_path((os.environ if base is None else base).get("PATH", ""))
    environment.update((name, value) for name, value in explicit.items() if may_be_given(name))
    return environment


def is_harmless(name: str, value: str) -> bool:
    """Allowed by name, and neither name nor value looks like a secret."""
    if name not in _ALLOWED or (name != "PWD" and _SECRET_NAME.search(name)):
        return False
    if name.lower().endswith("_proxy") and "@" in value:  # a name and a password, with or without a scheme
        return False
    return not looks_secret(value)


def may_be_given(name: str) -> bool:
    """Whether a caller can hand a variable of this name to a child."""
    return not (_OURS_ALONE.match(name) or name.startswith(_FUNCTION))


@lru_cache(maxsize=256)
def looks_secret(value: str) -> bool:
    """Whether a value has the shape of a key, a token or an address with a password in it.

    Remembered, since every command asks for the same values, which this process holds in its environment anyway.
    """
    return bool(_SECRET_VALUE.search(value) or _OPAQUE.search(value))


def safe_path(path: str) -> str:
    """The folders of a PATH that are absolute: a relative one would mean another folder with each command."""
    folders = [folder for folder in path.split(":") if _is_folder(folder) and not looks_secret(folder)]
    return ":".join(folders) or DEFAULT_PATH


def _is_folder(text: str) -> bool:
    return text.startswith("/") and not text.startswith("//")  # two slashes: the rest of an address
