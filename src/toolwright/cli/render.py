"""Shows a conversation to a person, frame by frame: streamed text, a card per tool call, diffs, a live status line.

It reads frames and writes to a `Terminal`. It does not know where the frames come from and decides nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from toolwright.cli.ask import retry_words
from toolwright.cli.terminal import PLAIN_SPINNER, SPINNER, Terminal, Wrapper, fit, visible

Frame = dict[str, Any]

SHOWN_LINES = 14
"""Lines of a tool's output on a card; the rest is counted, not shown."""

_TITLES = {
    "Bash": "command",
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookRead": "notebook_path",
    "NotebookEdit": "notebook_path",
    "LS": "path",
    "Glob": "pattern",
    "Grep": "pattern",
    "WebFetch": "url",
    "WebSearch": "query",
}
"""The one field of a tool's input that says what the call is about."""


class Tally(Struct):
    """Tokens and money of the run so far. `cost` is None while no price is known."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    _current_out: int = 0

    def begin(self, usage: dict[str, Any]) -> None:
        counted = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        self.tokens_in += sum(usage.get(name) or 0 for name in counted)
        self.tokens_out += self._current_out
        self._current_out = usage.get("output_tokens") or 0

    def update(self, usage: dict[str, Any]) -> None:
        self._current_out = usage.get("output_tokens") or self._current_out

    def text(self) -> str:
        """Empty where nothing was counted: a script has no tokens."""
        if not self.tokens_in and not self.tokens_out + self._current_out:
            return ""
        money = "" if self.cost is None else f" · ${self.cost:.4f}"
        return f"{short_number(self.tokens_in)} in, {short_number(self.tokens_out + self._current_out)} out{money}"


def short_number(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


class Card(Struct):
    """A tool call that has been shown and has no result yet."""

    name: str
    input: dict[str, Any]
    began: float


class Renderer(Struct):
    """Turns frames into print. `tick` redraws the status line; call it a few times a second."""

    terminal: Terminal
    folder: str
    clock: Callable[[], float] = time.monotonic
    tally: Tally = field(default_factory=Tally)
    _began: float = 0.0
    _activity: str = "starting"
    _spin: int = 0
    _cards: dict[str, Card] = field(default_factory=dict)
    _last_header: str = ""
    _text: Wrapper | None = None
    _streamed: bool = False

    def __post_init__(self) -> None:
        self._began = self.clock()

    def show(self, frame: Frame) -> None:
        match frame.get("type"):
            case "stream_event":
                self._stream_event(frame.get("event") or {})
            case "assistant":
                self._each_block(frame, self._assistant_block)
            case "user":
                self._each_block(frame, lambda block: self._user_block(block, frame.get("tool_use_result")))
            case "system":
                self._system(frame)
            case "result":
                self._result(frame)

    def tick(self) -> None:
        wheel = self.terminal.glyph(SPINNER, PLAIN_SPINNER)
        self._spin = (self._spin + 1) % len(wheel)
        self.terminal.status(f"{wheel[self._spin]} {self._activity} · {self.account()}")

    def account(self) -> str:
        """Time, tokens and money so far."""
        elapsed = f"{self.clock() - self._began:.1f} s"
        return " · ".join(part for part in (elapsed, self.tally.text()) if part)

    # -- frames

    def _each_block(self, frame: Frame, show_block: Callable[[dict[str, Any]], None]) -> None:
        content = (frame.get("message") or {}).get("content")
        for block in content if isinstance(content, list) else []:
            show_block(block)

    def _system(self, frame: Frame) -> None:
        if frame.get("subtype") == "api_retry":
            self._notice(retry_words(frame))
            self._activity = "waiting"
        elif frame.get("subtype") == "informational":
            self._notice(str(frame.get("content")))

    def _result(self, frame: Frame) -> None:
        self._end_text()
        self._activity = "done"
        self.tally.cost = frame.get("total_cost_usd") or None

    def _stream_event(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self._activity = "thinking"
                self.tally.begin((event.get("message") or {}).get("usage") or {})
            case "content_block_start":
                self._begin_block(event.get("content_block") or {})
            case "content_block_delta" if (event.get("delta") or {}).get("type") == "text_delta":
                self._stream_text(event["delta"].get("text") or "")
            case "content_block_stop":
                self._end_text()
            case "message_delta":
                self.tally.update(event.get("usage") or {})

    def _begin_block(self, block: dict[str, Any]) -> None:
        if block.get("type") == "tool_use":
            self._activity = f"preparing {named(block)}"
        elif block.get("type") == "text":
            self._activity = "writing"

    # -- text

    def _stream_text(self, piece: str) -> None:
        if self._text is None:
            self._begin_text()
        assert self._text is not None
        self._text.feed(piece)
        self._streamed = True

    def _begin_text(self) -> None:
        self.terminal.line()
        self._last_header = ""
        self._text = Wrapper(self.terminal)

    def _end_text(self) -> None:
        if self._text is not None:
            self._text.finish()
            self._text = None

    def _whole_text(self, text: str) -> None:
        """A text block as a frame; if it was streamed it stands there already."""
        if self._streamed:
            self._streamed = False
            self._end_text()
            return
        self._stream_text(text)
        self._end_text()
        self._streamed = False

    def _notice(self, text: str) -> None:
        self._end_text()
        self._last_header = ""
        self.terminal.line(self.terminal.paint("! " + visible(text).replace("\n", " "), "yellow"))

    # -- tool cards

    def _assistant_block(self, block: dict[str, Any]) -> None:
        if block.get("type") == "text":
            self._whole_text(str(block.get("text") or ""))
        elif block.get("type") == "tool_use":
            card = Card(named(block), block.get("input") or {}, self.clock())
            self._cards[str(block.get("id"))] = card
            self._activity = f"running {card.name}"
            self._header(str(block.get("id")), card, apart=self._last_header not in self._cards)

    def _header(self, call: str, card: Card, *, apart: bool) -> None:
        """Calls that were made together stand together; their results come under headings of their own."""
        self._end_text()
        if apart:
            self.terminal.line()
        self._last_header = call
        mark = self.terminal.glyph("◆", "*")
        room = self.terminal.width - len(card.name) - 5
        title = fit(self._title(card), room, self.terminal.glyph("…", "."))
        self.terminal.line(f"{self.terminal.paint(mark, 'cyan')} {self.terminal.paint(card.name, 'bold')}  {title}")

    def _title(self, card: Card) -> str:
        field_name = _TITLES.get(card.name)
        if field_name is None or field_name not in card.input:
            return visible(json.dumps(card.input, ensure_ascii=False)) if card.input else ""
        return visible(self._relative(str(card.input[field_name]))).replace("\n", " ")

    def _relative(self, text: str) -> str:
        return text.removeprefix(self.folder + os.sep)

    def _user_block(self, block: dict[str, Any], structured: Any) -> None:
        card = self._cards.get(str(block.get("tool_use_id")))
        if block.get("type") != "tool_result" or card is None:
            return
        if self._last_header != block["tool_use_id"]:
            self._header(block["tool_use_id"], card, apart=True)
        del self._cards[block["tool_use_id"]]
        failed = bool(block.get("is_error"))
        self._body(self._body_lines(card, block, structured, failed))
        self._footer(failed, self.clock() - card.began)
        self._last_header = ""
        self._activity = "thinking"

    def _body_lines(self, card: Card, block: dict[str, Any], structured: Any, failed: bool) -> list[tuple[str, str]]:
        """The card's lines, each with its colour."""
        changes = [] if failed else diff_lines(card.input, structured)
        return changes or shortened(_plain_lines(block.get("content")))

    def _body(self, lines: list[tuple[str, str]]) -> None:
        bar = self.terminal.paint(self.terminal.glyph("  │ ", "  | "), "dim")
        for text, colour in lines:
            shown = fit(visible(self._relative(text)), self.terminal.width - 4, self.terminal.glyph("…", "."))
            self.terminal.line(bar + (self.terminal.paint(shown, colour) if colour else shown))

    def _footer(self, failed: bool, seconds: float) -> None:
        corner = self.terminal.paint(self.terminal.glyph("  └ ", "  ` "), "dim")
        verdict = self.terminal.paint("failed", "red") if failed else self.terminal.paint("ok", "green")
        self.terminal.line(f"{corner}{verdict}{self.terminal.paint(f', {_duration(seconds)}', 'dim')}")


def named(block: dict[str, Any]) -> str:
    """The name of the tool that a block calls: the model chose it, so it can be anything."""
    return visible(str(block.get("name"))).replace("\n", " ")


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _plain_lines(content: Any) -> list[str]:
    """A tool result's text; a block that is no text is named."""
    if isinstance(content, str):
        return content.strip("\n").split("\n") if content.strip() else []
    blocks = content if isinstance(content, list) else []
    texts = [str(block.get("text", f"[{block.get('type')}]")) for block in blocks]
    return _plain_lines("\n".join(texts)) if texts else []


def shortened(lines: list[str], limit: int = SHOWN_LINES) -> list[tuple[str, str]]:
    """The beginning and, because failures are told last, the end; between them how much is left out."""
    if len(lines) <= limit + 1:
        return [(line, "") for line in lines]
    head, tail = limit // 3, limit - limit // 3
    gap = (f"… {len(lines) - head - tail} more lines", "dim")
    return [*((line, "") for line in lines[:head]), gap, *((line, "") for line in lines[-tail:])]


def diff_lines(call_input: dict[str, Any], structured: Any) -> list[tuple[str, str]]:
    """The change that Edit or Write made, coloured: from the result's patch, or else from the input's two texts."""
    patch = structured.get("structuredPatch") if isinstance(structured, dict) else None
    if isinstance(patch, list) and patch:
        lines = [line for hunk in patch for line in (*_hunk_head(hunk, len(patch)), *hunk.get("lines", ()))]
    elif "old_string" in call_input and "new_string" in call_input:
        lines = _marked("-", call_input["old_string"]) + _marked("+", call_input["new_string"])
    else:
        return []
    coloured = [(line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")) for line in lines]
    return coloured if len(coloured) <= 2 * SHOWN_LINES else [*coloured[: 2 * SHOWN_LINES], _left_out(coloured)]


def _left_out(lines: list[tuple[str, str]]) -> tuple[str, str]:
    return f"… {len(lines) - 2 * SHOWN_LINES} more lines", "dim"


def _hunk_head(hunk: dict[str, Any], hunks: int) -> list[str]:
    if hunks == 1:
        return []
    return [f"@@ -{hunk.get('oldStart')},{hunk.get('oldLines')} +{hunk.get('newStart')},{hunk.get('newLines')} @@"]


def _marked(mark: str, text: str) -> list[str]:
    return [f"{mark}{line}" for line in text.rstrip("\n").split("\n")] if text else []
