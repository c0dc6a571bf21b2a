"""openai-agents on the chat completions API: streamed runs of one agent, the history handed on from run to run."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import experiments
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI


class Conversation:
    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.history: list[Any] = []

    async def ask(self, prompt: str) -> str:
        self.history.append({"role": "user", "content": prompt})
        run = Runner.run_streamed(self.agent, self.history, max_turns=10_000)
        async for _ in run.stream_events():
            pass
        self.history = run.to_input_list()
        return run.final_output

    async def close(self) -> None:
        self.history = []


@asynccontextmanager
async def connect() -> AsyncIterator[experiments.Opener]:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=os.environ["ANTHROPIC_BASE_URL"] + "/v1", api_key="benchmark")
    model = OpenAIChatCompletionsModel("scripted", client)
    agent = Agent("bench", model=model, tools=[function_tool(experiments.add)])

    async def open_session() -> Conversation:
        return Conversation(agent)

    yield open_session


if __name__ == "__main__":
    experiments.main(connect)
