"""The flags of the command as one table, and the parser that reads an argument list by it.

A flag is known by its kebab-case name; `--allowedTools` is read as `--allowed-tools`. A flag that takes a value takes the
next argument whatever it looks like, so no value is ever mistaken for a flag. The last one given counts, except where
the table says that a flag collects. This module does not know what the flags mean: see `options`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

Kind = Literal["switch", "text", "integer", "number", "json", "names", "rules", "each"]
"""`names`: a list, separated by commas or spaces. `rules`: the same for tool rules, whose parentheses may hold both.
`each`: one value each time the flag is given."""


class UsageError(Exception):
    """The command line cannot be understood; the text says where and what would be right."""


class Flag(NamedTuple):
    """One flag. Without `help` it is accepted but not listed: clients send it, people do not type it."""

    name: str
    kind: Kind
    group: str = ""
    help: str = ""
    value: str = ""
    """What the value is called in the help."""
    short: str = ""
    choices: tuple[str, ...] = ()


class ParsedFlags(NamedTuple):
    """What was typed: flag values by name, and the words that belong to no flag."""

    values: dict[str, Any]
    words: tuple[str, ...] = ()


ASKING, ANSWERING, CONVERSATION, TOOLS, SURROUNDINGS, REST = (
    "Asking",
    "Model and answer",
    "Conversation",
    "Tools and permissions",
    "Surroundings",
    "Other",
)
GROUPS = (ASKING, ANSWERING, CONVERSATION, TOOLS, SURROUNDINGS, REST)

OUTPUTS = ("text", "json", "stream-json")
INPUTS = ("text", "stream-json")
PERMISSION_MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")
BOUNDARIES = ("default", "strict")
EFFORTS = ("low", "medium", "high", "xhigh", "max")

FLAGS: tuple[Flag, ...] = (
    Flag("print", "switch", ASKING, "Answer once and exit; the prompt is the argument, or stdin, or both", short="p"),
    Flag("output-format", "text", ASKING, "text (the answer), json (the result) or stream-json (all)", "kind", choices=OUTPUTS),
    Flag("input-format", "text", ASKING, "text, or stream-json: frames on stdin and stdout", "kind", choices=INPUTS),
    Flag("include-partial-messages", "switch", ASKING, "Also give the model's answer piece by piece (stream-json)"),
    Flag("include-hook-events", "switch", ASKING, "Also give a frame for each hook that runs (stream-json)"),
    Flag("replay-user-messages", "switch", ASKING, "Give user messages back with their ids (stream-json)"),
    Flag("json-schema", "json", ASKING, "The answer must be JSON of this JSON Schema", "schema"),
    Flag("model", "text", ANSWERING, "claude-…, openai:NAME, openai:NAME@http://host/v1, scripted:FILE", "name"),
    Flag("fallback-model", "text", ANSWERING, "Used when the model is overloaded", "name"),
    Flag("system-prompt", "text", ANSWERING, "Instructions in place of the built-in ones", "text"),
    Flag("system-prompt-file", "text", ANSWERING, "The same, from a file", "file"),
    Flag("append-system-prompt", "text", ANSWERING, "Instructions added to the built-in ones", "text"),
    Flag("append-system-prompt-file", "text", ANSWERING, "The same, from a file", "file"),
    Flag("effort", "text", ANSWERING, "How hard to think: " + ", ".join(EFFORTS), "level", choices=EFFORTS),
    Flag("max-turns", "integer", ANSWERING, "Stop after this many turns with tools", "n"),
    Flag("max-budget-usd", "number", ANSWERING, "Stop when this much money is spent", "usd"),
    Flag("continue", "switch", CONVERSATION, "Go on with the latest conversation of this folder", short="c"),
    Flag("resume", "text", CONVERSATION, "Go on with this conversation", "session", short="r"),
    Flag("fork-session", "switch", CONVERSATION, "With --resume or --continue: as a copy, under a new id"),
    Flag("session-id", "text", CONVERSATION, "The id of the new conversation (a UUID)", "uuid"),
    Flag("no-session-persistence", "switch", CONVERSATION, "Write no transcript: the session cannot be resumed"),
    Flag("tools", "rules", TOOLS, 'The built-in tools to offer: names, "default", or "" for none', "names"),
    Flag("allowed-tools", "rules", TOOLS, "Tool rules that need no permission, e.g. 'Read,Bash(git log:*)'", "rules"),
    Flag("disallowed-tools", "rules", TOOLS, "Tool rules whose calls are denied, e.g. 'Bash(rm:*)'", "rules"),
    Flag("permission-mode", "text", TOOLS, ", ".join(PERMISSION_MODES), "mode", choices=PERMISSION_MODES),
    Flag("dangerously-skip-permissions", "switch", TOOLS, "The same as --permission-mode bypassPermissions"),
    Flag("allow-dangerously-skip-permissions", "switch", TOOLS, "Let the running session be switched to bypassPermissions"),
    Flag("mcp-config", "each", TOOLS, "MCP servers: a JSON file or JSON text (repeatable)", "json"),
    Flag("strict-mcp-config", "switch", TOOLS, "Only the servers of --mcp-config"),
    Flag("agents", "json", TOOLS, "Subagents by name: {description, prompt, tools, …}", "json"),
    Flag("add-dir", "each", SURROUNDINGS, "A further folder the tools may work in (repeatable)", "folder"),
    Flag("boundary", "text", SURROUNDINGS, "strict: a yes opens no path outside the folders", "kind", choices=BOUNDARIES),
    Flag("settings", "text", SURROUNDINGS, "Settings: a JSON file or JSON text", "json"),
    Flag("setting-sources", "names", SURROUNDINGS, "Which settings files to read: user, project, local", "names"),
    Flag("trust-workspace", "switch", SURROUNDINGS, "Trust this folder's settings for this run (see toolwright trust)"),
    Flag("plugin-dir", "each", SURROUNDINGS, "A plugin's folder (repeatable)", "folder"),
    Flag("debug", "switch", REST, "Show a traceback when something fails", short="d"),
    Flag("help", "switch", REST, "Show this text", short="h"),
    Flag("version", "switch", REST, "Show the version", short="v"),
    # What SDKs send, or what is only here so that a command line written for another CLI keeps working.
    Flag("verbose", "switch"),
    Flag("debug-to-stderr", "switch"),
    Flag("betas", "names"),
    Flag("permission-prompt-tool", "text"),
    Flag("thinking", "text", choices=("adaptive", "enabled", "disabled")),
    Flag("thinking-display", "text", choices=("summarized", "omitted")),
    Flag("max-thinking-tokens", "integer"),
    Flag("task-budget", "integer"),
    Flag("session-mirror", "switch"),
    Flag("resume-session-at", "text"),
    Flag("resume-drops-turn", "text"),
    Flag("rewind-files", "text"),
    Flag("await-initialize", "switch"),
    Flag("permission-prompts", "text", choices=("host", "none")),
    Flag("agent", "text"),
    Flag("debug-file", "text"),
    Flag("managed-settings", "text"),
    Flag("project-config-root", "text"),
)  # fmt: skip


def parse(arguments: Sequence[str], table: Sequence[Flag] = FLAGS) -> ParsedFlags:
    """Read an argument list by a table of flags. Raises `UsageError`."""
    return _ArgumentReader(arguments, table).read()


class _ArgumentReader:
    """One reading of one argument list."""

    def __init__(self, arguments: Sequence[str], table: Sequence[Flag]) -> None:
        self._waiting = list(reversed(arguments))
        self._by_name = {flag.name: flag for flag in table}
        self._by_short = {flag.short: flag for flag in table if flag.short}
        self._values: dict[str, Any] = {}

    def read(self) -> ParsedFlags:
        words: list[str] = []
        while self._waiting:
            argument = self._waiting.pop()
            if argument == "--":
                words.extend(reversed(self._waiting))
                break
            if self._is_word(argument):
                words.append(argument)
            elif argument.startswith("--"):
                self._take_long(argument)
            else:
                self._take_short(argument)
        return ParsedFlags(self._values, tuple(words))

    def _is_word(self, argument: str) -> bool:
        """Text is a prompt even if it begins with a dash: no flag's name holds white space."""
        if not argument.startswith("-") or argument == "-":
            return True
        flag = self._by_short.get(argument[1])
        takes_rest = flag is not None and flag.kind != "switch"
        return not takes_rest and any(character.isspace() for character in argument.partition("=")[0])

    def _take_long(self, argument: str) -> None:
        spelled, equals, value = argument[2:].partition("=")
        flag = self._by_name.get(_kebab(spelled))
        if flag is None:
            raise UsageError(f"unknown flag --{spelled}{self._nearest(spelled)}")
        self._take(flag, value if equals else None)

    def _take_short(self, argument: str) -> None:
        """`-p`, `-r ID`, `-rID`, `-pc`: switches may stand together, a flag with a value ends the row."""
        for position, letter in enumerate(argument[1:], start=2):
            flag = self._by_short.get(letter)
            if flag is None:
                raise UsageError(f"unknown flag {argument}; if it belongs to the prompt, write -- before the prompt")
            if flag.kind != "switch":
                self._take(flag, argument[position:].removeprefix("=") or None)
                return
            self._take(flag, None)

    def _take(self, flag: Flag, value: str | None) -> None:
        if flag.kind == "switch":
            self._values[flag.name] = _switch(flag, value)
            return
        read = _READERS[flag.kind](flag, self._value_of(flag) if value is None else value)
        if flag.kind == "rules":
            read += self._further_rules()
        if flag.kind in ("rules", "each"):
            read = self._values.get(flag.name, []) + read
        self._values[flag.name] = read

    def _value_of(self, flag: Flag) -> str:
        if not self._waiting:
            raise UsageError(f"--{flag.name} needs a value")
        return self._waiting.pop()

    def _further_rules(self) -> list[str]:
        rules: list[str] = []
        while self._waiting and _looks_like_rule(self._waiting[-1]):
            rules += split_rules(self._waiting.pop())
        return rules

    def _nearest(self, spelled: str) -> str:
        from difflib import get_close_matches  # only when there is something to suggest

        near = get_close_matches(_kebab(spelled), self._by_name, n=1)
        return f" (did you mean --{near[0]}?)" if near else "; --help lists the flags"


def _switch(flag: Flag, value: str | None) -> bool:
    if value is None or value.lower() in ("true", "1"):
        return True
    if value.lower() in ("false", "0"):
        return False
    raise UsageError(f"--{flag.name} is a switch and takes no value, got {value!r}")


def _text(flag: Flag, value: str) -> str:
    if flag.choices and value not in flag.choices:
        raise UsageError(f"--{flag.name} must be one of {', '.join(flag.choices)}; got {value!r}")
    return value


def _integer(flag: Flag, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"--{flag.name} must be a whole number; got {value!r}") from None


def _number(flag: Flag, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"--{flag.name} must be a number; got {value!r}") from None


def _json(flag: Flag, value: str) -> dict[str, Any]:
    import json  # few command lines hold JSON

    try:
        read = json.loads(value)
    except ValueError as error:
        raise UsageError(f"--{flag.name} is not valid JSON: {error}") from None
    if not isinstance(read, dict):
        raise UsageError(f"--{flag.name} must be a JSON object; got {value[:60]!r}")
    return read


_READERS: dict[Kind, Callable[[Flag, str], Any]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "json": _json,
    "names": lambda flag, value: value.replace(",", " ").split(),
    "rules": lambda flag, value: split_rules(value),
    "each": lambda flag, value: [value],
}


def split_rules(text: str) -> list[str]:
    """Split tool rules at commas and white space, but not inside parentheses: `Bash(git log:*, x) Read` holds two."""
    rules, rule, depth = [], "", 0
    for character in text:
        depth += (character == "(") - (character == ")" and depth > 0)
        if depth == 0 and (character == "," or character.isspace()):
            rules.append(rule)
            rule = ""
        else:
            rule += character
    return [rule for rule in [*rules, rule] if rule]


def _looks_like_rule(argument: str) -> bool:
    """`--allowed-tools Read "Bash(git:*)"`: further words that can only be rules belong to the list, a sentence does not."""
    name, parenthesis, rest = argument.partition("(")
    if argument.startswith("mcp__"):
        return " " not in name
    camel_case = name.isalpha() and name[0].isupper() and not name.isupper()
    return camel_case and (not parenthesis or rest.endswith(")"))


def _kebab(spelled: str) -> str:
    return "".join("-" + character.lower() if character.isupper() else character for character in spelled)


def folder_argument(line: ParsedFlags, command: str) -> str:
    """The one folder that a command is about: the given one, or this one. Raises `UsageError`."""
    if len(line.words) > 1:
        raise UsageError(f"toolwright {command} takes one folder")
    folder = os.path.abspath(line.words[0] if line.words else ".")
    if not os.path.isdir(folder):
        raise UsageError(f"{folder} is not a folder")
    return folder
