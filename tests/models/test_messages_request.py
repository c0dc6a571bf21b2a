"""Putting a request together from bytes that were encoded before."""

from hypothesis import given
from hypothesis import strategies as st

from toolwright.models.base import History, HistoryMessage, ModelRequest
from toolwright.models.messages_request import request_body

Blocks = list[dict[str, object]]

contents = st.lists(
    st.sampled_from(["", "a", "longer text", " "]).map(lambda text: {"type": "text", "text": text}), min_size=1, max_size=3
)
messages = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), contents), max_size=12)


@given(messages)
def test_a_growing_history_gives_the_same_bytes_as_one_put_together_afresh(said: list[tuple[str, Blocks]]) -> None:
    history = History()
    for role, content in said:
        history.append(HistoryMessage(role, list(content)))  # type: ignore[arg-type]  # one of the two roles
        afresh = [HistoryMessage(message.role, message.content) for message in history]
        assert request_body(ModelRequest("m", history)) == request_body(ModelRequest("m", afresh))


def test_the_beginning_is_joined_once_and_old_messages_are_not_looked_at_again() -> None:
    history = History(
        HistoryMessage("user" if n % 2 == 0 else "assistant", [{"type": "text", "text": f"{n}"}]) for n in range(9)
    )
    request_body(ModelRequest("m", history))
    joined, beginning = history.joined["anthropic"]
    assert joined == 6
    for message in history[:joined]:
        message.encoded.clear()
        message.content = [{"type": "text", "text": "changed: nobody looks"}]
    history.append(HistoryMessage("user", [{"type": "text", "text": "more"}]))
    body = request_body(ModelRequest("m", history))
    assert beginning in body
    assert b"changed" not in body
