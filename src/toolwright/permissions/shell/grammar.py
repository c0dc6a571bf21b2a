"""The syntax tree of a command line, in the shape that `shfmt --to-json` gives it.

A line of nothing but plain words, joined by `;`, `&&`, `||` and `|`, is read here; any other by shfmt, a real bash grammar,
in a process of a few milliseconds. This is the only module of the room that starts a process; it opens no file and reads no
environment. The program is the one that was installed with us, never one from PATH or a working directory, where anyone could
plant one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

Tree: TypeAlias = dict[str, Any]
"""A node: `File`, `Stmt`, `CallExpr`, … as shfmt names them."""

MAX_PARSED_LENGTH = 100_000
SECONDS_ALLOWED = 5.0
REMEDY = (
    "Install it with `pip install shfmt-py`. Where pip finds no wheel (musl, as in Alpine) it builds one, for which it "
    "downloads the program from github.com; docs/permissions.md says what to do without"
)

_WORD = r"[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:=@%+,-]*"
_NAME = r"[A-Za-z0-9_./:@%+,-]+"
_SIMPLE = rf"{_NAME}(?: {_WORD})*"
_PLAIN = re.compile(rf"{_SIMPLE}(?: ?(?:;|&&|\|\||\|) {_SIMPLE})*")
_KEYWORDS = frozenset(
    """if then else elif fi do done case esac while until for select function time coproc in declare export local readonly
    typeset nameref let""".split()  # noqa: SIM905 — a word list reads better
)
_COMMENT = re.compile(r"(?:^|[\s;&|()<>`])#")
_AMBIGUOUS = re.compile(r"\$\$[({\[]|[$<>]\\\n")


class NotParsed(Exception):
    """Why there is no tree."""


class ParserMissing(NotParsed):
    """There is no tree because there is nothing to make one with."""


def plain_tree(text: str) -> Tree | None:
    """The tree of a line of plain words, equal to shfmt's but for positions; None for any other line."""
    if not _PLAIN.fullmatch(text) or any(_starts_with_keyword(part) for part in re.split(r"[;&|]+", text)):
        return None
    return {"Type": "File", "Stmts": [_list(part) for part in text.split(";")]}


def _starts_with_keyword(part: str) -> bool:
    return part.strip().partition(" ")[0] in _KEYWORDS


def _list(text: str) -> Tree:
    """`a && b || c`: both operators bind alike, to the left."""
    first, *rest = re.split(r"(&&|\|\|)", text)
    tree = _pipeline(first)
    for operator, part in zip(rest[::2], rest[1::2], strict=True):
        tree = {"Cmd": {"Type": "BinaryCmd", "Op": operator, "X": tree, "Y": _pipeline(part)}}
    return tree


def _pipeline(text: str) -> Tree:
    first, *rest = text.split("|")
    tree = _call(first)
    for part in rest:
        tree = {"Cmd": {"Type": "BinaryCmd", "Op": "|", "X": tree, "Y": _call(part)}}
    return tree


def _call(text: str) -> Tree:
    words = [{"Parts": [{"Type": "Lit", "Value": word}]} for word in text.split()]
    return {"Cmd": {"Type": "CallExpr", "Args": words}}


def shell_tree(text: str, *, run: Callable[[str], bytes] | None = None) -> Tree:
    """The tree of `text`. Raises `NotParsed`. `run` turns a text into shfmt's answer, for those who have another way to it."""
    if len(text) > MAX_PARSED_LENGTH:
        raise NotParsed(f"it is longer than {MAX_PARSED_LENGTH:,} characters")
    if "\r" in text:
        raise NotParsed("it holds a carriage return, which bash takes for a letter and others for the end of a line")
    if _AMBIGUOUS.search(text):
        raise NotParsed("$$ before a bracket, or a line that ends inside an operator, is read in more than one way")
    if _may_join_a_comment(text):
        raise NotParsed("a backslash at the end of a comment hides what the next line is")
    return plain_tree(text) or _decoded((run or run_shfmt)(text))


def _may_join_a_comment(text: str) -> bool:
    """A comment that ends in a backslash goes on in the next line to shfmt; to bash, that line is a command."""
    return any(line.endswith("\\") and _COMMENT.search(line) for line in text.split("\n"))


def _decoded(answer: bytes) -> Tree:
    import msgspec  # only lines that are more than plain words need it

    try:
        return msgspec.json.decode(answer, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotParsed(f"its syntax tree cannot be read ({error})") from None


def run_shfmt(text: str, *, program: str | None = None, seconds: float = SECONDS_ALLOWED) -> bytes:
    """What shfmt says about `text`, in a process with no environment and no working folder of anybody's."""
    import subprocess  # only lines that are more than plain words need it

    try:
        data = text.encode()
        done = subprocess.run(  # the shell gets nothing: an argument list, and the text on stdin
            [program or shfmt_path(), "--to-json", "-ln", "bash"],
            input=data,
            capture_output=True,
            timeout=seconds,
            cwd="/",
            env={},
            check=False,
        )
    except UnicodeEncodeError:
        raise NotParsed("it holds half of a surrogate pair") from None
    except subprocess.TimeoutExpired:
        raise NotParsed(f"it was not parsed within {seconds:.0f} s") from None
    except OSError as error:
        raise ParserMissing(f"the program shfmt, which reads shell commands, could not be started ({error})") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().removeprefix("<standard input>:")
        raise NotParsed(f"it is not valid bash ({said[:200]})")
    return done.stdout


@cache
def shfmt_path() -> str:
    """The absolute path of our shfmt. Raises `ParserMissing`."""
    from toolwright.base.packaged import packaged_program  # slow to import, needed once

    path = packaged_program("shfmt-py", "shfmt")
    if path is None:
        raise ParserMissing("the program shfmt, which reads shell commands, is not installed")
    return path


@cache
def parser_problem() -> str | None:
    """Says why no line that is more than plain words can be read here, and what to do; None if they can. Tries it once."""
    try:
        run_shfmt(":")
    except ParserMissing as problem:
        return f"{problem}. {REMEDY}"
    except NotParsed:
        return None
    return None
