"""May this command line run? Each simple command by what it would do, and the line by its strictest part.

Pure: a function of the line as it was read, the rules, the mode and the place (whose `files` answers for the machine).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from posixpath import dirname, join
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from toolwright.permissions.calls import PermissionCall, SessionFolders
from toolwright.permissions.path_rules import PathRules
from toolwright.permissions.protected import is_protected
from toolwright.permissions.rules import Rule
from toolwright.permissions.ruleset import RuleIndex, RuleSet
from toolwright.permissions.shell import git_commands
from toolwright.permissions.shell.breadth import RUN_THE_FOLDER, may_be_of_environment, named_outputs
from toolwright.permissions.shell.collectors import shows_put_aside, taken_along
from toolwright.permissions.shell.command_line import Assignment, CommandLine, Part, joined, visible
from toolwright.permissions.shell.command_paths import Paths, candidates
from toolwright.permissions.shell.command_rules import MAX_JUDGED_LENGTH, allows, fixed_words
from toolwright.permissions.shell.grammar import plain_tree
from toolwright.permissions.shell.lookers import PLAIN_LOOKERS, looks_by_name, name_words
from toolwright.permissions.shell.programs import Effect, effect
from toolwright.permissions.shell.variables import changes_what_runs, is_search_path
from toolwright.permissions.shell.words import UNKNOWN, Word
from toolwright.permissions.shell.wrappers import ACTIVATES

if TYPE_CHECKING:
    from toolwright.types import PermissionMode

READS_FROM = "<"
ONLY_LOOKS = "It only looks, inside the working folders."
OPENS = "It sets variables or opens files only."
NO_CAGE = "It only looks, but no cage works here: without one only plain commands run without a question."
NOT_CAGED = "It is not known to only look."
IN_ENVIRONMENT = re.compile(r"(?:.*/)?\.?(?:virtual|v)?env[\w.-]*/bin/[\w.-]+")
"""A program of a virtual environment, named by its path."""
WORDS_TRIED = 200
"""So many words of an unknown program are held against the rules that hide paths."""


class Obstacle(Struct, frozen=True):
    """Why a command is not simply run."""

    reason: str
    rule: Rule | None = None
    path: str | None = None


class Covered(Struct, frozen=True):
    """Why a part needs no question: it only looks, a mode lets it, or a rule."""

    reason: str
    rule: Rule | None = None


class CommandJudge:
    """One line at one place. Made for one decision."""

    def __init__(self, call: PermissionCall, line: CommandLine, place: SessionFolders) -> None:
        self.tool = call.name
        self.line = line
        self.place = place
        self.paths = Paths(call.cwd or place.cwd, place)
        self._effects: dict[int, Effect] = {}

    def effect(self, part: Part) -> Effect:
        key = id(part)
        if key not in self._effects:
            found = effect(part)
            copied = tuple(self._copied(found, part))
            self._effects[key] = replace(found, writes=(*found.writes, *copied)) if copied else found
        return self._effects[key]

    def _copied(self, found: Effect, part: Part) -> Iterator[Word]:
        """What is written where a pattern says what is copied."""
        for source, written in found.copies:
            for path in self.paths.of(source, part) or (UNKNOWN,):
                yield written(path)

    # what rules about paths forbid

    def path_rule(self, index: RuleIndex) -> Rule | None:
        """The deny or ask rule about a path that some command of the line would touch."""
        if not (index.reads or index.edits):
            return None
        for part in self.line.parts:
            rule = self._rule_about(part, index)
            if rule is not None:
                return rule
        return None

    def _rule_about(self, part: Part, index: RuleIndex) -> Rule | None:
        found = self.effect(part)
        writes = (*found.writes, *written_targets(part))
        for word in candidates((*part.words[1 : WORDS_TRIED + 1], *found.names, *found.reads, *read_targets(part), *writes)):
            for path in self.paths.likely(word, part):
                if rule := index.reads.covering(path, self.place):
                    return rule
        for word in writes if index.edits else ():
            for path in self.paths.likely(word, part):
                if rule := index.edits.covering(path, self.place):
                    return rule
        return None

    def hidden_reads(self, index: RuleIndex) -> Part | None:
        """A command of which it cannot be told whether it reads a path that a rule hides: all below a folder, or a path
        not known.
        """
        if not index.reads:
            return None
        covers = index.reads.tester(self.place)
        return next((part for part in self.line.parts if self._may_read_hidden(part, covers)), None)

    def _may_read_hidden(self, part: Part, covers: Callable[[str], bool]) -> bool:
        found = self.effect(part)
        if found.kind == "runs":
            return self._takes_hidden(part, covers)
        if found.shows_tracked and (shows_put_aside(part) or self.tracks(part, covers)):
            return True
        return any(self._may_lead_to(word, part, covers, below=found.walks) for word in (*found.reads, *read_targets(part)))

    def _takes_hidden(self, part: Part, covers: Callable[[str], bool]) -> bool:
        """Whether a program that a rule may allow takes hidden files along with all that lies beside them."""
        taken = taken_along(part)
        if taken is None:
            return False
        return (
            taken.unseen
            or (taken.tracked and self.tracks(part, covers))
            or any(self._may_lead_to(word, part, covers, below=True) for word in taken.below)
        )

    def tracks(self, part: Part, covers: Callable[[str], bool]) -> bool:
        """Whether git tracks a file that `covers`, where `part` runs."""
        return any(self.place.files.git_tracks(folder, covers) for folder in self.paths.folders(part) or (self.place.cwd,))

    def _may_lead_to(self, word: Word, part: Part, covers: Callable[[str], bool], *, below: bool) -> bool:
        paths = self.paths.of(word, part)
        return paths is None or (below and any(self.place.files.holds(path, covers) is not False for path in paths))

    def touched(self, part: Part) -> tuple[list[str], list[str]]:
        """The paths that `part` is known to read and to write, for showing."""
        found = self.effect(part)
        reads, writes = (*found.reads, *found.names, *read_targets(part)), (*found.writes, *written_targets(part))
        return self._shown(reads, part), self._shown(writes, part)

    def _shown(self, words: Iterable[Word], part: Part) -> list[str]:
        paths = ((word, self.paths.of(word, part)) for word in words)
        return [path for word, found in paths for path in ((visible(word.text),) if found is None else found)]

    # what is protected

    def protected_write(self) -> str | None:
        """A path that may not be written unseen and that the line would write."""
        for part in self.line.parts:
            for word in (*self.effect(part).writes, *written_targets(part), *named_outputs(part)):
                for path in self.paths.likely(word, part):
                    if is_protected(path, self.place):
                        return path
        return None

    # what needs no question

    def plainly_looks(self) -> bool:
        """Whether the line is nothing but plain words for a few programs that look: what runs unasked without a cage."""
        if plain_tree(self.line.text) is None or not self._is_clear():
            return False
        return all(part.name in PLAIN_LOOKERS and self._looks(part) is None for part in self.line.parts)

    def looks_exactly(self) -> bool:
        """Whether it is known of every part, to the last word, what it looks at."""
        return self._is_clear() and all(self.effect(part).kind == "looks" for part in self.line.parts)

    def obstacle(self, rules: RuleSet, mode: PermissionMode) -> Obstacle | Covered:
        """The first part that needs a question, or why none does."""
        if not self._is_clear():
            return Obstacle(self.unclear())
        reasons, runs_there = [], False
        for part in self.line.certain_parts:
            covered = self._covered(part, rules, mode)
            if isinstance(covered, Obstacle):
                return covered
            reasons.append(covered)
            runs_there = runs_there or (covered.rule is not None and self._runs_what_is_there(part))
        if self._activated and not runs_there:
            return Obstacle("Activating a virtual environment needs permission: no rule allows a program of it.")
        found = max(reasons, key=_weight, default=Covered("It does nothing."))
        if _weight(found) == 0 and not self.plainly_looks():
            return Obstacle(NO_CAGE if not self.place.cage else NOT_CAGED)
        return found

    def _is_clear(self) -> bool:
        line = self.line
        return line.unparsed is None and not line.doubts and not line.opaque and len(line.text) <= MAX_JUDGED_LENGTH

    def unclear(self) -> str:
        """Why it is not known what the line would do."""
        line = self.line
        if line.unparsed is not None:
            return f"The command cannot be judged: {line.unparsed}."
        if len(line.text) > MAX_JUDGED_LENGTH:
            return f"The command is longer than {MAX_JUDGED_LENGTH:,} characters."
        return f"The command cannot be judged beforehand: {(line.opaque or line.doubts)[0]}."

    def _covered(self, part: Part, rules: RuleSet, mode: PermissionMode) -> Covered | Obstacle:
        found = self._program_covered(part, rules, mode)
        if isinstance(found, Obstacle):
            return found
        missing = self._files_covered(part, rules, mode)
        writes = any(self.paths.of(word, part) for word in written_targets(part))
        if missing is None and writes and found.reason in (ONLY_LOOKS, OPENS):
            return Covered("It only looks, and writes where edits are allowed.", found.rule)
        return missing or found

    def _program_covered(self, part: Part, rules: RuleSet, mode: PermissionMode) -> Covered | Obstacle:
        if not part.words:
            return Covered(OPENS)
        if self._activates(part) is not None:
            return Covered(OPENS)
        missing = self._looks(part)
        rule = self.rule_covering(part, rules.index("allow"))
        if missing is None:
            return Covered(ONLY_LOOKS, None if self.place.cage else rule)
        found = self.effect(part)
        if rule is not None and not (self.place.cage and names_only_a_looker(rule.content or "", part)):
            return self._within(part, found, rules, mode) or Covered(f"The rule {rule} allows it.", rule)
        if mode == "acceptEdits" and found.kind == "edits" and self.changed_by_variable(part) is None:
            return self._within(part, found, rules, mode) or Covered(
                "Mode acceptEdits allows edits inside the working folders."
            )
        return missing

    def _activates(self, part: Part) -> str | None:
        """The folder of programs that `part` puts before all others: that of a virtual environment in the working folders."""
        if part.name not in ("source", ".") or len(part.words) != 2 or not ACTIVATES.fullmatch(part.words[1].text):
            return None
        alone = part.words[1].known and not part.assignments and not part.redirections and not part.wrapped
        found = self.paths.of(part.words[1], part) if alone else None
        return dirname(found[0]) if found and all(self.place.root_of(path) is not None for path in found) else None

    @cached_property
    def _activated(self) -> tuple[str, ...]:
        """The folders of programs of the virtual environments that the line activates."""
        return tuple(folder for folder in map(self._activates, self.line.parts) if folder is not None)

    def _runs_what_is_there(self, part: Part) -> bool:
        """Whether `part` runs what the folder holds anyway: a program of the environment, or one that runs its files."""
        there = (self.place.files.matching(join(folder, part.name)) for folder in self._activated)
        return part.name in RUN_THE_FOLDER or any(there)

    def rule_covering(self, part: Part, index: RuleIndex) -> Rule | None:
        """The rule of `index` that allows the program of `part` and its arguments."""
        if self.tool != "Bash" or not index.commands:
            return None
        if self.changed_by_variable(part) is not None:
            return None
        found = self.effect(part)
        named = self._by_name(part, found)
        forms = (part,) if named is part else (part, named)
        starts = {words[0].text for words in (part.wrapped, *(form.words for form in forms)) if words}
        starts.add(joined(part.words).partition(" ")[0])
        about = index.commands.starting_with(starts)
        return next((rule for content, rule in about if any(allows(content, form, found) for form in forms)), None)

    def _by_name(self, part: Part, found: Effect) -> Part:
        """`.venv/bin/pytest` as `pytest`: a program of a virtual environment in the working folders is what its name says."""
        first = part.words[0]
        in_environment = first.known and IN_ENVIRONMENT.fullmatch(first.text) and may_be_of_environment(part.name)
        if found.kind != "runs" or not in_environment:
            return part
        inside = self._inside((first,), part, writing=True) is None
        renamed = replace(part, words=(Word(part.name), *part.words[1:]), source="")
        return renamed if inside and not looks_by_name(renamed) and effect(renamed).kind == "runs" else part

    def _within(self, part: Part, found: Effect, rules: RuleSet, mode: PermissionMode) -> Obstacle | None:
        """Why a program whose targets are known may not reach them under a rule or mode."""
        if found.kind not in ("edits", "changes", "writes"):
            return None
        edits = rules.index("allow").edits
        written = (word for word in found.writes if found.kind != "writes" or not self._by_rule(word, part, edits))
        missing = self._inside(written, part, writing=True)
        return missing or (self._inside(found.reads, part) if mode == "acceptEdits" else None)

    def changed_by_variable(self, part: Part) -> Obstacle | None:
        """Why a variable that `part` sets may change what runs; None if none can."""
        for assignment in part.assignments:
            if changes_what_runs(assignment.name) and not self._searches_inside(assignment, part):
                return Obstacle(f"`{visible(part.shown)}` sets {assignment.name}, which may change what it does.")
        for word in part.words[1:] if part.name == "unset" else ():
            if word.plain is None or changes_what_runs(word.plain):
                return Obstacle(f"`{visible(part.shown)}` takes away {visible(word.text)}, on which later commands may rely.")
        return None

    def _searches_inside(self, assignment: Assignment, part: Part) -> bool:
        """Whether a search path names working folders only: `PYTHONPATH=src`."""
        value = assignment.value
        if not is_search_path(assignment.name) or value is None or not value.known:
            return False
        folders = [Word(piece or ".") for piece in value.text.split(":")]
        return self._inside(folders, part, writing=True) is None

    def _looks(self, part: Part) -> Obstacle | None:
        """Why `part` is not known to only look inside the working folders; None if it is."""
        shown = visible(part.shown)
        found = self.effect(part)
        if found.kind != "looks":
            return Obstacle(_needs(shown, found))
        if (changed := self.changed_by_variable(part)) is not None:
            return changed
        if (planted := self._planted(part)) is not None:
            return Obstacle(f"`{shown}` would run {planted}, a program of the working folders.", path=planted)
        if found.is_git and (named := self.named_by_repository(part)) is not None:
            return named
        return self._inside((*found.reads, *found.names), part) or (self._linked(found, part) if found.follows else None)

    def _planted(self, part: Part) -> str | None:
        """Where a program lies that would run in the place of the one that is known."""
        names = (word.text for word in (*part.wrapped, *part.words[:1]))
        paths = (join(folder, name) for name in names for folder in (*self.place.programs, *self._activated))
        return next((path for path in paths if self.place.files.matching(path) != ()), None)

    def _linked(self, found: Effect, part: Part) -> Obstacle | None:
        """Why a program that reads through links may not look at a folder: one lies in it."""
        spellings = self.place.files.spellings
        for path in {spellings(path)[0] for word in found.reads for path in self.paths.of(word, part) or ()}:
            if self.place.files.holds(path, lambda entry: spellings(entry) != (entry,)) is not False:
                return Obstacle(f"A link in {path} may lead outside the working folders.", path=path)
        return None

    def named_by_repository(self, part: Part, *, caged: bool = False) -> Obstacle | None:
        """Why a git may run a program of the repository that it looks at; None if it cannot."""
        chosen = git_commands.chosen_folders(part.words)
        folders = self.paths.of(chosen[0], part) if len(chosen) == 1 else None if chosen else self.paths.folders(part)
        if folders is not None and all(self.place.files.git_is_plain(folder, caged=caged) for folder in folders):
            return None
        return Obstacle(f"`{visible(part.shown)}` may run a program that the repository's configuration names.")

    def _inside(self, words: Iterable[Word], part: Part, *, writing: bool = False) -> Obstacle | None:
        """Why not every path is known to lie where it may be read, or written, without a question."""
        within = self.place.root_of if writing else self.place.may_read
        for word in words:
            found = self.paths.of(word, part)
            if found is None:
                return Obstacle(f"It is not known which path {visible(word.text)!r} is.")
            outside = next((path for path in found if not within(path)), None)
            if outside is not None:
                return Obstacle(f"{outside} is outside the working folders.", path=outside)
        return None

    def _files_covered(self, part: Part, rules: RuleSet, mode: PermissionMode) -> Obstacle | None:
        """Redirections: targets are edits, sources are reads."""
        return self._readable(read_targets(part), part, rules) or self._writable(written_targets(part), part, rules, mode)

    def _readable(self, words: Iterable[Word], part: Part, rules: RuleSet) -> Obstacle | None:
        allow = rules.index("allow")
        for word in words:
            missing = self._inside((word,), part)
            if missing and not self._by_rule(word, part, allow.reads):
                return missing
        return None

    def _writable(self, words: Iterable[Word], part: Part, rules: RuleSet, mode: PermissionMode) -> Obstacle | None:
        edits = rules.index("allow").edits
        for word in words:
            if self.paths.of(word, part) == ():
                continue
            if mode == "acceptEdits" and self._inside((word,), part, writing=True) is None:
                continue
            if not self._by_rule(word, part, edits):
                return Obstacle(f"Writing {visible(word.text)} needs permission: no rule and no mode allows that edit.")
        return None

    def file_covered(self, part: Part, index: RuleIndex) -> bool:
        """Whether a rule of `index` allows a file that `part` is fed from or writes to."""
        found = self.effect(part)
        written = (*written_targets(part), *(found.writes if found.kind == "writes" else ()))
        return any(self._by_rule(word, part, index.edits) for word in written) or any(
            self._by_rule(word, part, index.reads) for word in read_targets(part)
        )

    def _by_rule(self, word: Word, part: Part, index: PathRules) -> bool:
        found = self.paths.of(word, part)
        return bool(found) and all(index.covering(path, self.place) for path in found or ())


def _weight(covered: Covered) -> int:
    """Of several parts that may run, the one to speak of: by a rule, by a mode, or because it does nothing."""
    return 2 if covered.rule is not None else int(covered.reason not in (ONLY_LOOKS, OPENS))


def names_only_a_looker(content: str, part: Part) -> bool:
    """Whether a rule says no more than the name of a program that only looks: it allows looking, and that is for the cage."""
    size = name_words(part)
    return size > 0 and "*" in content and len(fixed_words(content)) <= size


def _needs(shown: str, found: Effect) -> str:
    if found.beyond is not None:
        return f"`{shown}` needs permission: {visible(found.beyond.text)!r} is not known to only look."
    return f"`{shown}` needs permission: no rule allows it."


def written_targets(part: Part) -> tuple[Word, ...]:
    return tuple(redirection.target for redirection in part.redirections if redirection.operator != READS_FROM)


def read_targets(part: Part) -> tuple[Word, ...]:
    return tuple(redirection.target for redirection in part.redirections if redirection.operator in (READS_FROM, "<>"))
