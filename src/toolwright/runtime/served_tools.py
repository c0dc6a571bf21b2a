"""A tool server's tools as tools of the runtime: their names, and their results in the shape that models take.

The name of a served tool is `mcp__<server>__<tool>`. Both parts keep only `A-Z a-z 0-9 _ -` (anything else becomes `_`); a
server's part has no `__` inside and no `_` at its ends, so the first `__` after `mcp__` always ends the server's part, and a
permission rule for one server cannot cover another. Two servers with the same part are refused. A tool whose name is too long
for a model, or taken by its neighbour, carries a digest of its own name. Does not know who may call what.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from toolwright.mcp.annotations import RESULT_SIZE_META
from toolwright.runtime.kept_results import keep_binaries, keep_large
from toolwright.runtime.served_results import tool_output
from toolwright.tools.base import Effects, InvalidInput, ToolContext, ToolOutput
from toolwright.types import OptionsError

if TYPE_CHECKING:
    from toolwright.mcp.base import ServedTool, ToolServer
    from toolwright.mcp.external import ExternalServer
    from toolwright.workspace import Workspace

PREFIX = "mcp__"
NEEDS_A_PERSON = "anthropic/requiresUserInteraction"
"""With this in its `_meta` a tool says that every call of it is to be put to a person."""
REDEFINED = (
    "{name} needs permission again: its server has changed what it is (description, input or annotations) since it was allowed."
)
LONGEST_WANTED = 500_000
"""The most characters of result that a tool may ask to be let through."""
LONGEST_NAME = 64
"""The shortest limit among the models' APIs."""
_LONGEST_SERVER_PART = 40
_DIGEST = 8
_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")


class ServedToolAdapter:
    """One tool of a server, as the runtime sees it. With `prefix=""` it has its own bare name: a function given directly."""

    def __init__(
        self,
        server: ToolServer,
        tool: ServedTool,
        *,
        server_name: str | None = None,
        prefix: str | None = None,
        name: str | None = None,
    ) -> None:
        self.server = server
        self.tool = tool
        self.server_name = server.name if server_name is None else server_name
        """The name under which the server was given (the key in `mcp_servers`)."""
        self.name = name or sanitized_name(server_prefix(self.server_name) if prefix is None else prefix, tool.name)

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def input_schema(self) -> dict[str, Any]:
        return self.tool.input_schema

    @property
    def read_only(self) -> bool:
        return self.tool.annotations.get("readOnlyHint") is True

    @property
    def longest_result(self) -> int | None:
        """How many characters of result the tool itself wants to be let through, if it says."""
        size = self.tool.meta.get(RESULT_SIZE_META)
        return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None

    def parse(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Only that it is an object: the server knows its schema and validates."""
        if not isinstance(raw, dict):
            raise InvalidInput(f"the input must be an object, not {type(raw).__name__}")
        return raw

    def effects(self, parsed: Any, workspace: Workspace) -> Effects:
        changed = REDEFINED.format(name=self.name) if self._is_redefined() else ""
        return Effects(must_ask=self.tool.meta.get(NEEDS_A_PERSON) is True, no_longer_approved=changed)

    def _is_redefined(self) -> bool:
        server = external_of(self.server)
        return server is not None and server.config is not None and server.definitions.has_changed(self.tool)

    async def run(self, parsed: dict[str, Any], context: ToolContext) -> ToolOutput:
        server = external_of(self.server)
        if server is not None:
            server.definitions.agree(self.tool)  # who lets it run has seen it as it is now
        result = await self.server.call_tool(self.tool.name, parsed, tool_use_id=context.tool_use_id)
        if not self.name.startswith(PREFIX):
            return tool_output(result)
        is_external = server is not None and server.config is not None
        saved = await keep_binaries(result, context.workspace)
        output = tool_output(result, saved=saved, structured_first=is_external)
        limit = max(context.longest_served, min(self.longest_result or 0, LONGEST_WANTED))
        return await keep_large(output, limit, context.workspace)


def external_of(server: ToolServer) -> ExternalServer | None:
    """`server`, if it is one outside of this process."""
    from toolwright.mcp.external import ExternalServer  # only sessions that have servers come here

    return server if isinstance(server, ExternalServer) else None


def server_prefix(server_name: str) -> str:
    """`mcp__<server>__`, in which the server's part can be told from the tool's."""
    part = re.sub(r"_{2,}", "_", _OTHER_CHARACTERS.sub("_", server_name)).strip("_")
    if not part or len(part) > _LONGEST_SERVER_PART:
        part = f"{part[: _LONGEST_SERVER_PART - _DIGEST - 1].strip('_') or 'server'}-{_digest(server_name)}"
    return f"mcp__{part}__"


def adapt_tools(server_name: str, server: ToolServer, tools: Sequence[ServedTool]) -> list[ServedToolAdapter]:
    """One server's tools, each with a name of its own. A name that needs no change always keeps it."""
    prefix = server_prefix(server_name)
    taken = {prefix + tool.name for tool in tools}
    if len(taken) < len(tools):
        raise ValueError(f"the MCP server {server_name!r} lists a tool twice; each needs a name of its own")
    adapted = []
    for tool in tools:
        name = sanitized_name(prefix, tool.name)
        if name != prefix + tool.name and name in taken:
            name = _with_digest(name, tool.name)
        taken.add(name)
        adapted.append(ServedToolAdapter(server, tool, server_name=server_name, name=name))
    return adapted


def check_prefixes(servers: Mapping[str, ToolServer]) -> None:
    taken: dict[str, str] = {}
    for name in servers:
        other = taken.setdefault(server_prefix(name), name)
        if other != name:
            raise OptionsError(
                f"the MCP servers {other!r} and {name!r} would both have tools named {server_prefix(name)}…; rename one of them"
            )


def tool_name(server_name: str, tool: str) -> str:
    """The name of a server's tool, apart from the rare one that had to give way to a neighbour's."""
    return sanitized_name(server_prefix(server_name), tool)


def sanitized_name(prefix: str, tool_name: str) -> str:
    name = prefix + _OTHER_CHARACTERS.sub("_", tool_name)
    return name if tool_name and len(name) <= LONGEST_NAME else _with_digest(name, tool_name)


def _with_digest(name: str, original: str) -> str:
    return f"{name[: LONGEST_NAME - _DIGEST - 1]}-{_digest(original)}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
