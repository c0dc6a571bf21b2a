"""Scripts for `ScriptedModel` from a JSON or YAML file.

    {"model": "scripted", "steps": [
      {"text": "I look.", "tool": "Read", "input": {"file_path": "/tmp/x"}},
      {"content": [{"thinking": "Hm."}, {"text": "Two at once:"}, {"tool": "A", "input": {}}, {"wait": 0.5}, {"tool": "B"}]},
      {"error": {"kind": "overloaded", "status": 529}},
      {"text": "half an answ", "cut": {"after_events": 3}}]}

Beside its content a step may have `delay`, `usage` and `stop_reason`; beside `steps` a file may have `model`, `shared`,
`repeat` and `pace`. A field that is not known is an error, and every error names the file, the step and the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from toolwright.models.base import ErrorKind
from toolwright.models.scripted import BreakOff, Call, Fail, Part, Say, ScriptedModel, Step, Think, Turn, Wait
from toolwright.types.errors import OptionsError

NUMBER = (int, float)
FILE_FIELDS: dict[str, tuple[type, ...]] = {
    "model": (str,),
    "steps": (list,),
    "shared": (bool,),
    "repeat": (bool,),
    "pace": NUMBER,
}
PART_FIELDS: dict[str, tuple[type, ...]] = {
    "thinking": (str,),
    "text": (str,),
    "tool": (str,),
    "input": (dict, str),
    "id": (str,),
    "wait": NUMBER,
}
STEP_FIELDS: dict[str, tuple[type, ...]] = {
    **PART_FIELDS,
    "content": (list,),
    "delay": NUMBER,
    "usage": (dict,),
    "stop_reason": (str,),
    "error": (dict,),
    "cut": (dict,),
}
ERROR_FIELDS: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "message": (str,),
    "status": (int,),
    "retry_after": NUMBER,
    "after_events": (int,),
}
CUT_FIELDS: dict[str, tuple[type, ...]] = {"after_events": (int,)}
CONTENT_FIELDS = ("thinking", "text", "tool", "wait")
TYPE_NAMES = {str: "a text", dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number"}


def load_script(path: str | Path, *, record: bool = True) -> ScriptedModel:
    """The model whose script is in the file. Raises `OptionsError` if the file cannot be used."""
    file = Path(path).expanduser()
    script = _checked(_read(file), FILE_FIELDS, str(file))
    if "steps" not in script:
        raise OptionsError(f"{file}: there is no 'steps', the list of what the model does.")
    steps = [_step(step, f"{file}: step {number}") for number, step in enumerate(script.pop("steps"), 1)]
    return ScriptedModel(steps, record=record, **script)


def _read(file: Path) -> Any:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionsError(f"{file}: the script cannot be read: {error}") from error
    if file.suffix.lower() in (".yaml", ".yml"):
        return _read_yaml(file, text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionsError(f"{file}: this is not JSON: {error}") from error


def _read_yaml(file: Path, text: str) -> Any:
    try:
        import yaml  # an extra: only scripts in YAML need it
    except ImportError as error:
        advice = "install it with: pip install 'toolwright[yaml]', or write the script in JSON"
        raise OptionsError(f"{file}: reading YAML needs PyYAML; {advice}.") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise OptionsError(f"{file}: this is not YAML: {error}") from error


def _checked(value: Any, fields: Mapping[str, tuple[type, ...]], where: str) -> dict[str, Any]:
    """The object with fields that are known and of the right type; fields that are null are left out."""
    if not isinstance(value, dict):
        raise OptionsError(f"{where}: it must be an object with {', '.join(fields)}, not {_type_name(value)}.")
    for name, content in value.items():
        allowed = fields.get(name)
        if allowed is None:
            raise OptionsError(f"{where}: there is no field {name!r}; there are {', '.join(fields)}.")
        if content is not None and (not isinstance(content, allowed) or (isinstance(content, bool) and bool not in allowed)):
            wanted = " or ".join(dict.fromkeys(TYPE_NAMES[kind] for kind in allowed))
            raise OptionsError(f"{where}: the field {name!r} must be {wanted}, not {_type_name(content)}.")
    return {name: content for name, content in value.items() if content is not None}


def _type_name(value: Any) -> str:
    return TYPE_NAMES.get(type(value), "null" if value is None else f"a {type(value).__name__}")


def _step(value: Any, where: str) -> Step:
    step = _checked(value, STEP_FIELDS, where)
    turn = _turn(step, where)
    if "error" in step:
        return _failure(_checked(step["error"], ERROR_FIELDS, f"{where}, error"), turn, where)
    if "cut" in step:
        after = _checked(step["cut"], CUT_FIELDS, f"{where}, cut").get("after_events", 0)
        return BreakOff(turn, after)
    if not turn.content and "content" not in step:
        raise OptionsError(f"{where}: it does nothing; give it one of text, tool, thinking, content, error, cut.")
    return turn


def _turn(step: Mapping[str, Any], where: str) -> Turn:
    parts = _parts(step, where)
    for number, part in enumerate(step.get("content", ()), 1):
        inside = f"{where}, content {number}"
        found = _parts(_checked(part, PART_FIELDS, inside), inside)
        if not found:
            raise OptionsError(f"{inside}: it needs one of {', '.join(CONTENT_FIELDS)}.")
        parts += found
    more = {name: step[name] for name in ("delay", "usage", "stop_reason") if name in step}
    return Turn(parts, **more)


def _parts(step: Mapping[str, Any], where: str) -> list[Part]:
    """What the fields say, in this order: thinking, text, tool, wait."""
    if "tool" not in step and ("input" in step or "id" in step):
        raise OptionsError(f"{where}: 'input' and 'id' belong to a 'tool', and there is none.")
    parts: list[Part] = []
    if "thinking" in step:
        parts.append(Think(step["thinking"]))
    if "text" in step:
        parts.append(Say(step["text"]))
    if "tool" in step:
        parts.append(Call(step["tool"], step.get("input", {}), step.get("id")))
    if "wait" in step:
        parts.append(Wait(step["wait"]))
    return parts


def _failure(error: Mapping[str, Any], turn: Turn, where: str) -> Fail:
    kinds = get_args(ErrorKind)
    if error.get("kind", "unknown") not in kinds:
        raise OptionsError(f"{where}, error: there is no kind {error['kind']!r}; there are {', '.join(kinds)}.")
    return Fail(during=turn, **error)
