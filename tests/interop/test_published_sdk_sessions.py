"""Sessions that go on later, started by the published SDK: resume, continue, fork, ids; its readers find our transcripts."""

from pathlib import Path

import pytest
from claude_agent_sdk import ResultError, get_session_messages, list_sessions
from published import ON_ASYNCIO, Place, ask, bash, init, result, say

from toolwright.testing import ModelServer, answer

pytestmark = ON_ASYNCIO

UNKNOWN = "00000000-0000-4000-8000-000000000000"
CHOSEN = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def words(request: object) -> str:
    return str(request.json["messages"])  # type: ignore[attr-defined]


async def test_resume_and_continue_go_on_under_the_same_id(place: Place) -> None:
    with ModelServer([answer("one"), answer("two"), answer("three")]) as server:
        first = result(await ask(place.options(server=server), "first")).session_id
        resumed = result(await ask(place.options(server=server, resume=first), "second")).session_id
        continued = result(await ask(place.options(server=server, continue_conversation=True), "third")).session_id
    assert first == resumed == continued
    assert [message["role"] for message in server.requests[2].json["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert all(word in words(server.requests[2]) for word in ("first", "one", "second", "two", "third"))


async def test_a_fork_knows_the_past_and_has_its_own_id(place: Place) -> None:
    with ModelServer([answer("one"), answer("two"), answer("three")]) as server:
        first = result(await ask(place.options(server=server), "first")).session_id
        forked = result(await ask(place.options(server=server, resume=first, fork_session=True), "aside")).session_id
        await ask(place.options(server=server, resume=first), "second")
    assert forked != first
    assert "first" in words(server.requests[1])
    assert "aside" not in words(server.requests[2])


async def test_the_id_may_be_chosen(place: Place) -> None:
    messages = await ask(place.options(say("hi"), session_id=CHOSEN))
    assert init(messages)["session_id"] == result(messages).session_id == CHOSEN


async def test_nothing_to_continue_starts_afresh(place: Place) -> None:
    assert result(await ask(place.options(say("hi"), continue_conversation=True))).result == "hi"


async def test_an_unknown_id_is_a_result_error(place: Place) -> None:
    with pytest.raises(ResultError, match=f"No conversation found with session ID: {UNKNOWN}") as caught:
        await ask(place.options(say("never"), resume=UNKNOWN))
    error = caught.value
    assert (error.subtype, error.exit_code, error.data["num_turns"]) == ("error_during_execution", 1, 0)
    assert error.errors == [f"No conversation found with session ID: {UNKNOWN}"]


async def test_tool_calls_survive_a_resume(place: Place) -> None:
    first = result(await ask(place.options(bash("echo marmalade"), say("done"), allowed_tools=["Bash"]))).session_id
    with ModelServer([answer("It was marmalade.")]) as server:
        await ask(place.options(server=server, resume=first), "What was it?")
    blocks = [block["type"] for message in server.requests[0].json["messages"] for block in message["content"]]
    assert blocks == ["text", "tool_use", "tool_result", "text", "text"]
    assert "marmalade" in words(server.requests[0])


async def test_the_published_readers_find_our_transcripts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = await ask(place.options(bash("echo hi"), say("done"), allowed_tools=["Bash"]), "Say hi")
    session_id = result(messages).session_id
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place.config))
    (listed,) = list_sessions(directory=str(place.workspace))
    assert (listed.session_id, listed.first_prompt) == (session_id, "Say hi")
    read = get_session_messages(session_id, directory=str(place.workspace))
    assert [message.type for message in read] == ["user", "assistant", "user", "assistant"]


async def test_a_truncating_resume_forgets_what_came_after(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([answer("one"), answer("two"), answer("again")]) as server:
        first = result(await ask(place.options(server=server), "first")).session_id
        await ask(place.options(server=server, resume=first), "second")
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place.config))
        kept = get_session_messages(first, directory=str(place.workspace))[1].uuid
        await ask(place.options(server=server, resume=first, resume_session_at=kept), "third")
    assert "second" not in words(server.requests[2])
    assert "first" in words(server.requests[2])
