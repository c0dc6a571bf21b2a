"""May this line run in the cage? It may if every program in it is known only to look, whatever its arguments turn out to be.

The kernel holds what runs there, so nothing here keeps anything safe. What the cage would surely stop is found here all the
same, because a person who is asked at once is better served than a model whose command fails. And git runs nothing that a
repository brought along, not even there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from toolwright.permissions.path_rules import PathRules
from toolwright.permissions.shell.collectors import shows_put_aside
from toolwright.permissions.shell.command_line import Part, visible
from toolwright.permissions.shell.command_rules import MAX_JUDGED_LENGTH
from toolwright.permissions.shell.lookers import acting_word, looks_by_name, path_words, shows_content
from toolwright.permissions.shell.policy import CommandJudge, Obstacle, read_targets, written_targets

ABOUT_VALUES = re.compile(r".*\bevaluates?\b.*|(?:mapfile|readarray|shopt|hash) changes what later words mean")
"""Reasons of the reader that speak of what variables hold. All others may hide a program, so the line is asked about."""


def obstacle_to_cage(judge: CommandJudge) -> Obstacle | None:
    """Why the line cannot run in the cage, or why a person should rather be asked; None if it can."""
    line = judge.line
    hiding = next((reason for reason in line.opaque if not ABOUT_VALUES.fullmatch(reason)), line.unparsed)
    if hiding is not None or len(line.text) > MAX_JUDGED_LENGTH:
        return Obstacle(judge.unclear())
    for part in line.parts:
        missing = _missing(part, judge)
        if missing is not None:
            return missing
    return None


def _missing(part: Part, judge: CommandJudge) -> Obstacle | None:
    shown = visible(part.shown)
    if not looks_by_name(part, judge.line.functions):
        return Obstacle(f"`{shown}` needs permission: no rule allows it.")
    found = judge.effect(part)
    acting = acting_word(part, found)
    if acting is not None:
        return Obstacle(f"`{shown}` needs permission: {visible(acting.text)!r} is not known to only look.")
    found_first = judge.changed_by_variable(part) or _written(part, judge) or _outside(part, judge)
    return found_first or (judge.named_by_repository(part, caged=True) if part.name == "git" else None)


def _written(part: Part, judge: CommandJudge) -> Obstacle | None:
    written = next((word for word in written_targets(part) if judge.paths.of(word, part) != ()), None)
    if written is None:
        return None
    return Obstacle(f"Writing {visible(written.text)} needs permission: no rule and no mode allows that edit.")


def _outside(part: Part, judge: CommandJudge) -> Obstacle | None:
    for word in (*path_words(part, judge.effect(part)), *read_targets(part)):
        for path in judge.paths.of(word, part) or ():
            if not judge.place.may_read(path):
                return Obstacle(f"{path} is outside the working folders.", path=path)
    return None


def shows_kept(judge: CommandJudge, hidden: PathRules) -> bool:
    """Whether git may show what it keeps of a file that a rule hides: the cage hides the file, not the repository."""
    covers = hidden.tester(judge.place)
    return any(_shows_kept(part, judge, covers) for part in judge.line.parts)


def _shows_kept(part: Part, judge: CommandJudge, covers: Callable[[str], bool]) -> bool:
    return shows_put_aside(part) or (shows_content(part, judge.effect(part)) and judge.tracks(part, covers))
