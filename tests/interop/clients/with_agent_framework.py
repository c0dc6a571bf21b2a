"""agent-framework-claude holds a conversation; its function tool runs behind a server that it makes itself."""

from typing import Any

from agent_framework_claude import ClaudeAgent
from conversation import BASH_RULE, FIRST, SECOND, Lines, run, settings, weather


async def hold() -> Lines:
    lines: Lines = []

    def get_weather(city: str) -> str:
        """The weather in a city."""
        lines.append(f"tool get_weather {city}")
        return weather(city)

    defaults: Any = settings(allowed_tools=[BASH_RULE])
    async with ClaudeAgent("You are brief.", tools=[get_weather], default_options=defaults) as agent:
        session = agent.create_session()
        async for update in agent.run(FIRST, session=session, stream=True):
            lines += [f"{content.type} {content.text or ''}" for content in update.contents]
        lines.append(f"whole {(await agent.run(SECOND, session=session)).text}")
    return lines


run(hold, list)
