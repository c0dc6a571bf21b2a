import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.mcp.results import MalformedResult, call_result, clean_text, error_result

TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///tmp/report.md", "mimeType": "text/markdown", "text": "# Report"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///tmp/a.bin", "blob": "AAAA"}}
LINK = {"type": "resource_link", "uri": "file:///tmp/a", "name": "a"}
AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}


def test_every_known_block_passes_unchanged() -> None:
    content = [TEXT, IMAGE, RESOURCE, BLOB, LINK, AUDIO, {**TEXT, "annotations": {"audience": ["user"]}}]
    assert call_result({"content": content}) == {"content": content, "isError": False}


@pytest.mark.parametrize("flag", ["is_error", "isError"])
def test_both_spellings_of_the_error_flag(flag: str) -> None:
    assert call_result({"content": [TEXT], flag: True})["isError"] is True


def test_an_unknown_block_is_replaced_by_a_note() -> None:
    (block,) = call_result({"content": [{"type": "video", "data": "x"}]})["content"]
    assert block["type"] == "text"
    assert "'video' was left out" in block["text"]


def test_structured_content_is_kept_as_plain_json() -> None:
    result = call_result({"structuredContent": {"when": datetime.date(2026, 1, 2)}, "_meta": {"k": 1}})
    assert result == {"content": [], "isError": False, "structuredContent": {"when": "2026-01-02"}, "_meta": {"k": 1}}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "missing or None"),
        ("text", "returned a str"),
        ([], "returned a list"),
        ({}, '"content" is missing or None'),
        ({"content": "text"}, '"content" is a str'),
        ({"content": ["text"]}, r"content\[0\] is a str"),
        ({"content": [TEXT, {"text": "no type"}]}, r"content\[1\]"),
        ({"content": [{"type": "text"}]}, "'text' needs 'text', a string; it is missing"),
        ({"content": [{"type": "text", "text": 3}]}, "it is a int"),
        ({"content": [{"type": "image", "data": b"raw", "mimeType": "image/png"}]}, "'image' needs 'data'"),
        ({"content": [{"type": "image", "data": "AAAA"}]}, "needs 'mimeType'"),
        ({"content": [{"type": "resource", "resource": "x"}]}, "'resource', an object"),
        ({"content": [{"type": "resource", "resource": {"uri": "x"}}]}, 'needs a "uri" and either'),
        ({"content": [], "structuredContent": {"x": object()}}, "cannot be written as JSON"),
        ({"content": [], "structuredContent": [1]}, "must be an object"),
        ({"content": [{**LINK, "name": "\ud800"}]}, "cannot be written as JSON"),
    ],
)
def test_a_malformed_return_says_what_was_expected(returned: Any, message: str) -> None:
    with pytest.raises(MalformedResult, match=message):
        call_result(returned)


def test_half_a_surrogate_pair_cannot_break_a_request() -> None:
    assert clean_text("ok\ud800") == "ok?"
    assert clean_text("Zürich 🌧") == "Zürich 🌧"
    assert error_result("\udc80")["content"][0]["text"] == "?"
    nested = {**RESOURCE, "resource": {**RESOURCE["resource"], "text": "a\ud800"}}  # type: ignore[dict-item]  # a dict, see above
    assert call_result({"content": [nested]})["content"][0]["resource"]["text"] == "a?"


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["text", "image", "resource"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "content", "data", "uri"]), inner)
    ),
    max_leaves=10,
)


@given(json_like)
def test_any_return_is_a_result_or_a_clear_refusal(returned: Any) -> None:
    try:
        result = call_result(returned)
    except MalformedResult:
        return
    assert isinstance(result["content"], list)
    assert isinstance(result["isError"], bool)
