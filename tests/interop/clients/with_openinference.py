"""openinference-instrumentation-claude-agent-sdk traces a conversation with `ClaudeSDKClient`."""

from conversation import run, talk_with_client
from openinference.instrumentation.claude_agent_sdk import ClaudeAgentSDKInstrumentor
from spans import ROOT, Spans

spans = Spans()
ClaudeAgentSDKInstrumentor().instrument(tracer_provider=spans.provider)
tracer = spans.provider.get_tracer(__name__)


async def hold() -> int:
    with tracer.start_as_current_span(ROOT) as root:
        await talk_with_client()
        return root.get_span_context().trace_id


run(hold, spans.lines)
