"""What the gate is told of a call: the tool's effects as facts.

One function, so that whoever judges a call judges the same one: the session before it runs, the condition of a hook, and
`toolwright permissions explain`.
"""

from __future__ import annotations

from collections.abc import Collection
from os.path import join, normpath
from typing import TYPE_CHECKING, Any

from toolwright.permissions import PermissionCall
from toolwright.tools.base import BuiltinTool
from toolwright.tools.registry import OF_OWN_SHELLS, OF_THE_SESSION

if TYPE_CHECKING:
    from toolwright.tools.base import Effects, Tool

FILE_FIELDS = ("file_path", "notebook_path")
"""The fields of built-in tools that name the file a call is about."""
OF_ITS_OWN = OF_OWN_SHELLS | OF_THE_SESSION
"""Tools that touch nothing but what the session itself made."""


def call_facts(
    tool: Tool, judged: dict[str, Any], effects: Effects, *, preapproved: Collection[str] = OF_ITS_OWN
) -> PermissionCall:
    """The facts of a call with the input `judged` that would have these effects. `preapproved` names tools."""
    return PermissionCall(
        name=tool.name,
        input=judged,
        reads=effects.reads,
        writes=effects.writes,
        opens=effects.opens,
        searches=effects.searches,
        command=effects.command,
        cwd=effects.cwd,
        hosts=effects.hosts,
        read_only=tool.read_only or tool.name in OF_THE_SESSION,
        is_mcp=tool.name.startswith("mcp__"),
        server=getattr(tool, "server_rule", None),
        preapproved=tool.name in preapproved,
        sandboxed=effects.sandboxed,
        stopped_in_cage=effects.stopped_in_cage,
        must_ask=effects.must_ask,
        no_longer_approved=effects.no_longer_approved,
    )


def judged_input(tool: Tool, raw: dict[str, Any], cwd: str) -> dict[str, Any]:
    """The input as hooks and people see it and as it runs: fields under their own names, the path of a file absolute.

    Only for built-in tools: what a field of any other tool means is not known here.
    """
    if not isinstance(tool, BuiltinTool):
        return raw
    named = tool.renamed(raw)
    for field in FILE_FIELDS:
        path = named.get(field)
        if isinstance(path, str) and path:
            named[field] = normpath(join(cwd, path))
    return named
