"""Rules that forbid a path by a name with a link in it, as rules about where that name leads.

A call is judged as written and as it leads, so it cannot get around a rule through a link. It could get around one whose own
path goes through a link (`~/.ssh` of a linked home, `/var/run`), by naming the real path. Allow rules are taken as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import join

from toolwright.permissions.calls import SessionFolders, normal_path
from toolwright.permissions.patterns import Anchor, split_anchor
from toolwright.permissions.rules import PATH_TOOLS, Rule
from toolwright.permissions.ruleset import RuleSet

_MAGIC = re.compile(r"[*?\[\]\\]")
_CONTROL = re.compile("[\0-\x1f]")
"""No rule can hold these; `?` forbids any one character in their place."""


def with_real_paths(rules: RuleSet, place: SessionFolders) -> RuleSet:
    """`rules`, and for each that forbids something behind a link the same rule about the real path."""
    led = [twin for rule in rules.rules if rule.behavior != "allow" and rule.tool in PATH_TOOLS for twin in _led(rule, place)]
    return RuleSet((*rules.rules, *led)) if led else rules


def _led(rule: Rule, place: SessionFolders) -> Iterator[Rule]:
    if rule.content is None:
        return
    anchor, pattern = split_anchor(rule.content)
    fixed, rest = _split(pattern)
    for start in _starts(anchor, rule, place):
        written = normal_path(join(start, fixed))
        real = None if written is None else place.files.spellings(written)[0]
        if real is not None and real != written:
            content = f"/{_CONTROL.sub('?', _MAGIC.sub(_escaped, real))}{rest}"
            yield replace(rule, content=content, base=None, where=f"{rule.where or rule.source}, where {rule} leads")


def _starts(anchor: Anchor, rule: Rule, place: SessionFolders) -> tuple[str, ...]:
    match anchor:
        case "root":
            return ("/",)
        case "home":
            return (place.home,) if place.home else ()
        case "source":
            return (rule.base or place.cwd,)
        case _:
            return (place.cwd, *place.roots)


def _split(pattern: str) -> tuple[str, str]:
    """The leading names without a wildcard, and the rest with its slash."""
    names = pattern.lstrip("/").split("/")
    fixed = next((number for number, name in enumerate(names) if not name or _MAGIC.search(name)), len(names))
    rest = "/".join(names[fixed:])
    return "/".join(names[:fixed]), f"/{rest}" if fixed < len(names) else ""


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"
