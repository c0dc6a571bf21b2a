"""Which tools a session offers of its own: the built-in ones that `tools` names, Python functions, structured output."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from toolwright.mcp.session.tool_adapter import ServedToolAdapter
from toolwright.runtime.structured_output import StructuredOutput
from toolwright.tools.registry import builtin_tools, canonical_name, tools_with_a_person
from toolwright.types import ClaudeAgentOptions, OptionsError

if TYPE_CHECKING:
    from toolwright.tools.base import Tool


def chosen_builtins(options: ClaudeAgentOptions, *, can_ask: bool) -> tuple[Tool, ...]:
    """The built-in tools that the model sees: all that can work here, or those that `tools` names."""
    offered = (*builtin_tools(), *(tools_with_a_person() if can_ask else ()))
    if options.tools is None or isinstance(options.tools, Mapping):
        return offered
    names = [name for entry in options.tools if isinstance(entry, str) for name in entry.split(",") if name.strip()]
    if "default" in names:
        return offered
    by_name = {tool.name: tool for tool in (*builtin_tools(), *tools_with_a_person())}
    wanted = [canonical_name(name.strip()) for name in names]
    missing = [name for name in wanted if name not in by_name]
    if missing:
        known = ", ".join(by_name)
        raise OptionsError(f"tools: there is no built-in tool {', '.join(missing)} in this version; there are {known}")
    return tuple(by_name[name] for name in dict.fromkeys(wanted))


def own_functions(options: ClaudeAgentOptions) -> tuple[Tool, ...]:
    """Python functions given in `tools`, each under its own name."""
    if options.tools is None or isinstance(options.tools, Mapping):
        return ()
    given: tuple[Any, ...] = tuple(entry for entry in options.tools if not isinstance(entry, str))
    if not given:
        return ()
    shareable = all(isinstance(function, Hashable) for function in given)
    try:
        return shared_function_tools(*given) if shareable else function_tools(*given)
    except (TypeError, ValueError) as error:
        raise OptionsError(f"tools: {error}") from None


def function_tools(*given: Any) -> tuple[Tool, ...]:
    from toolwright.mcp.author.server import InProcessServer  # reads signatures: for sessions that are given functions

    server = InProcessServer("functions", tools=given)
    return tuple(ServedToolAdapter(server, served, prefix="") for served in server.tools)


shared_function_tools = lru_cache(maxsize=64)(function_tools)
"""Sessions with the same functions share their tools: reading signatures costs more than starting a session."""


def structured_output(options: ClaudeAgentOptions) -> StructuredOutput | None:
    return StructuredOutput(options.output_format["schema"]) if options.output_format else None


class Offered(Struct, frozen=True):
    """The tools of a session's own."""

    builtins: tuple[Tool, ...]
    functions: tuple[Tool, ...]
    structured: StructuredOutput | None

    @property
    def given(self) -> tuple[Tool, ...]:
        """Those that the caller brings."""
        return (*self.functions, *((self.structured,) if self.structured is not None else ()))


def offered_tools(options: ClaudeAgentOptions, *, can_ask: bool) -> Offered:
    return Offered(chosen_builtins(options, can_ask=can_ask), own_functions(options), structured_output(options))
