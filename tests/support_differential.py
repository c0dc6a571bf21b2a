"""Generated lines, read by us and run by bash: what bash did was read, or the line would have been asked about.

    python tests/support_differential.py --lines 100000 --seed anything

The law is about every line that the reader says it understood (nothing `unparsed` or `opaque`): each program that bash ran is
among its parts, with words that fit; each file that bash itself opened is the target of one of its redirections.
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from support_shell_lines import ShellLines
from support_shell_runs import Done, missing_programs, run_by_bash
from toolwright.permissions.shell.command_line import CommandLine, Part
from toolwright.permissions.shell.command_walker import read_line
from toolwright.permissions.shell.words import UNKNOWN, Word
from toolwright.permissions.shell.wrappers import SHELLS

AT_ONCE = 400
LOCALES = ("C.utf8", "C")
WORKERS = 2


class Hole(Struct, frozen=True):
    """A line that bash ran otherwise than it was read."""

    line: str
    did: str


class Tally(Struct):
    lines: int = 0
    asked: int = 0
    ran: int = 0
    """How many programs bash ran in the lines that were understood."""
    opened: int = 0
    holes: list[Hole] = []

    def __str__(self) -> str:
        share = self.asked / max(self.lines, 1)
        counted = f"{self.lines:,} lines: {self.lines - self.asked:,} understood, {self.asked:,} asked about ({share:.0%})"
        return f"{counted}; bash ran {self.ran:,} programs and opened {self.opened:,} files; {len(self.holes):,} holes"


def is_understood(line: CommandLine) -> bool:
    return line.unparsed is None and not line.opaque


def unread(line: CommandLine, done: Done) -> Iterator[str]:
    """What bash did that was not read."""
    for ran in done.ran:
        if not any(_is_run_by(part, ran) for part in line.parts):
            yield f"ran {ran}"
    for opened in done.opened:
        if not any(_opens(part, opened.path, for_writing=opened.for_writing) for part in line.parts):
            yield f"opened {opened.path!r} for {'writing' if opened.for_writing else 'reading'}"


def _is_run_by(part: Part, ran: tuple[str, ...]) -> bool:
    if ran[:1] == ("/bin/sh",) and len(ran) > 1:  # how the C library runs a canary, which is no program: `sh path …`
        ran = (ran[1].rpartition("/")[2] if ran[1].startswith("/") else ran[1], *ran[2:])
    if part.name == "xargs" and ran[:1] == ("echo",):  # what it runs where nothing is named
        return True
    return fits(part.words, ran) or (bool(part.wrapped) and fits((*part.wrapped, *part.words), ran))


def fits(words: Sequence[Word], ran: Sequence[str]) -> bool:
    """Whether `words`, as far as they are known, can have become the arguments `ran`."""
    if not words:
        return not ran
    first, rest = words[0], words[1:]
    if first.one and not first.glob:
        return bool(ran) and _may_be(first, ran[0]) and fits(rest, ran[1:])
    return any(fits(rest, ran[count:]) for count in range(len(ran) + 1))


def _may_be(word: Word, text: str) -> bool:
    if word.tilde:
        return True
    pattern = ".*".join(map(re.escape, word.text.split(UNKNOWN)))
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def _opens(part: Part, path: str, *, for_writing: bool) -> bool:
    return any(
        (redirection.operator != "<" if for_writing else redirection.operator in ("<", "<>"))
        and (redirection.target.glob or not redirection.target.one or _may_be(redirection.target, path))
        for redirection in part.redirections
    ) or (not for_writing and _runs_file(part, path))


def _runs_file(part: Part, path: str) -> bool:
    """A canary with a path is a script, which bash reads; so is what another shell is given."""
    given = part.words if part.name in SHELLS else part.words[:1]
    return any(word.tilde or _may_be(word, path) for word in given)


def compare(lines: Sequence[str], locale: str = LOCALES[0]) -> Tally:
    read = [read_line(line) for line in lines]
    understood = [line for line in read if is_understood(line)]
    done = run_by_bash([line.text for line in understood], locale)
    holes = [Hole(line.text, did) for line, one in zip(understood, done, strict=True) for did in unread(line, one)]
    ran, opened = sum(len(one.ran) for one in done), sum(len(one.opened) for one in done)
    return Tally(len(lines), len(lines) - len(understood), ran, opened, holes)


def compare_generated(count: int, seed: str) -> Iterator[Tally]:
    """The same as `compare` for `count` lines made from `seed`, some hundreds at a time."""

    def batch(number: int) -> Tally:
        made = ShellLines(f"{seed}/{number}")
        lines = [text for _ in range(min(AT_ONCE, count - number * AT_ONCE)) if "\0" not in (text := made.line())]
        return compare(lines, LOCALES[number % len(LOCALES)])

    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(batch, range(-(-count // AT_ONCE)))


def summed(tallies: Iterator[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total = Tally(
            total.lines + tally.lines,
            total.asked + tally.asked,
            total.ran + tally.ran,
            total.opened + tally.opened,
            [*total.holes, *tally.holes],
        )
    return total


def new_seed() -> str:
    return secrets.token_hex(4)


def main() -> int:
    options = argparse.ArgumentParser(description="Hold generated lines of shell, as we read them, against bash.")
    options.add_argument("--lines", type=int, default=100_000)
    options.add_argument("--seed", default=new_seed())
    given = options.parse_args()
    if missing := missing_programs():
        print(f"This needs {' and '.join(missing)}: install them.", file=sys.stderr)
        return 2
    print(f"seed {given.seed}", flush=True)
    began, total = time.monotonic(), Tally()
    for tally in compare_generated(given.lines, given.seed):
        for hole in tally.holes:
            print(f"HOLE {hole.line!r} {hole.did}", flush=True)
        total = summed(iter((total, tally)))
        print(f"\r{total.lines:,} lines", end="", file=sys.stderr, flush=True)
    print(f"\n{total}. {time.monotonic() - began:.0f} s")
    return 1 if total.holes else 0


if __name__ == "__main__":
    sys.exit(main())
