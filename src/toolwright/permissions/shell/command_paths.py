"""The paths of a simple command: where they lie once the folder, the links and the patterns are known.

Asks `Files` what it must know of the machine. Knows no rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from posixpath import basename, dirname, join

from toolwright.permissions.calls import SessionFolders, normal_path
from toolwright.permissions.shell.command_line import Part
from toolwright.permissions.shell.words import UNKNOWN, Word

DEVICES = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero"))
NO_PATHS: tuple[str, ...] = ()
MAX_MARKS = 8
_MARK = re.compile("[=@:]")


class Paths:
    """The words of one call's commands as absolute paths. `start` is the folder the command line starts in."""

    def __init__(self, start: str, place: SessionFolders) -> None:
        self._place = place
        self._start = start
        self._folders: dict[tuple[Word, ...], tuple[str, ...] | None] = {(): (start,)}

    def folders(self, part: Part) -> tuple[str, ...] | None:
        """Every folder that `part` may run in, or None if that is not known."""
        found: dict[str, None] = {}
        for row in part.moves:
            folders = self._after(row)
            if folders is None:
                return None
            found |= dict.fromkeys(folders)
        return tuple(found) or None

    def _after(self, row: tuple[Word, ...]) -> tuple[str, ...] | None:
        if row not in self._folders:
            before = self._after(row[:-1])
            self._folders[row] = self._moved(before, row[-1]) if before is not None else None
        return self._folders[row]

    def _moved(self, before: tuple[str, ...], target: Word) -> tuple[str, ...] | None:
        found: dict[str, None] = {}
        for folder in before:
            written = self._written(target, folder)
            if written is None:
                return None
            found |= dict.fromkeys(self._place.files.spellings(written))
        return tuple(found)

    def of(self, word: Word, part: Part) -> tuple[str, ...] | None:
        """Every path that `word` may mean, both ends of each link, or None if that is not known."""
        if word.known and word.text in DEVICES:
            return NO_PATHS
        folders = self.folders(part)
        if folders is None and not (word.text.startswith("/") or word.tilde):
            return None
        found: dict[str, None] = {}
        for folder in folders or ("/",):
            written = self._written(word, folder)
            spelled = self._spelled(written, word) if written is not None else None
            if spelled is None:
                return None
            found |= dict.fromkeys(spelled)
        return tuple(found)

    def likely(self, word: Word, part: Part) -> tuple[str, ...]:
        """The same for what is forbidden: where not all is known, what is, in the folder the line starts in."""
        found = self.of(word, part)
        if found is not None:
            return found
        _, unknown, known = word.text.rpartition(UNKNOWN)
        if unknown and not known.startswith("/"):
            return NO_PATHS
        written = self._plain(known.lstrip("/"), self._start)
        return NO_PATHS if written is None else self._place.files.spellings(written)

    def _spelled(self, written: str, word: Word) -> tuple[str, ...] | None:
        files = self._place.files
        if not word.glob:
            return files.spellings(written)
        matched = files.matching(written)
        if matched is None or ("/" not in word.text and any(basename(path).startswith("-") for path in matched)):
            return None  # a file called `-x` would be an option
        # A pattern that matches nothing is handed over as it stands.
        return tuple(end for path in matched or (written,) for end in files.spellings(path))

    def _written(self, word: Word, folder: str) -> str | None:
        """The absolute path that `word` says; `..` is followed only where no link can stand before it."""
        text = word.text
        if UNKNOWN in text or "\n" in text:
            return None
        if word.tilde:
            if not (text == "~" or text.startswith("~/")) or self._place.home is None:
                return None
            text = self._place.home + text[1:]
        return self._plain(text, folder)

    def _plain(self, text: str, folder: str) -> str | None:
        path = "/" if text.startswith("/") else folder
        for piece in text.split("/"):
            if piece == "..":
                path = dirname(self._place.files.spellings(path)[0])
            elif piece not in ("", "."):
                path = join(path, piece)
        return normal_path(path)


def candidates(words: Iterable[Word]) -> Iterator[Word]:
    """The words, and pieces of them, that a program not known may take for paths: `x`, `--file=x`, `@x`, `HEAD:x`, `x:/mnt`."""
    for word in words:
        if UNKNOWN not in word.text:
            yield word
            yield from (Word(piece) for piece in _pieces(word.text) if piece)


def _pieces(text: str) -> Iterator[str]:
    """Between two marks, and from a mark to the end."""
    before = 0
    for mark in islice(_MARK.finditer(text), MAX_MARKS):
        yield from (text[before : mark.start()], text[mark.end() :])
        before = mark.end()
