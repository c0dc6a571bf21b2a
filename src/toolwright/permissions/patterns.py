"""Two pattern languages of rules: names and commands with `*`, and paths as in .gitignore with four anchors.

Both are matched in time that a hostile pattern cannot blow up: `*` by plain string search, path patterns by refusing those
that could branch too often. Knows no rule and no call.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Anchor = Literal["root", "home", "source", "cwd", "anywhere"]
"""What a path pattern is relative to: `//abs`, `~/home`, `/source`, `rel` or `./rel`; "anywhere" is a bare name."""

BRANCHES_ALLOWED = 3
"""How many wildcards of one pattern may have more than one way to match."""


def glob_matches(pattern: str, text: str) -> bool:
    """Whether `text` is `pattern`, in which `*` stands for any characters and nothing else is special."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first) or len(text) < len(first) + len(rest[-1]) or not text.endswith(rest[-1]):
        return False
    position, end = len(first), len(text) - len(rest[-1])
    for part in rest[:-1]:
        found = text.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


def split_anchor(pattern: str) -> tuple[Anchor, str]:
    """What a path pattern hangs on, and the rest of it in .gitignore's language."""
    if pattern.startswith("//"):
        return "root", _all_below(pattern[1:])
    if pattern == "~" or pattern.startswith("~/"):
        return "home", _all_below(pattern[1:])
    if pattern.startswith("/"):
        return "source", _all_below(pattern)
    relative = pattern.removeprefix("./")
    if relative == pattern and "/" not in pattern.rstrip("/"):
        return "anywhere", pattern
    return "cwd", f"/{relative}"


def _all_below(pattern: str) -> str:
    return "/**" if pattern in ("", "/") else pattern


def path_problem(pattern: str) -> str | None:
    """Why a path pattern cannot work, or None when it can."""
    if pattern.startswith(("!", "#")):
        return "negated patterns and comments have no meaning in a rule"
    if any(character < " " for character in pattern):
        return "it holds a control character"
    if ".." in pattern.split("/"):
        return "'..' never matches: paths are made plain first; write the folder itself"
    if _branches(pattern) > BRANCHES_ALLOWED:
        return "it has too many wildcards to be matched in bounded time"
    return None if path_expression(split_anchor(pattern)[1]) else "it matches no path at all"


def _branches(pattern: str) -> int:
    segments = pattern.split("/")
    return sum(1 if segment == "**" else max(0, len(re.findall(r"\*+", segment)) - 1) for segment in segments)


@lru_cache(maxsize=4096)
def path_expression(pattern: str) -> str | None:
    """The regular expression of a .gitignore pattern, for `re.match` on a path without its leading slash."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # only sessions with path rules pay for it

    try:
        expression, include = GitIgnoreSpecPattern.pattern_to_regex(pattern)
    except ValueError:
        return None
    if not include or not isinstance(expression, str):
        return None
    return expression.replace("(?P<ps_d>/)", "/")
