"""Short ways to write a permission question in a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from glob import glob
from typing import TypedDict, Unpack

from msgspec.structs import replace

from toolwright.permissions import Decision, PermissionCall, RuleSet, SessionFolders, decide
from toolwright.permissions.shell.command_walker import read_command
from toolwright.types import PermissionMode

PLACE = SessionFolders("/work/app", ("/work/lib",), "/home/ada")


class RuleTexts(TypedDict, total=False):
    allow: Sequence[str]
    ask: Sequence[str]
    deny: Sequence[str]


def judge(
    call: PermissionCall,
    mode: PermissionMode = "default",
    place: SessionFolders = PLACE,
    *,
    cage: bool = False,
    **rules: Unpack[RuleTexts],
) -> Decision:
    here = replace(place, cage=True) if cage else place
    return decide(call, rules=RuleSet.parse(**rules), mode=mode, place=here)


def strictly(command: str, place: SessionFolders = PLACE) -> str:
    """The answer where there is no cage to hold `command`: it stands beside a program that a rule allows, so every word of it
    has to be known.
    """
    return judge(bash(f"approved; {command}"), place=place, allow=["Bash(approved)"]).behavior


def read(path: str) -> PermissionCall:
    return PermissionCall("Read", {"file_path": path}, reads=(path,), read_only=True)


def write(path: str) -> PermissionCall:
    return PermissionCall("Write", {"file_path": path}, writes=(path,))


def bash(command: str) -> PermissionCall:
    return PermissionCall("Bash", {"command": command}, command=command, line=read_command(command))


def mcp(name: str, **values: object) -> PermissionCall:
    return PermissionCall(name, values, is_mcp=True)


class KnownFiles:
    """A machine without links, without matches for patterns, with plain repositories only."""

    def spellings(self, path: str) -> tuple[str, ...]:
        return (path,)

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        return ()

    def holds(self, folder: str, covers: Callable[[str], bool]) -> bool | None:
        return False

    def git_is_plain(self, folder: str, *, caged: bool = False) -> bool:
        return True

    def git_tracks(self, folder: str, covers: Callable[[str], bool]) -> bool:
        return False


class RealFiles(KnownFiles):
    """What patterns match on the disk of this machine, still without links."""

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        return tuple(sorted(glob(pattern)))


KNOWN_FILES = KnownFiles()
