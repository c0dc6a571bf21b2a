"""The person at the terminal: is shown what a call would do, and answers by a key, a number or in words.

Knows nothing of rules; what an answer changes is said by the suggestions that come with the question. The end of input is a no.
"""

from __future__ import annotations

import os
import stat
from itertools import groupby
from typing import Any

import anyio

from toolwright.cli.stdio import read_chunk
from toolwright.cli.terminal import Terminal, visible
from toolwright.permissions.session.approval_text import CHANGES, changed_lines
from toolwright.types import (
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)

PLACES = {
    "session": "in this session",
    "localSettings": "in this folder, for you",
    "projectSettings": "in this folder, for everyone",
    "userSettings": "everywhere",
}
ACCEPT_EDITS = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
COLOURS = {"- ": "red", "+ ": "green"}
AROUND = 3
MAX_COMPARED_SIZE = 1024 * 1024
HEAD_START = 0.02
"""Seconds for what came before a question to be drawn before it."""
NO = "The person at the terminal said no."


class TerminalPerson:
    """A `can_use_tool` that asks on a terminal, one question at a time."""

    def __init__(self, stdin: int, terminal: Terminal) -> None:
        self._stdin = stdin
        self._terminal = terminal
        self.asking = anyio.Lock()
        """Held while a question stands on the terminal."""
        self._typed = b""

    async def __call__(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        await anyio.sleep(HEAD_START)
        async with self.asking:
            self._forget_what_was_typed()
            if name == "AskUserQuestion":
                return await self._questions(given)
            self._show(name, given, context)
            offers = [ACCEPT_EDITS] if name == "ExitPlanMode" else context.suggestions
            return await self._permission(offers)

    # permission

    def _show(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> None:
        terminal = self._terminal
        terminal.line()
        for line in call_lines(name, given, context.title or name):
            colour = COLOURS.get(line[:2]) if name in CHANGES else None
            terminal.line(f"  {terminal.paint(line, colour) if colour else line}")
        if context.description and name not in CHANGES:
            terminal.line(terminal.paint(f"  ({visible(context.description)})", "dim"))
        if context.decision_reason:
            terminal.line(terminal.paint(f"  {visible(context.decision_reason)}", "dim"))

    async def _permission(self, offers: list[PermissionUpdate]) -> PermissionResult:
        for number, offer in enumerate(offers, 1):
            self._terminal.line(f"  {number}  yes, and {told(offer)}")
        while (answer := await self._answer("y yes, n no, or say what to do instead: ")) is not None:
            if answer.lower() in ("y", "yes"):
                return PermissionResultAllow()
            if answer.lower() in ("n", "no"):
                break
            if answer.isdecimal() and 1 <= int(answer) <= len(offers):
                return PermissionResultAllow(updated_permissions=[offers[int(answer) - 1]])
            if answer and not answer.isdecimal():
                return PermissionResultDeny(message=answer)
        return PermissionResultDeny(message=NO)

    # questions

    async def _questions(self, given: dict[str, Any]) -> PermissionResult:
        answers: dict[str, str] = {}
        for question in given["questions"]:
            answer = await self._question(question)
            if answer is None:
                return PermissionResultDeny(message="The person at the terminal gave no answer.")
            answers[question["question"]] = answer
        return PermissionResultAllow(updated_input={**given, "answers": answers})

    async def _question(self, question: dict[str, Any]) -> str | None:
        labels = [str(option["label"]) for option in question["options"]]
        self._terminal.line()
        self._terminal.line(f"  {visible(question['question'])}")
        for number, option in enumerate(question["options"], 1):
            more = f": {option['description']}" if option.get("description") else ""
            self._terminal.line(f"  {number}  {visible(option['label'] + more)}")
        how = "Numbers with commas between" if question.get("multiSelect") else "A number"
        while (answer := await self._answer(f"{how}, or your own words: ")) is not None:
            if answer:
                return chosen(answer, labels)
        return None

    async def _answer(self, prompt: str) -> str | None:
        """One line; None at the end of input."""
        self._terminal.write(f"  {prompt}")
        while b"\n" not in self._typed:
            piece = await read_chunk(self._stdin)
            if not piece:
                self._terminal.end_line()
                return None
            self._typed += piece
        self._terminal.answered()
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def _forget_what_was_typed(self) -> None:
        """What was typed before the question could be read is no answer to it."""
        if os.isatty(self._stdin):
            import termios  # only where there is a terminal

            termios.tcflush(self._stdin, termios.TCIFLUSH)
            self._typed = b""


def call_lines(name: str, given: dict[str, Any], title: str) -> list[str]:
    """What a call would do, line by line. A file that would be written anew is held against the one that is there."""
    lines = visible(title).split("\n")
    there = text_of(str(given.get("file_path"))) if name == "Write" else None
    if there is None:
        return lines
    changes = [visible(line) for line in changed_lines(there, str(given.get("content", "")))]
    return [f"{lines[0]} (there is one already)", *without_long_stretches(changes)]


def text_of(path: str) -> str | None:
    """The text of a file, if it is one and not a large one; only to show it."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            is_small = stat.S_ISREG(os.fstat(file.fileno()).st_mode) and os.fstat(file.fileno()).st_size <= MAX_COMPARED_SIZE
            return file.read(MAX_COMPARED_SIZE).decode() if is_small else None
    except (OSError, ValueError):
        return None


def without_long_stretches(lines: list[str]) -> list[str]:
    """A change without most of the lines that stay: three stand around each place, the others are counted."""
    kept: list[str] = []
    for stays, group in groupby(lines, key=lambda line: line.startswith("  ")):
        stretch = list(group)
        left_out = len(stretch) - 2 * AROUND
        if stays and left_out > 1:
            stretch[AROUND:-AROUND] = [f"  … {left_out:,} lines stay as they are"]
        kept += stretch
    return kept


def chosen(answer: str, labels: list[str]) -> str:
    """The labels of the numbers that were given; anything else is an answer of its own."""
    numbers = [part.strip() for part in answer.split(",")]
    if all(number.isdecimal() and 1 <= int(number) <= len(labels) for number in numbers):
        return ", ".join(labels[int(number) - 1] for number in numbers)
    return answer


def told(update: PermissionUpdate) -> str:
    """What an update would change, in words."""
    where = PLACES.get(update.destination or "session", "")
    if update.type == "setMode":
        return f"change to mode {update.mode} {where}"
    if update.type == "addDirectories":
        return f"work in {visible(', '.join(update.directories or ()))} too, {where}"
    rules = [rule.tool_name + (f"({rule.rule_content})" if rule.rule_content else "") for rule in update.rules or ()]
    return f"always {update.behavior} {visible(', '.join(rules))} {where}"
