"""Words of a command line: what they say once the shell has taken the quotes away, as far as that can be known beforehand.

Knows the tree's word parts; does not know commands, rules or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from msgspec import Struct

UNKNOWN = "\0"
"""Stands in a word's text for what only the running shell knows. No command line can hold it otherwise."""

MAX_BRACES = 64


class Word(Struct, frozen=True):
    """One word. `text` is without quotes; `glob` and `tilde` say that the shell would still expand it as a path."""

    text: str
    glob: bool = False
    tilde: bool = False
    one: bool = True
    """It is exactly one word whatever the unknown parts are (they are quoted)."""

    @property
    def known(self) -> bool:
        """Whether the text is what the program will get."""
        return not self.glob and not self.tilde and UNKNOWN not in self.text

    @property
    def plain(self) -> str | None:
        return self.text if self.known else None

    @property
    def may_be_option(self) -> bool:
        """Whether what is not known of it may turn out to be an option, or several."""
        return not self.one or self.text.startswith(UNKNOWN) or (self.glob and self.text[:1] in "*?[")


NO_WORD = Word(UNKNOWN, one=False)


def words_of(node: dict[str, Any]) -> Iterator[Word]:
    """The words that one word of the tree becomes: more than one if it holds braces."""
    parts: Sequence[dict[str, Any]] = node.get("Parts") or ()
    if len(parts) == 1 and parts[0]["Type"] == "Lit" and "{" in parts[0].get("Value", ""):
        yield from _braces(parts[0]["Value"])
        return
    yield word_of(node)


def word_of(node: dict[str, Any]) -> Word:
    """The word that holds no braces, or is one that is not expanded (an assigned value, a redirection's target)."""
    parts: Sequence[dict[str, Any]] = node.get("Parts") or ()
    bare = "".join(map(_bare, parts))
    if re.search(r"\{.*(?:,|\.\.)", bare):
        return NO_WORD  # braces around quotes: too rare to be worth knowing
    found = [_part(part) for part in parts]
    text = "".join(part.text for part in found)
    return Word(text, glob=_is_pattern(bare), tilde=_has_tilde(bare), one=all(part.one for part in found))


def _part(part: dict[str, Any]) -> Word:
    match part["Type"]:
        case "Lit":
            return Word(re.sub(r"\\(.|\n)", lambda match: match[1].strip("\n"), part.get("Value", "")))
        case "SglQuoted":
            return Word(ansi_decoded(part.get("Value", "")) if part.get("Dollar") else part.get("Value", ""))
        case "DblQuoted":
            return _double_quoted(part)
        case _:
            return NO_WORD


def _double_quoted(part: dict[str, Any]) -> Word:
    inner: Sequence[dict[str, Any]] = part.get("Parts") or ()
    pieces = [_unescaped(piece.get("Value", "")) if piece["Type"] == "Lit" else UNKNOWN for piece in inner]
    text = UNKNOWN if part.get("Dollar") else "".join(pieces)  # $"…" is translated: its text is not known
    return Word(text, one=not any(map(_is_list, inner)))


def _unescaped(text: str) -> str:
    """A text in double quotes, without the backslashes that the shell takes away."""
    return re.sub(r'\\([$`"\\]|\n)', lambda match: match[1].strip("\n"), text)


def _is_list(part: dict[str, Any]) -> bool:
    """`$@`, `${a[@]}` and `${x:-$@}` are as many words as there are arguments, also in quotes."""
    if part["Type"] != "ParamExp":
        return _holds_list(part)
    default = (part.get("Exp") or {}).get("Word") or {}
    return part["Param"]["Value"] == "@" or "Index" in part or _holds_list(default)


def _holds_list(node: dict[str, Any]) -> bool:
    return any(map(_is_list, node.get("Parts") or ()))


def _bare(part: dict[str, Any]) -> str:
    """What of a part is not quoted, with a letter in place of what is."""
    return re.sub(r"\\.", "x", part.get("Value", "")) if part["Type"] == "Lit" else "x"


def _is_pattern(bare: str) -> bool:
    """Whether the shell would look for paths: `[` alone is the name of a program."""
    return re.search(r"[*?]|\[.*\]", bare) is not None


def _has_tilde(bare: str) -> bool:
    """Whether the shell would put in a home: bash also expands `name=~/x` and `a:~/x` in words that look like assignments."""
    return re.search("(?:^|[=:])~", bare) is not None


def _braces(value: str) -> Iterator[Word]:
    """`a{b,c}d` as two words. What is nested, counted or quoted is not known."""
    if "\\" in value or not re.fullmatch(r"(?:[^{}]|\{[^{}]*\})*", value):
        yield NO_WORD
        return
    choices = [_choices(piece) for piece in re.split(r"(\{[^{}]*\})", value)]
    if prod(map(len, choices)) > MAX_BRACES or [UNKNOWN] in choices:
        yield NO_WORD
        return
    for text in filter(None, map("".join, product(*choices))):  # bash leaves out those that are empty
        yield Word(text, glob=_is_pattern(text), tilde=_has_tilde(text))


def _choices(piece: str) -> list[str]:
    if not piece.startswith("{"):
        return [piece]
    if "," in piece:
        return piece[1:-1].split(",")
    return [UNKNOWN] if ".." in piece else [piece]


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ESCAPES |= {"\\": "\\", "'": "'", '"': '"', "?": "?", "c": UNKNOWN, "x": UNKNOWN}  # control characters, `\x{72}`
_ANSI = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(.))", re.DOTALL)


def ansi_decoded(value: str) -> str:
    """The text of `$'…'`: all of it or nothing, because a zero byte ends it."""
    decoded = _ANSI.sub(_ansi_character, value)
    return UNKNOWN if UNKNOWN in decoded else decoded


def _ansi_character(match: re.Match[str]) -> str:
    octal, byte, unicode, long_unicode, single = match.groups()
    if single is not None:
        return _ESCAPES.get(single, f"\\{single}")
    code = int(octal, 8) if octal else int(byte or unicode or long_unicode, 16)
    # Bytes above 0x7f are pieces of characters, and which bytes a character is hangs on the locale.
    return chr(code) if code < 0x80 else UNKNOWN
