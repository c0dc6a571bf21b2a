"""Who is measured, with what, how often. No measuring happens here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    script: str
    statement: str
    """What a user of it would import."""
    requirements: tuple[str, ...] = ()
    """Installed into an environment of its own; empty: the environment that runs the benchmark."""
    heavy: bool = False
    """Starts a process per session: fewer sessions, fewer repetitions."""
    slow: bool = False
    """Takes ten times longer than the floor: fewer sessions."""
    env: Mapping[str, str] = field(default_factory=dict)


FLOOR = Contender("floor (httpx2 by hand)", "floor.py", "import asyncio, httpx2, msgspec")
NAMES = "query, tool, create_sdk_mcp_server, ClaudeAgentOptions, ClaudeSDKClient, ResultMessage"
TOOLWRIGHT = Contender("toolwright", "toolwright_local.py", f"from toolwright import {NAMES}")
ONLY_TOOL = Contender(
    "toolwright, tools=[]", "toolwright_local.py", f"from toolwright import {NAMES}", env={"BENCH_OPTIONS": "only-tool"}
)
PUBLISHED = Contender(
    "claude-agent-sdk + its CLI",
    "claude_agent_sdk_published.py",
    f"from claude_agent_sdk import {NAMES}",
    requirements=("claude-agent-sdk==0.2.182",),
    heavy=True,
)
PYDANTIC_AI = Contender(
    "pydantic-ai-slim",
    "pydantic_ai_slim.py",
    "from pydantic_ai import Agent; from pydantic_ai.models.anthropic import AnthropicModel",
    requirements=("pydantic-ai-slim[anthropic]==2.66.0",),
    slow=True,
)
OPENAI_AGENTS = Contender(
    "openai-agents",
    "openai_agents.py",
    "from agents import Agent, Runner, function_tool, OpenAIChatCompletionsModel; from openai import AsyncOpenAI",
    requirements=("openai-agents==0.24.0",),
    slow=True,
)
CONTENDERS = {
    "floor": FLOOR,
    "toolwright": TOOLWRIGHT,
    "only-tool": ONLY_TOOL,
    "sdk": PUBLISHED,
    "pydantic-ai": PYDANTIC_AI,
    "openai-agents": OPENAI_AGENTS,
}
PEERS = ("sdk", "pydantic-ai", "openai-agents")


MAX_SLOW_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str
    sizes: Sizes
    heavy: Sizes
    """The sizes for contenders with a process per session."""
    slow: Sizes = field(default_factory=dict)
    """What differs for slow contenders."""
    only: tuple[str, ...] = ()
    rounds: int = 100
    """At most so many, whatever the run wants."""
    heavy_rounds: int = 2
    env: Mapping[str, str] = field(default_factory=dict)

    def sizes_for(self, contender: Contender) -> Sizes:
        if contender.heavy:
            return self.heavy
        return {**self.sizes, **self.slow} if contender.slow else self.sizes

    def wants(self, key: str, turn: int) -> bool:
        contender = CONTENDERS[key]
        slower = self.heavy_rounds if contender.heavy else MAX_SLOW_ROUNDS if contender.slow else self.rounds
        return turn < min(self.rounds, slower) and (not self.only or key in self.only)


FULL = (
    Experiment("import", {}, {}),
    Experiment("request", {}, {}, rounds=1, env={"BENCH_OPTIONS": "default"}),
    Experiment("start", {"repeats": 20}, {"repeats": 3}),
    Experiment("turn", {"sessions": 20, "turns": 20}, {"sessions": 2, "turns": 20}),
    Experiment("crowd", {"sessions": 100, "turns": 10}, {"sessions": 20, "turns": 5}, heavy_rounds=1),
    Experiment("idle", {"sessions": 1000, "before": 50}, {"sessions": 5, "before": 1}, {"sessions": 300}, rounds=2),
    Experiment("thousand", {"sessions": 1000, "turns": 5}, {}, only=("toolwright",), rounds=1),
    Experiment("growth", {"turns": 1000, "window": 20}, {}, only=("toolwright", "floor"), rounds=3),
)
QUICK = (
    Experiment("import", {}, {}),
    Experiment("request", {}, {}, rounds=1, env={"BENCH_OPTIONS": "default"}),
    Experiment("start", {"repeats": 10}, {"repeats": 1}),
    Experiment("turn", {"sessions": 10, "turns": 20}, {"sessions": 1, "turns": 10}),
    Experiment("crowd", {"sessions": 100, "turns": 5}, {"sessions": 5, "turns": 5}),
    Experiment("idle", {"sessions": 300, "before": 50}, {"sessions": 2, "before": 1}, {"sessions": 50}),
    Experiment("thousand", {"sessions": 1000, "turns": 5}, {}, only=("toolwright",)),
    Experiment("growth", {"turns": 100, "window": 10}, {}, only=("toolwright", "floor")),
)
