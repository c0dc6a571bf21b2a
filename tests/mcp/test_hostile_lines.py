"""Whatever a server writes in place of messages, and inside of them, its connection goes on; JSONTestSuite: tests/interop."""

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_mcp import around
from toolwright.mcp.client.configs import parse_config
from toolwright.mcp.client.connections import external_server
from toolwright.mcp.client.http_client import messages_in
from toolwright.mcp.client.stdio import read_message
from toolwright.mcp.client.transport import MAX_MESSAGE_DEPTH, LinkError, is_too_deep
from toolwright.mcp.server.requests import Refused
from toolwright.mcp.server.stdio import decoded_json

SERVER = str(Path(__file__).parent.parent / "support_hostile_server.py")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
RAW = JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60).map(lambda line: line.replace(b"\n", b""))
LINES = RAW.filter(
    lambda line: not re.fullmatch(rb"\s*\d{1,2}\s*", line)
)  # which would be the id of a request, and so its answer


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


async def converse(lines: list[bytes]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "lines").write_bytes(b"\n".join(lines))
        config = parse_config("hostile", {"command": sys.executable, "args": [SERVER, str(folder / "lines")]})
        server = external_server(config, around(folder))
        try:
            await server.connect()
            client = server.client
            assert (await server.call_tool("echo", {}))["content"][0]["text"] == "still here"
            assert server.client is client, "the same connection"
        finally:
            await server.aclose()


@settings(max_examples=10, deadline=None)
@given(lines=st.lists(LINES, min_size=20, max_size=60))
def test_no_line_ends_a_connection(lines: list[bytes]) -> None:
    anyio.run(converse, lines)


@pytest.mark.anyio
async def test_no_depth_ends_a_connection() -> None:
    """Around the depth where one reader of JSON still reads and the next one gives up."""
    await converse([nested(depth) for depth in (100, *range(300, 1100, 7), 10_000, 100_000)])


@pytest.mark.parametrize(("more", "is_deep"), [(-1, False), (0, False), (1, True), (400, True)])
def test_what_is_nested_deeper_than_a_hundred_levels_is_refused_at_every_door(more: int, is_deep: bool) -> None:
    depth = MAX_MESSAGE_DEPTH + more
    document, objects = b"[" * depth + b"]" * depth, nested(depth)
    assert is_too_deep(document, json.loads(document)) is is_deep
    assert is_too_deep(objects, json.loads(objects)) is is_deep
    answer = b'{"jsonrpc":"2.0","id":7,"result":' + nested(depth - 1) + b"}"
    read = read_message(answer)
    assert read is not None
    assert (read["id"], "error" in read) == (7, is_deep), "whoever waits for the answer is told"
    note = b'{"jsonrpc":"2.0","method":"x","params":' + nested(depth - 1) + b"}"
    assert (read_message(note) is None) is is_deep
    if not is_deep:
        assert messages_in(answer) == [json.loads(answer)]
        assert decoded_json(document) == json.loads(document)
        return
    with pytest.raises(LinkError, match="deeper than 100 levels"):
        messages_in(answer)
    with pytest.raises(Refused, match="deeper than 100 levels"):
        decoded_json(document)


def test_many_brackets_in_a_row_are_not_deep() -> None:
    wide = json.dumps([{"a": [1, {}]}] * 1000).encode()
    assert not is_too_deep(wide, json.loads(wide))
    text = json.dumps("[{" * 1000).encode()
    assert not is_too_deep(text, json.loads(text))
