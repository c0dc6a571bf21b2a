import pytest

from toolwright.protocol.lines import encode
from toolwright.protocol.memory import memory_transport_pair
from toolwright.types import CLIConnectionError, ProcessError

pytestmark = pytest.mark.anyio


async def test_frames_travel_both_ways_as_json() -> None:
    transport, peer = memory_transport_pair()
    await transport.connect()
    await transport.write('{"a":')
    await transport.write('1}\nnoise\n{"b":2}\n')
    await transport.end_input()
    assert [frame async for frame in peer.frames()] == [{"a": 1}, {"b": 2}]
    await peer.write({"pair": (1, 2)})
    peer.end()
    assert [frame async for frame in transport.read_messages()] == [{"pair": [1, 2]}]


async def test_writing_needs_an_open_connection() -> None:
    transport, _ = memory_transport_pair()
    assert not transport.is_ready()
    with pytest.raises(CLIConnectionError):
        await transport.write("{}\n")
    await transport.connect()
    assert transport.is_ready()
    await transport.close()
    with pytest.raises(CLIConnectionError):
        await transport.write("{}\n")


async def test_the_peer_can_end_with_a_failure() -> None:
    transport, peer = memory_transport_pair()
    await peer.write({"type": "last"})
    peer.end(ProcessError("gone", 9))
    stream = transport.read_messages()
    assert await anext(stream) == {"type": "last"}
    with pytest.raises(ProcessError, match="gone"):
        await anext(stream)


async def test_what_is_not_json_is_refused_at_the_sender() -> None:
    _, peer = memory_transport_pair()
    with pytest.raises(TypeError):
        await peer.write({"object": object()})
    assert encode({"fine": 1}) == b'{"fine":1}\n'
