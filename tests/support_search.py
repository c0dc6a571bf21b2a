"""For the tests of Glob and Grep: ripgrep run by hand, and what a pattern means, written down slowly."""

from __future__ import annotations

import fnmatch
import os
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from toolwright.processes.ripgrep import ripgrep_path

_BY_HAND = ("--no-config", "--no-ignore-global", "--hidden", "-g", "!.git", "--sort=path", "--no-heading", "--with-filename")


def by_hand(folder: str, *arguments: str) -> list[str]:
    """The lines ripgrep prints in `folder`; a carriage return at the end of one is not counted."""
    done = subprocess.run([ripgrep_path(), *_BY_HAND, *arguments], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
    text = done.stdout.decode("utf-8", "backslashreplace")
    return [line.removeprefix("./").removesuffix("\r") for line in text.split("\n")[:-1]]


def hand_arguments(fields: dict[str, Any]) -> list[str]:
    """What a person would type for the same search."""
    mode = fields.get("output_mode", "files_with_matches")
    arguments = {"content": _content_arguments(fields), "count": ["-c"], "files_with_matches": ["-l"]}[mode]
    arguments += ["-i"] if fields.get("-i") else []
    arguments += ["-U", "--multiline-dotall"] if fields.get("multiline") else []
    arguments += ["-t", fields["type"]] if "type" in fields else []
    # A glob looks from the folder that is searched.
    arguments += ["-g", fields["glob"]] if "glob" in fields else []
    arguments += ["-g", f"!{fields['exclude']}"] if "exclude" in fields else []
    return [*arguments, "-e", fields["pattern"], "./"]


def _content_arguments(fields: dict[str, Any]) -> list[str]:
    around = fields.get("-C") or fields.get("context") or 0
    numbers = "-n" if fields.get("-n", True) else "-N"
    context = ["-A", str(fields.get("-A") or around), "-B", str(fields.get("-B") or around)]
    return ["--max-columns=2000", "--max-columns-preview", numbers, *context, *(["-o"] if fields.get("-o") else [])]


def glob_matches(pattern: str, path: str) -> bool:
    """Whether Glob finds the file at the relative `path`, by trying everything."""
    if ".git" in path.split("/") and ".git" not in pattern.replace("!", "/").split("/"):
        return False
    if pattern.startswith("!"):
        parts = path.split("/")
        return not any(_is_match(pattern[1:], "/".join(parts[:length])) for length in range(1, len(parts) + 1))
    return _is_match(pattern, path)


def _is_match(pattern: str, path: str) -> bool:
    anchored = "/" in pattern
    pattern = pattern.removeprefix("./")
    names = path.split("/")
    return any(
        _fits(plain.split("/"), names) if anchored else _fits([plain], names[-1:]) or plain == "**"
        for plain in _without_braces(pattern)
    )


def _without_braces(pattern: str) -> Iterator[str]:
    choices = []
    for number, piece in enumerate(pattern.replace("}", "{").split("{")):
        choices.append(piece.split(",") if number % 2 else [piece])
    return ("".join(chosen) for chosen in product(*choices))


def _fits(segments: list[str], names: list[str]) -> bool:
    if not segments:
        return not names
    if segments[0] != "**":
        return bool(names) and fnmatch.fnmatchcase(names[0], segments[0]) and _fits(segments[1:], names[1:])
    if len(segments) == 1:
        return bool(names)
    return any(_fits(segments[1:], names[start:]) for start in range(len(names) + 1))


def regular_files(folder: Path) -> list[str]:
    """The relative paths of all regular files, links not followed."""
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append(os.path.relpath(path, folder))
    return found
