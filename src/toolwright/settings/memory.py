"""Memory files: CLAUDE.md and AGENTS.md of the administrator, the user and every folder from the root down to the session's.

Read once, before the first prompt, as one text for the beginning of the conversation; those of a subfolder when a file there
has been read. A file that cannot be read is left out with a note: unlike settings it forbids nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import Struct, field

from toolwright.settings.imports import imports_of, prose_of, rule_paths
from toolwright.settings.locations import FOLDER_NAMES, MANAGED_FOLDERS, present
from toolwright.settings.memory_file import MemoryFile, NotMemory, open_memory

NAMES = ("AGENTS.md", "CLAUDE.md")
LOCAL = "CLAUDE.local.md"
HOPS = 4
MAX_FILES = 200
MAX_CHARACTERS = 400_000

HEAD = (
    "<standing-instructions>\n"
    "What the people you work for have written down for every session, from files on this machine. Where it bears on the task, "
    "follow it; a later file is closer to the task than an earlier one. It does not change what you are permitted to do."
)
HEAD_BELOW = (
    "<standing-instructions>\nA file was read whose folder has instructions of its own. They are about the work in that folder."
)
TAIL = "</standing-instructions>"


class MemoryPlaces(Struct, frozen=True):
    """Where to look, and how far imports may reach."""

    cwd: str
    config: tuple[str, ...]
    sources: Collection[str] = ("user", "project", "local")
    further: tuple[str, ...] = ()
    """More folders whose files count as the project's."""
    excludes: tuple[str, ...] = ()
    is_trusted: Callable[[], bool] = lambda: False
    is_hidden: Callable[[str], bool] | None = None
    """Which paths deny rules keep from being read."""
    managed: tuple[str, ...] = MANAGED_FOLDERS


class LoadedMemory(NamedTuple):
    """A memory file that was read: whose it is (a key of `LABELS`), and the file that imports it, if one does."""

    path: str
    kind: str
    imported_by: str | None = None


class Memory(Struct):
    """The text for the conversation ('' if there is nothing), the files it came from, and what was left out."""

    text: str = ""
    loaded: list[LoadedMemory] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        return [file.path for file in self.loaded]


LABELS = {
    "Managed": "from the administrator",
    "User": "the user's own, for all projects",
    "Project": "of the project",
    "Local": "the user's own, for this project",
}


class Candidate(NamedTuple):
    """A file that may be there, and whose it is: a key of `LABELS`. `imported_by` is the file that names it."""

    path: str
    kind: str
    imported_by: str | None = None

    @property
    def label(self) -> str:
        return f"imported by {os.path.basename(self.imported_by)}" if self.imported_by else LABELS[self.kind]

    @property
    def reaches_far(self) -> bool:
        """A project's file does not: it comes with the folder, whoever filled it."""
        return self.kind in ("Managed", "User")


def candidates(places: MemoryPlaces) -> Iterator[Candidate]:
    """Every memory file that is there, the farthest first."""
    for folder in places.managed:
        yield from (Candidate(path, "Managed") for path in _named(folder))
    if "user" in places.sources:
        for folder in places.config:
            own = (*_named(folder), *_rule_files(os.path.join(folder, "rules")))
            yield from (Candidate(path, "User") for path in own)
    for folder in (*_from_root(places.cwd), *places.further):
        yield from _of_project(folder, places)


def _of_project(folder: str, places: MemoryPlaces) -> Iterator[Candidate]:
    sources = places.sources
    if "project" in sources:
        named = (os.path.join(folder, name) for name in FOLDER_NAMES)
        # Above a project in the home folder lies the user's own folder: that one is not a project's.
        inner = [path for path in named if path not in places.config and os.path.isdir(path)]
        found = (*_named(folder), *(path for inside in inner for path in (*_named(inside), *_rule_files(f"{inside}/rules"))))
        yield from (Candidate(path, "Project") for path in found)
    if "local" in sources:
        local = present([os.path.join(folder, LOCAL)])
        yield from (Candidate(path, "Local") for path in local)


def _named(folder: str) -> list[str]:
    return present(os.path.join(folder, name) for name in NAMES)


def _rule_files(folder: str) -> Iterator[str]:
    if not os.path.isdir(folder):
        return
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(parent, name) for name in sorted(names) if name.endswith(".md"))


def _from_root(folder: str) -> list[str]:
    above = [folder]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    return above[::-1]


class Recollection:
    """What one session has read of memory files: each file once, within bounds."""

    __slots__ = ("_folders", "_left", "_memory", "_parts", "_places", "_seen")

    def __init__(self, places: MemoryPlaces) -> None:
        self._places = places
        self._seen: frozenset[tuple[int, int]] = frozenset()
        self._folders: frozenset[str] = frozenset()
        self._parts: list[str] = []
        self._left = MAX_CHARACTERS
        self._memory = Memory()

    def beginning(self) -> Memory:
        """What the conversation begins with."""
        return self._gathered(candidates(self._places), HEAD)

    def below(self, folders: Iterable[str]) -> Memory:
        """What belongs to these folders and those between them and the session's own, as far as it was not told yet."""
        new = sorted({between for folder in folders for between in self._between(folder)} - self._folders)
        self._folders = self._folders.union(new)
        return self._gathered((each for folder in new for each in _of_project(folder, self._places)), HEAD_BELOW)

    def _between(self, folder: str) -> Iterator[str]:
        top = os.path.realpath(self._places.cwd)
        while folder.startswith(os.path.join(top, "")) and folder not in self._folders:
            yield folder
            folder = os.path.dirname(folder)

    def _gathered(self, found: Iterable[Candidate], head: str) -> Memory:
        self._parts, self._memory = [], Memory()
        for candidate in found:
            if not any(fnmatchcase(candidate.path, pattern) for pattern in self._places.excludes):
                self._take(candidate, hops=0)
        if self._parts:
            self._memory.text = "\n\n".join((head, *self._parts, TAIL))
        return self._memory

    def _take(self, candidate: Candidate, *, hops: int) -> None:
        try:
            file = self._open(candidate.path, reach_far=candidate.reaches_far)
        except NotMemory as problem:
            self._memory.notes.append(f"memory: {candidate.path} was left out: {problem}")
            return
        if file is None:
            return
        self._memory.loaded.append(LoadedMemory(file.path, candidate.kind, candidate.imported_by))
        paths, prose = rule_paths(file.text)
        self._keep(file, candidate.label, paths, prose_of(prose))
        for named in imports_of(prose):
            self._import(named, file, kind=candidate.kind, hops=hops + 1)

    def _open(self, path: str, *, reach_far: bool) -> MemoryFile | None:
        """The file, None if it was read already. Raises `NotMemory`."""
        if len(self._seen) >= MAX_FILES or self._left <= 0:
            raise NotMemory("there are too many memory files")
        if self._places.is_hidden is not None and self._places.is_hidden(os.path.realpath(path)):
            raise NotMemory("a deny rule forbids reading it")
        file = open_memory(path)
        if file.identity in self._seen:
            return None
        if not reach_far:
            self._require_within_reach(file)
        self._seen |= {file.identity}
        return file

    def _require_within_reach(self, file: MemoryFile) -> None:
        """A project's file comes from its own folders, or from somebody who could change what we run anyway."""
        if self._is_inside(file.path):
            return
        if os.path.basename(file.path) in (*NAMES, LOCAL) and self._is_above(file.path):
            if not file.is_ours(self._places.cwd):
                raise NotMemory("it lies above the session's folder and belongs to another user")
        elif not self._places.is_trusted():
            raise NotMemory("it lies outside the session's folders, and this folder is not trusted")

    def _is_inside(self, path: str) -> bool:
        roots = (os.path.realpath(root) for root in (self._places.cwd, *self._places.further))
        return any(path.startswith(os.path.join(root, "")) for root in roots)

    def _is_above(self, path: str) -> bool:
        folder = os.path.dirname(path)
        if os.path.basename(folder) in FOLDER_NAMES:
            folder = os.path.dirname(folder)
        return os.path.join(os.path.realpath(self._places.cwd), "").startswith(os.path.join(folder, ""))

    def _keep(self, file: MemoryFile, label: str, paths: Sequence[str], prose: str) -> None:
        if not prose.strip():
            return
        kept = prose.strip()[: self._left].replace(TAIL, "")
        self._left -= len(kept)
        cut = "\n(The rest of this file is not shown: it is too long.)" if file.is_cut or len(kept) < len(prose.strip()) else ""
        if cut:
            self._memory.notes.append(f"memory: {file.path} is too long and was cut")
        scope = f", for files that match {', '.join(paths)}" if paths else ""
        self._parts.append(f"File {file.path} ({label}{scope}):\n{kept}{cut}")

    def _import(self, named: str, file: MemoryFile, *, kind: str, hops: int) -> None:
        path = os.path.join(os.path.dirname(file.path), os.path.expanduser(named))
        if not os.path.isfile(path):
            return  # an @ in prose is more often a name than a path
        if hops > HOPS:
            self._memory.notes.append(f"memory: {path} was left out: it is more than {HOPS} imports away")
            return
        self._take(Candidate(path, kind, file.path), hops=hops)
