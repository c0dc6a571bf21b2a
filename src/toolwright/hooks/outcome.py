"""What hooks answered: each answer read and checked, and all of them merged into one outcome.

Answers come as JSON objects in the wire's spelling or in Python's (`continue_`, `async_`). Knows nothing of who answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct, field

HookDecision: TypeAlias = Literal["allow", "ask", "defer", "deny"]
"""In the order of strength: the strongest decision of all hooks stands."""

_DECISIONS: Mapping[str, HookDecision] = {name: name for name in get_args(HookDecision)}
_STRENGTH: Mapping[str | None, int] = {None: 0, **{name: rank for rank, name in enumerate(_DECISIONS, start=1)}}


class MalformedOutput(ValueError):
    """A hook answered something that is no hook answer."""


class HookOutcome(Struct, frozen=True):
    """What all hooks of one event said together. Without an answer every field keeps its default."""

    decision: HookDecision | None = None
    """For PreToolUse and PermissionRequest: the strongest of deny > defer > ask > allow."""
    reason: str = ""
    """Why, in the words of the hooks that decided or blocked."""
    updated_input: dict[str, Any] | None = None
    """Replaces the whole input. Of several, that of the hook registered last."""
    additional_context: tuple[str, ...] = ()
    system_messages: tuple[str, ...] = ()
    stop: bool = False
    """A hook said `continue: false`: the turn ends here."""
    stop_reason: str = ""
    block: bool = False
    """A hook said `decision: "block"`; what that stops depends on the event. For PreToolUse it is a deny as well."""
    suppress_output: bool = False
    updated_output: Any = None
    """Replaces a tool's output (PostToolUse), if not None."""
    interrupt: bool = False
    """For PermissionRequest: the denial also ends the turn."""
    updated_permissions: tuple[dict[str, Any], ...] = ()
    """For PermissionRequest: updates to the rules, in the wire's shape."""
    outputs: tuple[dict[str, Any], ...] = ()
    """The answers as they came, in the order of registration."""

    def specific(self, name: str) -> Any:
        """The field `name` of `hookSpecificOutput`, from the last hook that set it; None if none did."""
        for output in reversed(self.outputs):
            value = _specific(output).get(name)
            if value is not None:
                return value
        return None


NO_OUTCOME = HookOutcome()


class HookAnswer(Struct, frozen=True):
    """One hook's answer, checked."""

    decision: HookDecision | None = None
    reason: str = ""
    block: bool = False
    output: dict[str, Any] = field(default_factory=dict)


def read_answer(event: str, output: Any) -> HookAnswer:
    """Check one hook's answer. None is an empty one. Raises `MalformedOutput`."""
    if output is None or (isinstance(output, dict) and _flag(output, "async", "async_", unset=False)):
        return HookAnswer()
    if not isinstance(output, dict):
        raise MalformedOutput(f"a hook must answer with a dict, not {type(output).__name__}")
    _check(output)
    block = output.get("decision") == "block"
    if event == "PermissionRequest":
        return _permission_answer(output, block)
    decision = _decision(_specific(output).get("permissionDecision")) or _older_decision(event, output)
    reason = _specific(output).get("permissionDecisionReason") or output.get("reason") or ""
    return HookAnswer(decision, reason, block, output)


_TEXTS = ("stopReason", "systemMessage", "reason")
_SPECIFIC_TEXTS = ("additionalContext", "permissionDecisionReason")


def _check(output: dict[str, Any]) -> None:
    specific = output.get("hookSpecificOutput")
    if specific is not None and not isinstance(specific, dict):
        raise MalformedOutput("hookSpecificOutput must be a dict")
    for holder, names in ((output, _TEXTS), (specific or {}, _SPECIFIC_TEXTS)):
        for name in names:
            if not isinstance(holder.get(name), str | None):
                raise MalformedOutput(f"{name} must be a string, not {holder[name]!r}")
    if output.get("decision") not in (None, "block", "approve"):
        raise MalformedOutput(f'decision must be "block" or absent, not {output["decision"]!r}')
    _check_input((specific or {}).get("updatedInput"))
    _flag(output, "continue", "continue_", unset=True)


def _check_input(value: Any) -> None:
    if not isinstance(value, dict | None):
        raise MalformedOutput(f"updatedInput must be a dict, not {type(value).__name__}")


def _specific(output: dict[str, Any]) -> dict[str, Any]:
    return output.get("hookSpecificOutput") or {}


def _decision(value: Any) -> HookDecision | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in _DECISIONS:
        raise MalformedOutput(f"a permission decision is one of {', '.join(_DECISIONS)}, not {value!r}")
    return _DECISIONS[value]


def _older_decision(event: str, output: dict[str, Any]) -> HookDecision | None:
    """PreToolUse hooks once said `decision: "block"` and `"approve"`, and still may."""
    older: dict[Any, HookDecision] = {"block": "deny", "approve": "allow"}
    return older.get(output.get("decision")) if event == "PreToolUse" else None


def _permission_answer(output: dict[str, Any], block: bool) -> HookAnswer:
    answer = _specific(output).get("decision")
    if answer is None:
        return HookAnswer(None, output.get("reason") or "", block, output)
    if not isinstance(answer, dict) or answer.get("behavior") not in ("allow", "deny"):
        raise MalformedOutput(
            f'the decision of a PermissionRequest hook is {{"behavior": "allow" | "deny", …}}, not {answer!r}'
        )
    _check_input(answer.get("updatedInput"))
    return HookAnswer(_decision(answer["behavior"]), str(answer.get("message") or ""), block, output)


def _flag(output: dict[str, Any], name: str, python_name: str, *, unset: bool) -> bool:
    value = output.get(name, output.get(python_name, unset))
    if not isinstance(value, bool | None):
        raise MalformedOutput(f"{name} must be true or false, not {value!r}")
    return unset if value is None else value


def merge(event: str, answers: Sequence[HookAnswer]) -> HookOutcome:
    """One outcome of all answers; they are given in the order of registration, which settles what only one can say."""
    outputs = [answer.output for answer in answers if answer.output]
    decision = max((answer.decision for answer in answers), key=_STRENGTH.__getitem__, default=None)
    block = any(answer.block for answer in answers)
    stopping = [output for output in outputs if not _flag(output, "continue", "continue_", unset=True)]
    requests = [_request(output) for output in outputs] if event == "PermissionRequest" else []
    return HookOutcome(
        decision=decision,
        reason="\n".join(answer.reason for answer in answers if answer.reason and _decided(answer, decision, block)),
        updated_input=_last([*(_specific(output) for output in outputs), *requests], "updatedInput"),
        additional_context=tuple(filter(None, (_specific(output).get("additionalContext") for output in outputs))),
        system_messages=tuple(filter(None, (output.get("systemMessage") for output in outputs))),
        stop=bool(stopping),
        stop_reason="\n".join(filter(None, (output.get("stopReason") for output in stopping))),
        block=block,
        suppress_output=any(output.get("suppressOutput") is True for output in outputs),
        updated_output=_updated_output(outputs),
        interrupt=any(request.get("interrupt") is True for request in requests if request.get("behavior") == "deny"),
        updated_permissions=tuple(_updates(requests)),
        outputs=tuple(outputs),
    )


def _decided(answer: HookAnswer, decision: HookDecision | None, block: bool) -> bool:
    """Whether the answer is one of those that made the outcome what it is."""
    if decision is None:
        return answer.block or not block
    return answer.decision == decision


def _last(holders: Sequence[dict[str, Any]], name: str) -> Any:
    return next((holder[name] for holder in reversed(holders) if holder.get(name) is not None), None)


def _updated_output(outputs: Sequence[dict[str, Any]]) -> Any:
    specific = [_specific(output) for output in outputs]
    new = _last(specific, "updatedToolOutput")
    return _last(specific, "updatedMCPToolOutput") if new is None else new


def _request(output: dict[str, Any]) -> dict[str, Any]:
    return _specific(output).get("decision") or {}


def _updates(requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    lists = (request.get("updatedPermissions") for request in requests if request.get("behavior") == "allow")
    return [update for updates in lists if isinstance(updates, list) for update in updates if isinstance(update, dict)]
