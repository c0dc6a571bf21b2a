"""The environment of child processes: an allowlist by name, no secrets, and never the keys of model providers.

The same filter serves every kind of child (commands, hooks, servers). It starts nothing itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# fmt: off
_ALLOWED = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "TZ", "TMPDIR", "TEMP", "TMP",
    "PWD", "HOSTNAME", "COLUMNS", "LINES", "NO_COLOR", "EDITOR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_STATE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONHASHSEED", "NVM_DIR", "NVM_BIN", "VOLTA_HOME",
    "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "GOCACHE", "JAVA_HOME", "ANDROID_HOME", "CC", "CXX", "CI",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
})
# fmt: on
_ALLOWED_PREFIX = ("LC_",)
_OURS_ALONE = re.compile(r"(ANTHROPIC|OPENAI|CLAUDE)_", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|PRIVATE|COOKIE|SESSION|CERT_PASS|(^|_)(PWD|PAT|DSN)(_|$)", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|\bsk-[\w-]{16,}|xox[abeoprs]-[\w-]{8,}"
    r"|\b(AKIA|ASIA)[A-Z0-9]{16}\b|AIza[\w-]{30,}|ya29\.[\w-]{16,}|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.|npm_[A-Za-z0-9]{20,}"
    r"|pypi-[\w-]{20,}|hf_[A-Za-z0-9]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]+:[^/\s@]+@"
)


def child_environment(explicit: Mapping[str, str], base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a child: what is harmless in `base` (this process's own if not given), plus `explicit`.

    What a caller gave explicitly is passed on as it is, secrets included, except the keys and settings of model providers.
    """
    environment = {name: value for name, value in (os.environ if base is None else base).items() if is_harmless(name, value)}
    environment.setdefault("PATH", DEFAULT_PATH)
    environment.update((name, value) for name, value in explicit.items() if not _OURS_ALONE.match(name))
    return environment


def is_harmless(name: str, value: str) -> bool:
    """Allowed by name, and neither name nor value looks like a secret."""
    if name not in _ALLOWED and not name.startswith(_ALLOWED_PREFIX):
        return False
    if name != "PWD" and _SECRET_NAME.search(name):
        return False
    return not _SECRET_VALUE.search(value)
