"""Where transcripts lie: config folder, one folder per project, one file per session. Opens nothing."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from toolwright.types import OptionsError

MAX_PLAIN_KEY_LENGTH = 200

_SESSION_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def config_dir(env: Mapping[str, str] | None = None) -> Path:
    """`CLAUDE_CONFIG_DIR`, or `.claude` in the home folder. A relative value is refused: it would move with the project."""
    env = os.environ if env is None else env
    given = env.get("CLAUDE_CONFIG_DIR")
    if not given:
        return Path(env.get("HOME") or os.path.expanduser("~")) / ".claude"
    if not os.path.isabs(given):
        raise OptionsError(f"CLAUDE_CONFIG_DIR must be an absolute path, not {given!r}.")
    return Path(given)


def project_key_for_directory(directory: str | os.PathLike[str] | None = None) -> str:
    """The name of a project's folder of transcripts: its real path with every character but ASCII letters and digits as `-`.

    A long one is cut after 200 characters and told apart by a hash of the whole path.
    """
    path = unicodedata.normalize("NFC", os.path.realpath(directory if directory is not None else "."))
    key = re.sub(r"[^A-Za-z0-9]", "-", path)
    return key if len(key) <= MAX_PLAIN_KEY_LENGTH else f"{key[:MAX_PLAIN_KEY_LENGTH]}-{_short_hash(path)}"


def _short_hash(text: str) -> str:
    value = 0
    for character in text:
        value = (value * 31 + ord(character)) & 0xFFFFFFFF
    return _base36(value if value < 1 << 31 else (1 << 32) - value)


def _base36(value: int) -> str:
    digits = ""
    while value or not digits:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits


def is_session_id(text: str) -> bool:
    return _SESSION_ID.fullmatch(text) is not None


def checked_session_id(text: str) -> str:
    """`text`, if it is a session id. Raises `OptionsError`: ids become file names, so nothing else will do."""
    if not isinstance(text, str) or not is_session_id(text):
        raise OptionsError(f"{text!r} is not a session id: a UUID like 01234567-89ab-cdef-0123-456789abcdef is needed.")
    return text


def project_dir(config: Path, project_key: str) -> Path:
    return config / "projects" / project_key


def transcript_path(config: Path, project_key: str, session_id: str) -> Path:
    """The file of a session. Raises `OptionsError` for an id that is none."""
    return project_dir(config, project_key) / f"{checked_session_id(session_id)}.jsonl"
