"""logfire traces a conversation with `ClaudeSDKClient`. It keeps to one at a time: it knows of one conversation in a thread."""

import logfire
from conversation import Lines, run, talk_with_client
from spans import ROOT, Spans

spans = Spans()
logfire.configure(send_to_logfire=False, console=False, distributed_tracing=True, additional_span_processors=[spans.processor])
logfire.instrument_claude_agent_sdk()

OF_THIS_RUN = ("code.lineno", "duration_ms", "jsonrpc.request.id")


async def hold() -> int:
    with logfire.span(ROOT) as root:
        await talk_with_client()
        assert root.context is not None
        return root.context.trace_id


def lines_of(trace: int) -> Lines:
    return spans.lines(trace, OF_THIS_RUN)


run(hold, lines_of, at_once=0)
