"""Which hooks an event is for: the small language of `HookMatcher.matcher`.

Nothing or `*` is everything. Letters, digits, `_ - ,` space and `|` make a name or a list of names, each to be met exactly.
Anything else is a regular expression that may match anywhere in the name. Expressions run on an engine whose steps are
counted, because one party's pattern meets another party's name. Knows no event and no hook.
"""

from __future__ import annotations

import re
from typing import Protocol

from toolwright.types import OptionsError

STEPS_ALLOWED = 20_000
REMEMBERED = 512
"""How many answers an expression keeps; a session sees the same few names again and again."""

_NAMES = re.compile(r"[A-Za-z0-9_\- ,|]*")


class Matcher(Protocol):
    """Says whether a name is meant."""

    def __call__(self, name: str, /) -> bool: ...


def matcher_for(text: str | None) -> Matcher | None:
    """The matcher that `text` describes; None when everything is meant. Raises `OptionsError` for a broken expression."""
    if text is None or text.strip() in ("", "*"):
        return None
    if _NAMES.fullmatch(text):
        return frozenset(name for name in map(str.strip, re.split(r"[|,]", text)) if name).__contains__
    return _Expression(text)


class _Expression:
    """A regular expression, with its answers kept."""

    __slots__ = ("_answers", "_validator")

    def __init__(self, text: str) -> None:
        import jsonschema_rs  # has the engine; only sessions whose hooks use expressions load it

        options = jsonschema_rs.FancyRegexOptions(backtrack_limit=STEPS_ALLOWED)
        try:
            self._validator = jsonschema_rs.validator_for({"pattern": text}, pattern_options=options)
        except ValueError:
            raise OptionsError(f"Hook matcher {text!r} is neither a list of names nor a regular expression.") from None
        self._answers: dict[str, bool] = {}

    def __call__(self, name: str, /) -> bool:
        answer = self._answers.get(name)
        if answer is None:
            answer = self._matches(name)
            if len(self._answers) < REMEMBERED:
                self._answers[name] = answer
        return answer

    def _matches(self, name: str) -> bool:
        import jsonschema_rs  # loaded already, see above

        error = next(self._validator.iter_errors(name), None)
        # A match that takes too long to find counts as one: a hook that guards must not be left out.
        return error is None or isinstance(error.kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded)
