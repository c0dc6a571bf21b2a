"""The text of `toolwright --help`, made from the table of flags, and the short one for a bare `toolwright`."""

from __future__ import annotations

import textwrap

from toolwright.cli.flags import FLAGS, GROUPS, Flag

_COLUMN = 34

SHORT_USAGE = """\
toolwright runs an agent: a model that works with tools on files.

  toolwright demo                      see it fix a failing test (needs no key)
  toolwright -p "What does this do?"   ask once
  cat log | toolwright -p "Explain"    ask about what is piped in
  toolwright login                     keep a key for the model
  toolwright --help                    every flag
"""

_HEAD = """\
Usage: toolwright [flags] [prompt]
       toolwright demo [--keep] [--model NAME]
       toolwright login|logout [anthropic|openai]
       toolwright trust [DIR] [--yes | --show | --revoke]
       toolwright mcp serve|add|list|get|test|remove|login …
       toolwright permissions explain TOOL JSON [--allow RULE]…
       toolwright doctor [--json] [--mechanism NAME]
       toolwright config [DIR] [--json]
       toolwright help [COMMAND] | version

Runs an agent: a model that works with tools on the files of this folder.

Examples:
  toolwright demo                          see it fix a failing test (no key)
  toolwright -p "Why does the build fail"  ask once, print the answer
  git diff | toolwright -p "Review this"   ask about what is piped in
  toolwright -p "Fix the test" --permission-mode acceptEdits \\
             --allowed-tools 'Bash(make test)'
  toolwright -p "Name the version" --output-format json | jq -r .result
"""

_TAIL = (
    "Every flag is known in both spellings: --allowed-tools and --allowedTools. --flag=value works as well. "
    "A value may begin with a dash. Write -- before a prompt that looks like a flag.",
    "The model is --model, or TOOLWRIGHT_MODEL, or follows from ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, "
    "ANTHROPIC_BASE_URL, OPENAI_API_KEY and OPENAI_BASE_URL; a key may also be kept by toolwright login.",
    "Exit code: 0 answered; 1 the run failed; 2 the command line was wrong; 130 and 143 stopped by Ctrl-C or SIGTERM; "
    "141 whoever read the output went away.",
)


def help_text(width: int = 80) -> str:
    tail = "".join("\n" + textwrap.fill(paragraph, width, break_on_hyphens=False) + "\n" for paragraph in _TAIL)
    return _HEAD + "".join(_section(group, width) for group in GROUPS) + tail


def _section(group: str, width: int) -> str:
    return f"\n{group}:\n" + "".join(_row(flag, width) for flag in FLAGS if flag.group == group)


def _row(flag: Flag, width: int) -> str:
    short = f"-{flag.short}, " if flag.short else "    "
    spelled = f"  {short}--{flag.name}" + (f" <{flag.value}>" if flag.value else "")
    lines = textwrap.wrap(flag.help, max(width - _COLUMN, 20), break_on_hyphens=False)
    if len(spelled) >= _COLUMN - 1:
        lines.insert(0, "")
    return spelled.ljust(_COLUMN) + ("\n" + " " * _COLUMN).join(lines) + "\n"
