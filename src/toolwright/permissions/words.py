"""Words of a command line: what they say once the shell has taken the quotes away, as far as that can be known beforehand.

Knows the tree's word parts; does not know commands, rules or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from msgspec import Struct

UNKNOWN = "\0"
"""Stands in a word's text for what only the running shell knows. No command line can hold it otherwise."""

MOST_BRACES = 64


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
    if len(parts) == 1 and parts[0]["Type"] == "Lit" and "{" in parts[0]["Value"]:
        yield from _braces(parts[0]["Value"])
        return
    yield word_of(node)


def word_of(node: dict[str, Any]) -> Word:
    """The word that holds no braces, or is one that is not expanded (an assigned value, a redirection's target)."""
    parts: Sequence[dict[str, Any]] = node.get("Parts") or ()
    if len(parts) > 1 and any(part["Type"] == "Lit" and "{" in part["Value"] for part in parts):
        return NO_WORD  # braces around quotes: too rare to be worth knowing
    found = [_part(part, first=not index) for index, part in enumerate(parts)]
    return Word(
        "".join(part.text for part in found),
        glob=any(part.glob for part in found) or _is_pattern("".join(_bare(part) for part in parts)),
        tilde=any(part.tilde for part in found),
        one=all(part.one for part in found),
    )


def _part(part: dict[str, Any], *, first: bool) -> Word:
    match part["Type"]:
        case "Lit":
            return _unquoted(part["Value"], first=first)
        case "SglQuoted":
            return Word(ansi_decoded(part.get("Value", ""))) if part.get("Dollar") else Word(part.get("Value", ""))
        case "DblQuoted":
            return _double_quoted(part)
        case _:
            return NO_WORD


def _double_quoted(part: dict[str, Any]) -> Word:
    pieces: list[str] = []
    one = True
    for inner in part.get("Parts") or ():
        if inner["Type"] == "Lit":
            pieces.append(re.sub(r'\\([$`"\\])', r"\1", inner["Value"].replace("\\\n", "")))
            continue
        pieces.append(UNKNOWN)
        # "$@" and "${a[@]}" are as many words as there are arguments.
        one = one and not (inner["Type"] == "ParamExp" and (inner.get("Param", {}).get("Value") == "@" or inner.get("Index")))
    text = "".join(pieces)
    return Word(text if not part.get("Dollar") else UNKNOWN, one=one)  # $"…" is translated: its text is not known


def _unquoted(value: str, *, first: bool) -> Word:
    text = re.sub(r"\\(.)", r"\1", value.replace("\\\n", ""), flags=re.DOTALL)
    bare = re.sub(r"\\.", "", value, flags=re.DOTALL)
    if "{" in bare and ("," in bare or ".." in bare):
        return NO_WORD
    # bash also expands `name=~/x` and `a:~/x` in words that look like assignments
    tilde = (first and bare.startswith("~")) or "=~" in bare or ":~" in bare
    return Word(text, glob=_is_pattern(bare), tilde=tilde)


def _bare(part: dict[str, Any]) -> str:
    """What of a part is not quoted, with a letter in place of what is."""
    return re.sub(r"\\.", "x", part["Value"], flags=re.DOTALL) if part["Type"] == "Lit" else "x"


def _is_pattern(bare: str) -> bool:
    """Whether the shell would look for paths: `[` alone is the name of a program."""
    return "*" in bare or "?" in bare or ("[" in bare and "]" in bare[bare.index("[") :])


def _braces(value: str) -> Iterator[Word]:
    """`a{b,c}d` as two words. What is nested, counted or quoted is not known."""
    if "\\" in value or not re.fullmatch(r"(?:[^{}]|\{[^{}]*\})*", value):
        yield NO_WORD
        return
    pieces = [piece for piece in re.split(r"(\{[^{}]*\})", value) if piece]
    choices = [_choices(piece) for piece in pieces]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST_BRACES or any(UNKNOWN in choice for choice in choices):
        yield NO_WORD
        return
    for text in filter(None, map("".join, product(*choices))):  # bash leaves out those that are empty
        yield Word(text, glob=_is_pattern(text), tilde=text.startswith("~"))


def _choices(piece: str) -> list[str]:
    if not piece.startswith("{"):
        return [piece]
    if "," in piece:
        return piece[1:-1].split(",")
    return [UNKNOWN] if ".." in piece else [piece]


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ANSI = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL)


def ansi_decoded(value: str) -> str:
    """The text of `$'…'`."""
    return _ANSI.sub(_ansi_character, value)


def _ansi_character(match: re.Match[str]) -> str:
    octal, short, unicode, long_unicode, control, single = match.groups()
    if single is not None:
        return _ESCAPES.get(single, single if single in "\\'\"?" else f"\\{single}")
    if control is not None:
        return chr(ord(control) & 0x1F)
    digits = octal or short or unicode or long_unicode
    code = int(digits, 8 if octal else 16) & (0xFF if octal else 0xFFFFFFFF)
    # Bytes above 0x7f are pieces of characters; they and what is no character are not known.
    return chr(code) if code < 0x80 or (bool(unicode or long_unicode) and code < 0x110000) else UNKNOWN
