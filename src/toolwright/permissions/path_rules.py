"""Path rules, put together so that one search per anchor answers for all of them. Pure: paths are text here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from posixpath import join

from msgspec import Struct

from toolwright.permissions.calls import SessionFolders
from toolwright.permissions.patterns import Anchor, path_expression, split_anchor
from toolwright.permissions.rules import Rule


class _Group(Struct, frozen=True):
    """The rules that hang on one anchor, with one expression for all and one for each."""

    anchor: Anchor
    base: str | None
    any_of: re.Pattern[str]
    each: tuple[tuple[re.Pattern[str], Rule], ...]


class PathRules:
    """The path rules of one behavior and one tool (`Read` or `Edit`)."""

    __slots__ = ("_groups", "_widely")

    def __init__(self, rules: Iterable[Rule], *, widely: bool) -> None:
        """`widely`: for rules that forbid, a relative pattern holds in every folder of the session, a bare name anywhere."""
        self._widely = widely
        self._groups = tuple(_grouped(rules, widely))

    def __bool__(self) -> bool:
        return bool(self._groups)

    def covering(self, path: str, place: SessionFolders, *, whole: bool = False) -> Rule | None:
        """The rule that covers the normal, absolute `path`; `whole`: what lies below it is what the call is about."""
        for group in self._groups:
            for folder in self._folders(group, place):
                relative = _below(path, folder, as_folder=self._widely or whole)
                if relative is not None and group.any_of.match(relative):
                    return next(rule for expression, rule in group.each if expression.match(relative))
        return None

    def tester(self, place: SessionFolders) -> Callable[[str], bool]:
        """Whether some rule covers a normal, absolute path: the same answer as `covering`, for very many paths at one place."""
        searches = [
            (join(folder, ""), group.any_of.match)
            for group in self._groups
            for folder in dict.fromkeys(self._folders(group, place))
        ]
        end = "/" if self._widely else ""

        def covers(path: str) -> bool:
            for start, match in searches:
                if path.startswith(start) and match(path[len(start) :] + end):
                    return True
                if path + "/" == start and match(end):
                    return True
            return False

        return covers

    def _folders(self, group: _Group, place: SessionFolders) -> tuple[str, ...]:
        """Where the group's patterns start."""
        match group.anchor:
            case "root":
                return ("/",)
            case "home":
                return (place.home,) if place.home else ()
            case "source":
                return (group.base or place.cwd,)
            case "anywhere" if self._widely:
                return ("/",)
            case _:
                return (place.cwd, *place.roots) if self._widely else (place.cwd,)


def _grouped(rules: Iterable[Rule], widely: bool) -> Iterator[_Group]:
    groups: dict[tuple[Anchor, str | None], list[tuple[str, Rule]]] = {}
    for rule in rules:
        anchor, pattern = split_anchor(rule.content or "**")
        if widely and anchor == "cwd" and re.fullmatch(r"/[^/]+/\*\*", pattern):
            pattern = f"**{pattern}"  # `src/**` forbids every src, but allows only the one here
        expression = path_expression(pattern)
        assert expression is not None  # a pattern without one was refused when the rule was parsed
        groups.setdefault((anchor, rule.base if anchor == "source" else None), []).append((expression, rule))
    for (anchor, base), members in groups.items():
        any_of = _compiled("|".join(f"(?:{expression})" for expression, _ in members))
        yield _Group(anchor, base, any_of, tuple((_compiled(expression), rule) for expression, rule in members))


def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.DOTALL)  # a file name may hold a newline


def _below(path: str, folder: str, *, as_folder: bool) -> str | None:
    """`path` relative to `folder`, or None if it is not inside; `as_folder` lets `x/**` cover a walk through x itself."""
    start = join(folder, "")
    if path.startswith(start):
        relative = path[len(start) :]
    elif path == folder:
        relative = ""
    else:
        return None
    return f"{relative}/" if as_folder else relative
