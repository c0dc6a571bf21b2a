"""No text of a server, a client or a file costs more than its length: eight times as long takes about eight times as long.

We match no URI templates; these are all the places of this room that look into names, addresses, headers, rules and lines that
others wrote. What grows with the square of the length would take 64 times as long, and the limit lies between the two.
"""

import itertools
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest

from toolwright.mcp.author.server import InProcessServer
from toolwright.mcp.client.configs import BadServerConfig, ServerConfig, parse_config
from toolwright.mcp.client.http_client import messages_in
from toolwright.mcp.client.listing import presentable, read_tool
from toolwright.mcp.client.oauth.addresses import LoginError, checked_url, covers
from toolwright.mcp.client.oauth.discovery import challenge_values
from toolwright.mcp.client.prompts import PromptArgument, ServedPrompt
from toolwright.mcp.client.server_requests import Answering, Questions
from toolwright.mcp.client.stdio import read_message
from toolwright.mcp.client.streamable_http import header_text
from toolwright.mcp.client.transport import LinkError
from toolwright.mcp.server.access import Access, Barred, hosts_of
from toolwright.mcp.server.http_endpoint import plain_value
from toolwright.mcp.server.http_messages import BadHttp, HttpConnection
from toolwright.mcp.session.prompts import PromptFailure, arguments_of
from toolwright.mcp.session.tool_adapter import adapt_tools
from toolwright.mcp.session.tool_search import named_in, split_name
from toolwright.mcp.tool_server import ServedTool
from toolwright.models.sse import SseParser
from toolwright.permissions.patterns import glob_matches
from toolwright.permissions.rules import parse_rule
from toolwright.permissions.session.approval_text import shown
from toolwright.protocol.lines import LineSplitter
from toolwright.tools.tool_index import IndexedTool, ToolIndex
from toolwright.types import OptionsError

LENGTH, TIMES = 12_500, 8
MAX_COUNT = 28
"""How many times as long the longer text may take."""
LEAST = 20e-6
"""Seconds that are taken for what is too quick to be measured."""
PIECES = [
    *("a", "A", " ", "_", "/", "%41", "{", "{x}", "{/x*}", "${", "${a:-", "${a", "}", "://", "@", ":", "=", 'a="', '\\"'),
    *("'", "\\", "a,", "a=b,", "*", "mcp__", "__", "=?base64?", "?=", "\n", "\r", "\r\n", "\n ", "data:", "id: "),
    *("[", '{"a":', "\u202e", "\x1b[", "é"),
]
"""What hostile texts are made of, each repeated up to the length."""


NUMBERS = itertools.count()


class Received:
    """A byte stream that has all of it, in small pieces."""

    def __init__(self, data: bytes) -> None:
        self._pieces = [data[start : start + 64] for start in range(0, len(data), 64)][::-1]

    async def receive(self, most: int) -> bytes:
        if not self._pieces:
            raise anyio.EndOfStream
        return self._pieces.pop()

    async def send(self, data: bytes) -> None: ...


def http_request(head: str, body: str = "") -> None:
    async def read() -> None:
        connection = HttpConnection(Received(f"{head}\r\n\r\n{body}".encode()))  # type: ignore[arg-type]  # two methods of it
        with suppress(BadHttp):
            await connection.next_request()

    anyio.run(read)


def config(**entry: Any) -> None:
    with suppress(BadServerConfig):
        parse_config("s", entry, env={"a": "1"}).shown()


def prompt_words(text: str) -> None:
    prompt = ServedPrompt("p", "", (PromptArgument("one", True), PromptArgument("two", False)))
    with suppress(PromptFailure):
        arguments_of(prompt, text)


def rule(text: str) -> None:
    for written in (text, f"mcp__{text}", f"mcp__a__{text}*", f"mcp__a__{text}*({text})"):
        with suppress(OptionsError):
            parse_rule(written)


def login_address(text: str) -> None:
    for url in (text, f"https://a/{text}", f"https://{text}/"):
        with suppress(LoginError):
            checked_url(url, "x")
        with suppress(ValueError):
            covers(url, "https://a/")


def visitor(text: str) -> None:
    access = Access(("t" * 20,), hosts_of("127.0.0.1", 80))
    for name in ("host", "origin", "authorization"):
        with suppress(Barred):
            access.principal({"host": "127.0.0.1:80", name: text})


def served_names(text: str) -> None:
    adapt_tools(text, InProcessServer("s"), [ServedTool(text, "", {}), ServedTool(f"{text}!", "", {})])


def body(text: str) -> None:
    with suppress(LinkError):
        messages_in(text.encode())
    read_message(text.encode())


def searched(text: str) -> None:
    index = ToolIndex([IndexedTool(text, text, text, text, text), IndexedTool("b", "b", "b", "b")])
    index.search(text, 5)
    index.close()


def events(text: str, piece: int) -> None:
    data, parser = text.encode(), SseParser()
    for start in range(0, len(data), piece):
        parser.feed(data[start : start + piece])


def lines(text: str) -> None:
    data, splitter = text.encode(), LineSplitter()
    for start in range(0, len(data), 8):
        splitter.feed(data[start : start + 8])


def roots(text: str) -> None:
    anyio.run(Questions("s", Answering(lambda: (text,))).answer, "roots/list", {})


PLACES: dict[str, Callable[[str], object]] = {
    "${VAR} in a command": lambda text: config(command=text, args=[text]),
    "${VAR} in an environment": lambda text: config(command="x", env={"A": text}),
    "an address": lambda text: config(url=f"http://{text}"),
    "an address as it is shown": lambda text: ServerConfig("s", "http", url=f"http://{text}").shown(),
    "a header": lambda text: config(url="http://a", headers={text: "x", "b": text}),
    "names of servers and tools": served_names,
    "the name of a tool, split": split_name,
    "a tool in a list": lambda text: read_tool({"name": text, "description": text, "inputSchema": {"title": text}}),
    "a text that is shown": lambda text: presentable(text, 2048),
    "a text that a person is asked about": shown,
    "words behind a prompt's command": prompt_words,
    "a rule": rule,
    "a rule's wildcards": lambda text: (glob_matches(f"mcp__a__*{text}*b", f"mcp__a__{text}"), glob_matches("*a*a*b", text)),
    "a search": searched,
    "what was loaded": lambda text: named_in(f"Loaded; {text}"),
    "a login's challenge": lambda text: challenge_values(f"Bearer {text}"),
    "a login's address": login_address,
    "a name in a header, out": header_text,
    "a name in a header, in": lambda text: (plain_value(text), plain_value(f"=?base64?{text}?=")),
    "a client's host, origin and token": visitor,
    "the head of a request": lambda text: http_request(f"POST /{text} HTTP/1.1\r\nhost: a\r\n{text}: {text}"),
    "a body in chunks": lambda text: http_request("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked", text),
    "a message": body,
    "events": lambda text: events(text, 4096),
    "events in small pieces": lambda text: events(text, 8),
    "lines in small pieces": lines,
    "roots": roots,
}  # fmt: skip


def seconds(place: Callable[[str], object], text: str) -> float:
    text += f"{next(NUMBERS)}"  # none is seen twice: the standard library remembers some
    begun = time.thread_time()
    place(text)
    return time.thread_time() - begun


@pytest.mark.parametrize("place", PLACES)
def test_no_text_costs_more_than_its_length(place: str) -> None:
    look = PLACES[place]
    look("a")  # what is loaded or compiled when first used
    slow = []
    for piece in PIECES:
        text = piece * (LENGTH // len(piece))
        ratios = (seconds(look, text * TIMES) / max(seconds(look, text), LEAST) for _ in range(8))
        if all(ratio > MAX_COUNT for ratio in ratios):  # one good round is enough: what else the machine does only adds
            slow.append(piece)
    assert not slow
