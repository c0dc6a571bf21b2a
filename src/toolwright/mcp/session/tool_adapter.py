"""A tool server's tools as tools of the runtime: their names, and their results in the shape that models take.

The name of a served tool is `mcp__<server>__<tool>`, the server's part being the key under which it was given. Both parts keep
`A-Z a-z 0-9 _ -`; anything else becomes `_`, nothing else changes, so that rules written for the given name match. Where the
server's part ends cannot be told from such a name (`a` may have a tool `b__c`, `a__b` a tool `c`), therefore a tool knows its
server's rule, and an allow rule for one server does not cover another. Two servers with the same part are refused; of two tools
with the same name, the later one. A name that is too long for a model carries a digest. Does not know who may call what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from toolwright.mcp.author.annotations import RESULT_SIZE_META
from toolwright.mcp.session.large_results import keep_binaries, keep_large
from toolwright.mcp.session.result_blocks import tool_output
from toolwright.tools.base import Effects, InvalidInput, ToolContext, ToolOutput

if TYPE_CHECKING:
    from toolwright.mcp.client.server_connection import ExternalServer
    from toolwright.mcp.tool_server import ServedTool, ToolServer
    from toolwright.tools.base import Tool
    from toolwright.workspace import Workspace

PREFIX = "mcp__"
NEEDS_A_PERSON = "anthropic/requiresUserInteraction"
"""With this in its `_meta` a tool says that every call of it is to be put to a person."""
REDEFINED = (
    "{name} needs permission again: its server has changed what it is (description, input or annotations) since it was allowed."
)
MAX_WANTED_LENGTH = 500_000
"""The most characters of result that a tool may ask to be let through."""
MAX_NAME_LENGTH = 64
"""The shortest limit among the models' APIs."""
_MAX_SERVER_PART_LENGTH = 48
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
        has_rule: bool = True,
    ) -> None:
        """Without `has_rule` no allow rule about a whole server is about this one: another has the same name in rules."""
        self.server = server
        self.tool = tool
        self.server_name = server.name if server_name is None else server_name
        """The name under which the server was given (the key in `mcp_servers`)."""
        prefix = server_prefix(self.server_name) if prefix is None else prefix
        self.name = name or sanitized_name(prefix, tool.name)
        self.server_rule = (prefix.removesuffix("__") or None) if has_rule else ""
        """The name of a permission rule about the whole server; None for a function given directly."""

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
        limit = max(context.longest_served, min(self.longest_result or 0, MAX_WANTED_LENGTH))
        return await keep_large(output, limit, context.workspace)


def external_of(server: ToolServer) -> ExternalServer | None:
    """`server`, if it is one outside of this process."""
    from toolwright.mcp.client.server_connection import ExternalServer  # only sessions that have servers come here

    return server if isinstance(server, ExternalServer) else None


def server_prefix(server_name: str) -> str:
    """`mcp__<server>__` with the key as it was given, illegal characters replaced."""
    part = _OTHER_CHARACTERS.sub("_", server_name)
    if not part or len(part) > _MAX_SERVER_PART_LENGTH:
        part = f"{part[: _MAX_SERVER_PART_LENGTH - _DIGEST - 1] or 'server'}-{_digest(server_name)}"
    return f"mcp__{part}__"


def adapt_tools(
    server_name: str, server: ToolServer, tools: Sequence[ServedTool], *, has_rule: bool = True
) -> list[ServedToolAdapter]:
    """One server's tools. Two of them may have the same name: see `first_of_each_name`."""
    if len({tool.name for tool in tools}) < len(tools):
        raise ValueError(f"the MCP server {server_name!r} lists a tool twice; each needs a name of its own")
    return [ServedToolAdapter(server, tool, server_name=server_name, has_rule=has_rule) for tool in tools]


def first_of_each_name(tools: Iterable[Tool], refuse: Callable[[str], None], *, taken: Iterable[Tool] = ()) -> list[Tool]:
    """`tools` without those whose name an earlier one or one of `taken` has; `refuse` is given a sentence about each."""
    by_name = {tool.name: tool for tool in taken}
    first = []
    for tool in tools:
        earlier = by_name.setdefault(tool.name, tool)
        if earlier is tool:
            first.append(tool)
        else:
            refuse(_refusal(tool, earlier))
    return first


def _refusal(tool: Tool, earlier: Tool) -> str:
    assert isinstance(tool, ServedToolAdapter)
    owner = f"the tool {earlier.tool.name!r} of {earlier.server_name!r}" if isinstance(earlier, ServedToolAdapter) else "a tool"
    return (
        f"MCP server {tool.server_name!r}: its tool {tool.tool.name!r} is left out, because {owner} before it is already "
        f"named {tool.name}; rename one of them"
    )


def earlier_with_its_prefix(server_name: str, names: Iterable[str]) -> str | None:
    """The first of `names`, in their order, whose tools are named as those of `server_name` are; None if that is itself."""
    first = next(name for name in names if server_prefix(name) == server_prefix(server_name))
    return None if first == server_name else first


def no_rule_of_its_own(server_name: str, earlier: str) -> str:
    rule = server_prefix(server_name).removesuffix("__")
    return (
        f"MCP server {server_name!r}: its tools are named {rule}__… like those of {earlier!r} before it; allow rules about "
        f"{rule} as a whole are about {earlier!r}, so its own tools need rules with their full names, or another key"
    )


def tool_name(server_name: str, tool: str) -> str:
    """The name of a server's tool."""
    return sanitized_name(server_prefix(server_name), tool)


def sanitized_name(prefix: str, tool_name: str) -> str:
    name = prefix + _OTHER_CHARACTERS.sub("_", tool_name)
    return name if tool_name and len(name) <= MAX_NAME_LENGTH else _with_digest(name, tool_name)


def _with_digest(name: str, original: str) -> str:
    return f"{name[: MAX_NAME_LENGTH - _DIGEST - 1]}-{_digest(original)}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
