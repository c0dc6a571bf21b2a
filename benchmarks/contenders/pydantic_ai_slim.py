"""pydantic-ai-slim with its Anthropic model: streamed runs of one agent, the history handed on from run to run."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import experiments
from pydantic_ai import Agent, AgentRunResultEvent, UsageLimits
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider


class Conversation:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.history: list[Any] = []

    async def ask(self, prompt: str) -> str:
        text = ""
        limits = UsageLimits(request_limit=None)
        async with self.agent.run_stream_events(prompt, message_history=self.history, usage_limits=limits) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    self.history = event.result.all_messages()
                    text = event.result.output
        return text

    async def close(self) -> None:
        self.history = []


@asynccontextmanager
async def connect() -> AsyncIterator[experiments.Opener]:
    provider = AnthropicProvider(base_url=os.environ["ANTHROPIC_BASE_URL"], api_key="benchmark")
    agent = Agent(AnthropicModel("claude-sonnet-4-5", provider=provider))
    agent.tool_plain(experiments.add)

    async def open_session() -> Conversation:
        return Conversation(agent)

    yield open_session


if __name__ == "__main__":
    experiments.main(connect)
