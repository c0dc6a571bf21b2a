"""A transcript's bytes as entries, whatever happened to the file: torn ends, holes of NUL, foreign bytes, lines run together.

Every entry that can be read is read; every line that cannot is named. Knows JSON lines, not what the entries mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from toolwright.sessions.encoding import without_surrogates

ATTEMPTS_PER_LINE = 200
"""In how many places of a damaged line an entry is looked for."""

_decoder = msgspec.json.Decoder()
_tolerant = json.JSONDecoder(strict=False)


def read_lines(data: bytes) -> tuple[list[dict[str, Any]], list[str]]:
    """The entries in order, and what was wrong with the file."""
    entries: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, line in enumerate(_split(data), start=1):
        line = line.strip(b" \t\r")
        if not line:
            continue
        entry = _decode(line)
        if isinstance(entry, dict):
            entries.append(entry)
        else:
            found = list(_salvage(line))
            entries.extend(found)
            problems.append(f"line {number}: {_describe(line, found)}")
    return entries, problems


def _split(data: bytes) -> Iterator[bytes]:
    """The lines, one by one: all at once would keep the interpreter busy for as long as it takes to copy the file."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start:end]
        start = end + 1
    yield data[start:]


def is_in_chain(entry: Mapping[str, Any]) -> bool:
    """Whether the entry has a place in the conversation; other lines, even those with a uuid, only tell about the session."""
    return isinstance(entry.get("uuid"), str) and isinstance(entry.get("type"), str) and "parentUuid" in entry


def _decode(line: bytes) -> Any:
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _describe(line: bytes, found: list[dict[str, Any]]) -> str:
    if found:
        return f"damaged; {len(found)} entr{'y was' if len(found) == 1 else 'ies were'} still readable in it"
    return f"not readable ({len(line)} bytes), left out"


def _salvage(line: bytes) -> Iterator[dict[str, Any]]:
    """The entries in a line that is not JSON as it stands."""
    text = line.replace(b"\0", b"").decode("utf-8", "replace").strip()
    position, attempts = 0, 0
    while attempts < ATTEMPTS_PER_LINE and (start := text.find('{"', position)) >= 0:
        attempts += 1
        try:
            value, position = _tolerant.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        if _is_entry(value, whole=start == 0):
            yield _clean(value)


def _is_entry(value: Any, *, whole: bool) -> bool:
    """Whether this is an entry of its own, and not a piece from inside a broken one."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and (whole or isinstance(value.get("sessionId"), str))


def _clean(value: Any) -> Any:
    """JSON may spell lone surrogates; nothing later can."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value
