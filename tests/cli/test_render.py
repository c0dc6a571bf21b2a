"""A conversation as a person sees it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from support_cli import Caught, catching
from toolwright.cli.render import Renderer, shortened
from toolwright.cli.terminal import Terminal

FOLDER = "/project"


@pytest.fixture
def caught(tmp_path: Path) -> Iterator[Caught]:
    with catching(tmp_path) as place:
        yield place


@pytest.fixture
def renderer(caught: Caught) -> Renderer:
    return Renderer(Terminal(caught.descriptor, {}), FOLDER, clock=lambda: 0.0)


def text_block(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}


def call(name: str, identifier: str = "t1", **arguments: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": identifier, "name": name, "input": arguments}
    return {"type": "assistant", "message": {"content": [block]}}


def answer(content: Any, identifier: str = "t1", *, error: bool = False, structured: Any = None) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identifier, "content": content, "is_error": error}
    return {"type": "user", "message": {"content": [block]}, "tool_use_result": structured}


def event(**fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": fields}


def test_a_call_and_its_result_are_one_card(renderer: Renderer, caught: Caught) -> None:
    renderer.show(text_block("I will look."))
    renderer.show(call("Read", file_path="/project/src/a.py"))
    renderer.show(answer("1\timport os\n2\t\x1b[31mred"))
    assert caught.text == snapshot("""\

I will look.

◆ Read  src/a.py
  │ 1   import os
  │ 2   \\x1b[31mred
  └ ok, 0 ms
""")


def test_parallel_results_stand_under_their_own_headings(renderer: Renderer, caught: Caught) -> None:
    renderer.show(call("Glob", "a", pattern="*.py"))
    renderer.show(call("Grep", "b", pattern="def"))
    renderer.show(answer("x.py", "a"))
    renderer.show(answer("y.py", "b"))
    assert caught.text == snapshot("""\

◆ Glob  *.py
◆ Grep  def

◆ Glob  *.py
  │ x.py
  └ ok, 0 ms

◆ Grep  def
  │ y.py
  └ ok, 0 ms
""")


def test_an_edit_is_shown_as_its_difference(renderer: Renderer, caught: Caught) -> None:
    patch = [{"oldStart": 3, "oldLines": 2, "newStart": 3, "newLines": 2, "lines": [" keep", "-old", "+new"]}]
    renderer.show(call("Edit", file_path="/project/a.py", old_string="old", new_string="new"))
    renderer.show(answer("The file has been updated.", structured={"structuredPatch": patch}))
    assert caught.text == snapshot("""\

◆ Edit  a.py
  │  keep
  │ -old
  │ +new
  └ ok, 0 ms
""")


def test_a_failed_call_shows_why(renderer: Renderer, caught: Caught) -> None:
    renderer.show(call("Edit", file_path="a.py", old_string="old", new_string="new"))
    renderer.show(answer([{"type": "text", "text": "String not found"}], error=True))
    assert "  │ String not found\n  └ failed, 0 ms\n" in caught.text


def test_streamed_text_is_printed_once(renderer: Renderer, caught: Caught) -> None:
    renderer.show(event(type="message_start", message={"usage": {"input_tokens": 900, "cache_read_input_tokens": 600}}))
    renderer.show(event(type="content_block_start", content_block={"type": "text"}))
    for piece in ("Hel", "lo wor", "ld"):
        renderer.show(event(type="content_block_delta", delta={"type": "text_delta", "text": piece}))
    renderer.show(text_block("Hello world"))
    renderer.show(event(type="content_block_stop"))
    renderer.show(event(type="message_delta", usage={"output_tokens": 12}))
    renderer.show({"type": "result", "total_cost_usd": 0.0123})
    assert caught.text == "\nHello world\n"
    assert renderer.tally.text() == "1.5k in, 12 out · $0.0123"


def test_an_unknown_tool_shows_its_input_and_unknown_frames_show_nothing(renderer: Renderer, caught: Caught) -> None:
    renderer.show({"type": "something_new"})
    renderer.show({"type": "user", "message": {"content": "a replayed prompt"}})
    renderer.show(call("mcp__calc__add", a=1))
    assert caught.text == '\n◆ mcp__calc__add  {"a": 1}\n'


def test_a_retry_is_told(renderer: Renderer, caught: Caught) -> None:
    retry = {"type": "system", "subtype": "api_retry", "message": "529: busy", "retry_delay_ms": 2000, "max_retries": 9}
    renderer.show({**retry, "attempt": 1})
    renderer.show({**retry, "attempt": 2})
    assert caught.text == "! 529: busy; trying again in 2.0 s (1 of 9)\n! still no answer; trying again in 2.0 s (2 of 9)\n"


def test_what_is_left_out_is_counted() -> None:
    shown = [text for text, _ in shortened([str(number) for number in range(100)], limit=6)]
    assert shown == ["0", "1", "… 94 more lines", "96", "97", "98", "99"]
    assert len(shortened([str(number) for number in range(7)], limit=6)) == 7
