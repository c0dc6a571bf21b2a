"""opentelemetry-claude-agent-sdk traces a conversation with `ClaudeSDKClient` and one with `query()`."""

from conversation import FIRST, options, run, talk_with_client
from opentelemetry.instrumentation.claude_agent_sdk import ClaudeAgentSdkInstrumentor
from spans import ROOT, Spans

spans = Spans()
ClaudeAgentSdkInstrumentor().instrument(tracer_provider=spans.provider, agent_name="forecaster", capture_content=True)

import claude_agent_sdk  # noqa: E402 — after the tracer, as the package's own instructions have it

tracer = spans.provider.get_tracer(__name__)


async def hold() -> int:
    with tracer.start_as_current_span(ROOT) as root:
        await talk_with_client()
        async for _ in claude_agent_sdk.query(prompt=FIRST, options=options()):
            pass
        return root.get_span_context().trace_id


run(hold, spans.lines)
