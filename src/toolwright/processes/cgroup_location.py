"""Where this process may make cgroups: below its own group, or below one that was handed to it. Reads, never changes.

A command never leaves the group this process is in for one beside it: limits that somebody put upon us would not hold for it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache

from msgspec import Struct

_DELEGATED = ("user.delegate", "trusted.delegate")


class CgroupLocation(Struct, frozen=True):
    """A folder in which groups can be made, and what those can limit."""

    path: str
    version: int
    limits_memory: bool
    memory_path: str = ""
    """The folder in the tree of the memory controller, where that is another tree (version 1)."""


class _Mount(Struct, frozen=True):
    root: str
    point: str
    kind: str
    options: frozenset[str]


@cache
def find_place() -> CgroupLocation | None:
    """The place on this machine; None if there is none, or none that we may write to."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            mounts = file.read()
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            memberships = file.read()
    except OSError:
        return None
    return choose_place(mounts, memberships)


def choose_place(mountinfo: str, memberships: str) -> CgroupLocation | None:
    """The place that the texts of /proc/self/mountinfo and /proc/self/cgroup lead to."""
    mounts = _cgroup_mounts(mountinfo)
    return _unified_place(mounts, memberships) or _old_place(mounts, memberships)


def _unified_place(mounts: list[_Mount], memberships: str) -> CgroupLocation | None:
    """Version 2: only a group that hands the controller on to those below can be used, and those hold no processes, except
    the root. So a service that wants limits for its commands is given a group of its own below a delegated one."""
    own = _own_folder([mount for mount in mounts if mount.kind == "cgroup2"], memberships, controller="")
    if own is None:
        return None
    parent = os.path.dirname(own)
    for folder in (own, parent if _is_delegated(parent) else None):
        controllers = _words(f"{folder}/cgroup.subtree_control") if folder else frozenset()
        if folder and "pids" in controllers and _is_ours(folder):
            return CgroupLocation(folder, 2, "memory" in controllers)
    return None


def _old_place(mounts: list[_Mount], memberships: str) -> CgroupLocation | None:
    """Version 1: a tree for pids and, mostly, another for memory; each may be ours or not."""
    own, memory = (_old_folder(mounts, memberships, controller) for controller in ("pids", "memory"))
    if own is None:
        return None
    return CgroupLocation(own, 1, memory is not None, memory if memory is not None and memory != own else "")


def _old_folder(mounts: list[_Mount], memberships: str, controller: str) -> str | None:
    trees = [mount for mount in mounts if mount.kind == "cgroup" and controller in mount.options]
    own = _own_folder(trees, memberships, controller=controller)
    return own if own is not None and _is_ours(own) else None


def _cgroup_mounts(mountinfo: str) -> list[_Mount]:
    mounts = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind_and_options = left.split(" "), right.split(" ")
        if len(fields) > 4 and len(kind_and_options) > 2 and kind_and_options[0] in ("cgroup", "cgroup2"):
            mounts.append(_Mount(fields[3], fields[4], kind_and_options[0], frozenset(kind_and_options[2].split(","))))
    return mounts


def _own_folder(mounts: list[_Mount], memberships: str, *, controller: str) -> str | None:
    for line in memberships.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controller in controllers.split(","):
            return next((folder for mount in mounts if (folder := _below(mount, group)) is not None), None)
    return None


def _below(mount: _Mount, group: str) -> str | None:
    """Where a mount shows a group; None if it does not show it."""
    root = mount.root.rstrip("/")
    if ".." in group.split("/") or not (group + "/").startswith(root + "/"):
        return None
    folder = (mount.point + group[len(root) :]).rstrip("/")
    return folder if os.path.isdir(folder) else None


def _is_ours(folder: str) -> bool:
    return os.access(folder, os.W_OK) and os.access(f"{folder}/cgroup.procs", os.W_OK)


def _is_delegated(folder: str) -> bool:
    """Whether the service manager says that everything below is for the service to arrange."""
    for name in _DELEGATED:
        with suppress(OSError, AttributeError):  # no such attribute; no such function off Linux
            return os.getxattr(folder, name) == b"1"
    return False


def _words(path: str) -> frozenset[str]:
    try:
        with open(path, "rb") as file:
            return frozenset(file.read().decode(errors="replace").split())
    except OSError:
        return frozenset()
