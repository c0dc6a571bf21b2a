"""What a person reads before they answer: the call in full, as it will run, with nothing in it that could hide anything.

Characters that a reader would not see, or would take for others, are spelled out; long stretches of nothing are counted. What
programs read (`input`) is never touched. Arguments are never cut: what is asked about can be read to its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolwright.permissions import made_visible
from toolwright.permissions.session.network_access import NETWORK_ACCESS

if TYPE_CHECKING:
    from toolwright.tools.base import Tool

MAX_GAP = 40
"""More blanks than this in a row are counted instead of shown: indentation stays, a tail cannot be pushed out of sight."""
MAX_LINE_BREAKS = 3
MAX_WORDS_LENGTH = 1000
"""Characters of a tool's description; what is left out is counted."""
ABOUT = ("description", "file_path", "notebook_path", "path", "url")
CHANGES = {
    "Edit": ("file_path", "old_string", "new_string"),
    "MultiEdit": ("file_path", "edits"),
    "Write": ("file_path", "content"),
}
"""The tools whose call is shown as a change, and the fields that tell it."""
MAX_COMPARED = 4000
"""Lines; of a longer change all old lines are shown and then all new ones."""
_GAP = re.compile(rf"[ \t\n]{{{MAX_GAP + 1},}}|\n(?:[ \t]*\n){{{MAX_LINE_BREAKS},}}")
_LOOKALIKES = r"\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u2c80-\u2cff\ua640-\ua69f"
_ALWAYS_ODD = re.compile(r"[\uff01-\uff5e\U0001d400-\U0001d7ff]")
"""Letters that only exist to look like others: full-width and mathematical ones."""
_LOOKALIKE = re.compile(f"[{_LOOKALIKES}]")
_LATIN = re.compile("[A-Za-z]")
_WORD = re.compile(r"\w+")


def shown(text: str) -> str:
    """`text` as a person may read it."""
    plain = made_visible(text)
    if not plain.isascii():
        plain = _ALWAYS_ODD.sub(_escaped, _WORD.sub(_of_one_alphabet, plain))
    return _GAP.sub(_counted, plain)


def _of_one_alphabet(word: re.Match[str]) -> str:
    """A word that mixes Latin letters with such as look like them: the others are spelled out."""
    return _LOOKALIKE.sub(_escaped, word[0]) if _LATIN.search(word[0]) else word[0]


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _counted(gap: re.Match[str]) -> str:
    breaks = gap[0].count("\n")
    blanks = len(gap[0]) - breaks
    counts = [f"{count:,} {noun}" for count, noun in ((blanks, "blanks"), (breaks, "line breaks")) if count]
    return f" [{' and '.join(counts)}] "


def changed_lines(old: str, new: str) -> Iterator[str]:
    """A change line by line, whole: what goes begins with `- `, what comes with `+ `, what stays with two blanks."""
    before, after = (shown(text).split("\n") if text else [] for text in (old, new))
    if before == after or len(before) + len(after) > MAX_COMPARED:
        yield from (f"- {line}" for line in before)
        yield from (f"+ {line}" for line in after)
        return
    from difflib import SequenceMatcher  # only where somebody is asked about an edit

    for kind, start, end, start_after, end_after in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        yield from (f"{'  ' if kind == 'equal' else '- '}{line}" for line in before[start:end])
        yield from (f"+ {line}" for line in after[start_after:end_after] if kind != "equal")


def title(tool: Tool, given: Mapping[str, Any]) -> str:
    """All that a call would do, for the person who is asked about it."""
    heading, hidden = _heading(tool, given)
    rest = [line for name, value in given.items() if name not in hidden for line in _field(name, value)]
    return "\n".join([heading, *_own_words(tool), *rest])


def description(given: Mapping[str, Any]) -> str | None:
    """What the model says the call is for (its own words, not a fact); without them, the file or address it is about."""
    words = next((text for name in ABOUT if isinstance(text := given.get(name), str) and text), None)
    return None if words is None else shown(words)


def _heading(tool: Tool, given: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The first line, and the fields that it tells already."""
    server = getattr(tool, "server_name", None)
    if server is not None and tool.name.startswith("mcp__"):
        own = getattr(getattr(tool, "tool", None), "name", tool.name)
        return f"Call {shown(own)} of the MCP server {shown(server)}{_address(tool)}", ()
    if tool.name == "Bash":
        return f"Run {shown(str(given.get('command', '')))}", ("command", "description")
    if tool.name == NETWORK_ACCESS.name:
        return f"Let sandboxed commands reach {shown(str(given.get('host')))}, port {given.get('port')}", ("host", "port")
    if tool.name == "ExitPlanMode":
        return f"Carry out this plan?\n{shown(str(given.get('plan', '')))}", ("plan",)
    if tool.name == "AskUserQuestion":
        return "\n".join(["The model asks:", *_questions(given.get("questions"))]), ("questions",)
    if tool.name in CHANGES:
        return "\n".join([f"{tool.name} {shown(str(given.get('file_path', '')))}", *_changes(tool.name, given)]), CHANGES[
            tool.name
        ]
    return f"Use {shown(tool.name)}", ()


def _changes(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    """The lines that Edit, MultiEdit or Write would change."""
    if name == "Write":
        return changed_lines("", str(given.get("content", "")))
    if name == "Edit":
        return changed_lines(str(given.get("old_string", "")), str(given.get("new_string", "")))
    return (line for number, edit in enumerate(given.get("edits") or (), 1) for line in _numbered(number, edit))


def _numbered(number: int, edit: Mapping[str, Any]) -> Iterator[str]:
    """One edit of several, with what is said of it besides the two texts."""
    said = [f"{shown(name)}: {shown(str(value))}" for name, value in edit.items() if name not in CHANGES["Edit"][1:]]
    yield ", ".join([f"edit {number}", *said])
    yield from _changes("Edit", edit)


def _address(tool: Tool) -> str:
    """How an external server is reached: by which command, or at which address."""
    config = getattr(getattr(tool, "server", None), "config", None)
    if config is None:
        return ""
    how = config.shown()
    return f" ({shown(' '.join([how['command'], *how['args']]) if 'command' in how else how['url'])})"


def _own_words(tool: Tool) -> Iterator[str]:
    """What an external server says of its tool: it is part of what is agreed to."""
    if getattr(getattr(tool, "server", None), "config", None) is not None and tool.description:
        left_out = len(tool.description) - MAX_WORDS_LENGTH
        cut = f" [{left_out:,} characters more]" if left_out > 0 else ""
        yield f"The server describes it so: {shown(tool.description[:MAX_WORDS_LENGTH])}{cut}"


def _questions(questions: Any) -> Iterator[str]:
    for question in questions if isinstance(questions, list) else ():
        yield shown(str(question.get("question")))
        for option in question.get("options") or ():
            told = f": {option['description']}" if option.get("description") else ""
            yield f"  - {shown(str(option.get('label')) + told)}"


def _field(name: str, value: Any) -> Iterator[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    first, *more = shown(text).split("\n")
    yield f"{shown(name)}: {first}"
    yield from (f"  {line}" for line in more)
