"""Arguments by which a program does what nobody who wrote its name in a rule had in mind: `zip -TT`, `split --filter`.

A rule's `*` covers none of these; a rule that names one does. Only for programs whose work is not to run others: a `*` for
one of those is what it says (`breadth`). Knows programs only.
"""

from __future__ import annotations

from toolwright.permissions.shell.command_line import Part
from toolwright.permissions.shell.words import Word

NEVER_BY_WILDCARD = frozenset(
    """vim vi nvim view ex ed emacs emacsclient nano pico joe history fc alias unalias enable bind trap exec
    eval . source crontab tclsh wish expect gdb lldb osascript""".split()  # noqa: SIM905 — word lists read better
)
"""Editors and the like: each has a language of its own in its arguments."""

_OPTIONS: dict[str, tuple[str, ...]] = {
    "zip": ("-T", "--unzip-command", "--test"),
    "split": ("--filter",),
    "ssh": ("-o", "-F", "-E", "-R", "-L", "-D", "-W"),
    "man": ("-P", "-H", "-C", "-l", "--pager", "--html", "--config-file", "--local-file", "--preprocessor", "-p"),
}


def reaching(part: Part) -> Word | None:
    """The first word of `part` that no `*` covers."""
    name = part.name
    if name in NEVER_BY_WILDCARD:
        return part.words[1] if len(part.words) > 1 else part.words[0]
    return next((word for word in part.words[1:] if _matches(word, _OPTIONS[name])), None) if name in _OPTIONS else None


def _matches(word: Word, options: tuple[str, ...]) -> bool:
    """Long options also when they are cut short (`--filt`), short ones also within a bundle (`-qT`)."""
    text = word.text
    if word.may_be_option:
        return True
    if text.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 2 and any(option.startswith(name) for option in options if option.startswith("--"))
    return text.startswith("-") and any(len(option) == 2 and option[1] in text[1:] for option in options)
