"""Removals that a person has to see whatever the rules say: of the root, the home, the session's folders and what lies
above them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwright.permissions.calls import SessionFolders
from toolwright.permissions.shell.command_line import CommandLine, Part, visible
from toolwright.permissions.shell.command_paths import Paths
from toolwright.permissions.shell.words import UNKNOWN, Word

REMOVERS = frozenset(("rm", "rmdir"))
_NAMES = re.compile(r"[\w-]+")


def critical_removal(line: CommandLine, paths: Paths, place: SessionFolders) -> str | None:
    """The target that must not be removed unseen, if the line would remove one."""
    for part in line.parts:
        if part.name in REMOVERS and (target := _critical_target(part, paths, place)) is not None:
            return target
    return None


def unread_removal(line: CommandLine) -> str | None:
    """The program that removes files, if a line that could not be read names one: nobody knows what it would remove."""
    if line.unparsed is None:
        return None
    return next((word for word in _NAMES.findall(line.text) if word in REMOVERS), None)


def _critical_target(part: Part, paths: Paths, place: SessionFolders) -> str | None:
    recursive = any(word.text.startswith("-") and "r" in word.text.lower() for word in part.words[1:])
    for word in part.words[1:]:
        if _is_open(word, recursive) or _is_critical(word, part, paths, place):
            return visible(word.text)
    return None


def _is_open(word: Word, recursive: bool) -> bool:
    """`$VAR/*`, `$(…)`, `$VAR/`: what is removed if the variable is empty is the root."""
    return word.text.startswith(UNKNOWN) and (recursive or word.glob or "/" in word.text)


def _is_critical(word: Word, part: Part, paths: Paths, place: SessionFolders) -> bool:
    folder, slash, last = word.text.rpartition("/")
    everything_in = last in ("*", ".*") and word.glob
    text = (folder or slash or ".") if everything_in else word.text
    found = paths.of(Word(text, tilde=word.tilde), part)
    return found is not None and any(_matters(path, place) for path in found)


def _matters(path: str, place: SessionFolders) -> bool:
    """Whether it is the root, directly below it, or one of the folders to keep or above one."""
    return path.count("/") == 1 or any(f"{folder}/".startswith(f"{path}/") for folder in _kept(place))


def _kept(place: SessionFolders) -> Iterable[str]:
    return (place.cwd, *place.roots, *((place.home,) if place.home else ()))
