"""The conversation that every client holds, many times over, and how it is printed: as lines that can be compared.

Each client is a program of its own, because tracers change a whole process. Which runtime it talks to is not its business: the
test says so by `CLIENT_COMMAND` (the command that the SDK starts) or by running it under our package's names.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

MODEL = "claude-sonnet-4-5"
COMMAND = os.environ.get("CLIENT_COMMAND")
FIRST, SECOND = "What is the weather in Oslo?", "Thank you."
"""The first prompt makes the model call Bash and then a Python tool; the second gets a plain answer."""
BASH_RULE = "Bash(echo:*)"
RULES = [BASH_RULE, "mcp__weather__get_weather"]

Lines = list[str]


def settings(**more: Any) -> dict[str, Any]:
    """Options for any client: the model behind the test's server, and nothing from settings."""
    return {"model": MODEL, "setting_sources": [], **({"cli_path": COMMAND} if COMMAND else {}), **more}


def weather(city: str) -> str:
    return f"Sunny in {city}."


def weather_server() -> Any:
    from claude_agent_sdk import create_sdk_mcp_server, tool

    @tool("get_weather", "The weather in a city", {"city": str})
    async def get_weather(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": weather(given["city"])}]}

    return create_sdk_mcp_server("weather", tools=[get_weather])


def options() -> Any:
    from claude_agent_sdk import ClaudeAgentOptions

    return ClaudeAgentOptions(**settings(cwd=os.getcwd(), mcp_servers={"weather": weather_server()}, allowed_tools=RULES))


async def talk_with_client() -> None:
    """Two turns with `ClaudeSDKClient`, every message read."""
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options()) as client:
        for prompt in (FIRST, SECOND):
            await client.query(prompt)
            async for _ in client.receive_response():
                pass


def run(hold: Callable[[], Awaitable[Any]], lines_of: Callable[[Any], Lines], *, at_once: int = 3) -> None:
    """Hold the conversation as often as the first argument says, the last few at once; print the lines of each as JSON."""
    asyncio.run(run_all(hold, lines_of, int(sys.argv[1]), at_once))


async def run_all(hold: Callable[[], Awaitable[Any]], lines_of: Callable[[Any], Lines], times: int, at_once: int) -> None:
    together = min(at_once, times // 2)
    held = [await hold() for _ in range(times - together)]
    held += await asyncio.gather(*(hold() for _ in range(together)))
    print(json.dumps([[plain(line) for line in lines_of(one)] for one in held]))


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def plain(line: str) -> str:
    return UUID.sub("UUID", line).replace(os.getcwd(), "FOLDER")


def attribute_lines(where: str, attributes: Iterable[tuple[str, Any]], without: Iterable[str] = ()) -> Lines:
    """`where name=value`, sorted; of those in `without` (times, ids of a process) only that they are there."""
    hidden = tuple(without)
    return sorted(f"{where} {name}={'…' if name in hidden else as_text(value)}" for name, value in attributes)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
