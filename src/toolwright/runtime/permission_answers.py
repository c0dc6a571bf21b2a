"""Permission answers that come as JSON: from the other side of a wire, or from a tool that is asked in a person's place.

One that cannot be understood denies the call. Knows no rules: what an answer may change is the gate's to say.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolwright.mcp.session.tool_adapter import ServedToolAdapter
from toolwright.types import (
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)

if TYPE_CHECKING:
    from toolwright.mcp.session.toolbox import Toolbox

NOT_UNDERSTOOD = "The permission answer was not understood; the call was not run."


def permission_result(answer: dict[str, Any]) -> PermissionResult:
    """The other side's answer to a permission question; one that cannot be understood denies."""
    if answer.get("behavior") == "allow":
        updates = answer.get("updatedPermissions")
        return PermissionResultAllow(
            updated_input=answer.get("updatedInput"),
            updated_permissions=[PermissionUpdate.from_dict(update) for update in updates] if updates else None,
        )
    message = answer.get("message")
    return PermissionResultDeny(
        message=message if isinstance(message, str) else NOT_UNDERSTOOD,
        interrupt=answer.get("interrupt") is True,
    )


class PromptTool:
    """The tool of a server that `permission_prompt_tool_name` names: it is asked about every call that needs a yes.

    It is given `tool_name`, `input` and `tool_use_id`, and answers with a text that is JSON: `{"behavior": "allow"}`, with
    `updatedInput` if the call is to be another one, or `{"behavior": "deny", "message": …}`. It decides about one call: rules
    that it sends along are not taken.
    """

    def __init__(self, name: str, toolbox: Toolbox) -> None:
        self._name = name
        self._toolbox = toolbox

    async def ask(self, name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        tool = self._toolbox.tools.get(self._name)
        if not isinstance(tool, ServedToolAdapter):
            return PermissionResultDeny(message=f"The call was not run: the permission prompt tool {self._name} is not there.")
        asked = {"tool_name": name, "input": tool_input, "tool_use_id": context.tool_use_id}
        result = await tool.server.call_tool(tool.tool.name, asked, tool_use_id=context.tool_use_id or "")
        text = "".join(str(block.get("text", "")) for block in result.get("content") or ())
        if result.get("isError"):
            return PermissionResultDeny(
                message=f"The call was not run: the permission prompt tool {self._name} failed: {text[:2000]}"
            )
        return permission_result({**answer_in(text), "updatedPermissions": None})


def answer_in(text: str) -> dict[str, Any]:
    """The JSON object that a text is; an empty one if it is none."""
    try:
        answer = json.loads(text)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
