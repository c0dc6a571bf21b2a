"""What the environment says about tool servers: how long they are waited for, how much of a result is shown."""

from __future__ import annotations

from collections.abc import Mapping

from toolwright.mcp.session.toolbox import SETTLE_SECONDS
from toolwright.types import OptionsError


def milliseconds(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal() or int(text) == 0:
        raise OptionsError(f"{name} must be milliseconds, a whole number above 0; got {text!r}")
    return int(text) / 1000


def first_turn_patience(env: Mapping[str, str]) -> float:
    """How long the first turn waits for servers that are still connecting: TOOLWRIGHT_MCP_WAIT, in milliseconds."""
    return milliseconds(env, "TOOLWRIGHT_MCP_WAIT", SETTLE_SECONDS)


def waits_for_servers(env: Mapping[str, str]) -> bool:
    """MCP_CONNECTION_NONBLOCKING=0: the start of a session waits for its servers, for a moment."""
    return env.get("MCP_CONNECTION_NONBLOCKING", "").strip().lower() in ("0", "false")


def output_limit(env: Mapping[str, str], default: int = 25_000) -> int:
    """How many characters of a served tool's result are shown: MAX_MCP_OUTPUT_TOKENS, at four characters each."""
    text = env.get("MAX_MCP_OUTPUT_TOKENS", "").strip()
    if text and (not text.isdecimal() or int(text) == 0):
        raise OptionsError(f"MAX_MCP_OUTPUT_TOKENS must be a whole number above 0; got {text!r}")
    return 4 * (int(text) if text else default)
