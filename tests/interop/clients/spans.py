"""Spans of OpenTelemetry kept in memory, those of one conversation as lines. Used by the tracers that are built on it."""

from typing import Any

from conversation import Lines, attribute_lines
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

ROOT = "conversation"


class Spans:
    """A provider whose spans stay here. Everything under one `ROOT` span belongs to one conversation."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.processor = SimpleSpanProcessor(self._exporter)
        self.provider = TracerProvider()
        self.provider.add_span_processor(self.processor)

    def lines(self, trace: int, without: tuple[str, ...] = ()) -> Lines:
        """In the order in which they began; those of tool servers last, which work beside the conversation."""
        spans = [span for span in self._exporter.get_finished_spans() if span.context.trace_id == trace]
        names = {span.context.span_id: span.name for span in spans}
        spans.sort(key=lambda span: (span.kind is SpanKind.SERVER, span.start_time or 0))
        return [line for span in spans if span.name != ROOT for line in span_lines(span, names, without)]


def span_lines(span: ReadableSpan, names: dict[int, str], without: tuple[str, ...]) -> Lines:
    above = names.get(span.parent.span_id, "another process") if span.parent else "nothing"
    head = f"span {span.name} ({span.kind.name}, {span.status.status_code.name}) in {above}"
    events = [f"{span.name} event {event.name}" for event in span.events]
    attributes: Any = (span.attributes or {}).items()
    return [head, *attribute_lines(span.name, attributes, without), *events]
