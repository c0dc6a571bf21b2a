"""ag-ui-claude-sdk holds a conversation: two runs of one thread, every event of the protocol written down."""

import json
from typing import Any

from ag_ui.core import RunAgentInput, UserMessage
from ag_ui_claude_sdk import ClaudeAgentAdapter
from conversation import FIRST, RULES, SECOND, Lines, run, settings, weather_server

UNSTABLE = ("timestamp", "rawEvent", "messageId", "parentMessageId", "type")
COUNTED = ("input_tokens", "output_tokens")
OF_A_RESULT = ("is_error", "num_turns", "total_cost_usd", "structured_output", "api_error_status")


async def hold() -> Lines:
    adapter = ClaudeAgentAdapter(
        name="forecaster", options=settings(mcp_servers={"weather": weather_server()}, allowed_tools=RULES)
    )
    lines: Lines = []
    messages: list[Any] = []
    try:
        for turn, prompt in enumerate((FIRST, SECOND)):
            messages.append(UserMessage(id=f"u{turn}", role="user", content=prompt))
            lines += [event_line(event) async for event in adapter.run(asked(f"r{turn}", messages))]
    finally:
        await adapter.shutdown()
    return lines


def asked(run_id: str, messages: list[Any]) -> RunAgentInput:
    return RunAgentInput(
        thread_id="thread", run_id=run_id, messages=list(messages), state={}, tools=[], context=[], forwarded_props={}
    )


def event_line(event: Any) -> str:
    told = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    kind = told["type"]
    kept = {name: value for name, value in told.items() if name not in UNSTABLE}
    if str(kept.get("name")).startswith("system:"):
        kept = {"name": kept["name"]}
    if kind == "RUN_FINISHED":
        result = kept["result"]
        kept = {name: result.get(name) for name in OF_A_RESULT} | {name: result["usage"].get(name) for name in COUNTED}
    return f"{kind} {json.dumps(kept, sort_keys=True)}"


run(hold, list)
