"""The built-in tools and the names they answer to."""

from __future__ import annotations

from functools import cache

from toolwright.tools.base import Tool

ALIASES = {
    "FileRead": "Read",
    "FileWrite": "Write",
    "FileEdit": "Edit",
    "Task": "Agent",
    "TaskOutput": "BashOutput",
    "TaskStop": "KillShell",
    "KillBash": "KillShell",
    "ListMcpResources": "ListMcpResourcesTool",
    "ReadMcpResource": "ReadMcpResourceTool",
}
"""Other names of tools that are accepted in options, rules and calls: alias → canonical name."""

OF_OWN_SHELLS = frozenset({"BashOutput", "KillShell"})
"""Tools that only look at or end commands which this session was allowed to start: they need no permission of their own."""


OF_THE_SESSION = frozenset({"TodoWrite", "EnterPlanMode", "ToolSearch", "ListMcpResourcesTool"})
"""Tools that touch nothing but the session's own standing, and make it no looser: they need no permission in any mode."""


def canonical_name(name: str) -> str:
    """The name a tool goes by; a name that is no alias is returned as it is."""
    return ALIASES.get(name, name)


@cache
def builtin_tools() -> tuple[Tool, ...]:
    """One instance of each built-in tool; they keep no state, so all sessions share them."""
    # Imported when first asked for: a program that only uses its own tools never loads these.
    from toolwright.tools.bash import Bash
    from toolwright.tools.bash_output import BashOutput
    from toolwright.tools.edit import Edit
    from toolwright.tools.glob import Glob
    from toolwright.tools.grep import Grep
    from toolwright.tools.kill_shell import KillShell
    from toolwright.tools.ls import LS
    from toolwright.tools.multi_edit import MultiEdit
    from toolwright.tools.notebook_edit import NotebookEdit
    from toolwright.tools.notebook_read import NotebookRead
    from toolwright.tools.read import Read
    from toolwright.tools.todo_write import TodoWrite
    from toolwright.tools.write import Write

    return (
        Read(),
        Write(),
        Edit(),
        MultiEdit(),
        NotebookRead(),
        NotebookEdit(),
        LS(),
        Glob(),
        Grep(),
        Bash(),
        BashOutput(),
        KillShell(),
        TodoWrite(),
    )


@cache
def tools_with_a_person() -> tuple[Tool, ...]:
    """The built-in tools that need somebody who answers: offered where there is one, or where they are named."""
    from toolwright.tools.ask_user_question import AskUserQuestion
    from toolwright.tools.enter_plan_mode import EnterPlanMode
    from toolwright.tools.exit_plan_mode import ExitPlanMode

    return (AskUserQuestion(), EnterPlanMode(), ExitPlanMode())
