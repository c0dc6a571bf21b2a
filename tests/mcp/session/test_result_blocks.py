"""What a model is shown of a tool's result."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.mcp.session.result_blocks import tool_output

PNG = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def blocks(*content: Any, **more: Any) -> Any:
    return tool_output({"content": list(content), **more}).content


def text(*content: Any, **more: Any) -> str:
    (block,) = blocks(*content, **more)
    assert block["type"] == "text"
    return str(block["text"])


def test_text_passes_and_success_has_no_flag() -> None:
    output = tool_output({"content": [{"type": "text", "text": "hi", "annotations": {}}], "isError": False})
    assert output.content == [{"type": "text", "text": "hi"}]
    assert output.is_error is None
    assert output.structured is None


@pytest.mark.parametrize("mime", ["image/png", "IMAGE/PNG; charset=binary"])
def test_an_image_becomes_the_apis_block(mime: str) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    assert blocks({**PNG, "mimeType": mime}) == [{"type": "image", "source": source}]


def test_an_image_in_lines_is_joined() -> None:
    (block,) = blocks({**PNG, "data": "iVBO\nRw0KGgo=\n", "mimeType": "image/jpg"})
    assert block["source"] == {"type": "base64", "media_type": "image/jpeg", "data": "iVBORw0KGgo="}


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ({**PNG, "mimeType": "image/tiff"}, "[image: image/tiff, about 9 bytes; not shown to the model]"),
        ({**PNG, "data": "data:image/png;base64,iVBO"}, "not valid base64"),
        ({**PNG, "data": "ü"}, "not valid base64"),
        ({"type": "image"}, "type not given"),
    ],
)
def test_an_image_that_the_api_would_refuse_is_described(image: dict[str, Any], said: str) -> None:
    assert said in text(image)


def test_an_error_holds_only_text() -> None:
    output = tool_output({"content": [{"type": "text", "text": "no"}, PNG], "isError": True})
    assert output.is_error is True
    assert [block["type"] for block in output.content if isinstance(block, dict)] == ["text", "text"]


def test_resources_are_named_by_their_uri() -> None:
    resource = {"uri": "file:///tmp/report.md", "mimeType": "text/markdown", "text": "# Report"}
    assert text({"type": "resource", "resource": resource}) == "[Resource file:///tmp/report.md]\n# Report"
    blob = {"uri": "file:///a.bin", "mimeType": "application/zip", "blob": "AAAA"}
    assert text({"type": "resource", "resource": blob}).startswith("[resource file:///a.bin: application/zip, about 3 bytes")
    assert "left out" in text({"type": "resource"})


def test_links_and_audio_are_told() -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "The letter"}
    assert text(link) == "[Resource link: file:///a] a The letter"
    assert text({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}).startswith("[audio: audio/wav, about 3 bytes")


@pytest.mark.parametrize("block", [{"type": "video"}, {}, None, 5, {"type": ["x"]}])
def test_an_unknown_block_is_noted(block: Any) -> None:
    assert "was left out" in text(block)


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": ""}], [{"type": "text", "text": " \n"}], [{"type": "text"}]])
def test_an_empty_result_is_said_to_be_empty(content: list[Any]) -> None:
    assert text(*content) == "The tool returned no content."


def test_structured_content_is_kept_and_shown_when_there_is_nothing_else() -> None:
    output = tool_output({"content": [], "structuredContent": {"a": 1}})
    assert output.structured == {"a": 1}
    assert output.content == [{"type": "text", "text": '{"a":1}'}]
    assert tool_output({"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}}).content == [
        {"type": "text", "text": "x"}
    ]


@pytest.mark.parametrize("result", [None, [], {}, {"content": "text"}])
def test_what_is_no_result_is_an_error(result: Any) -> None:
    output = tool_output(result)
    assert output.is_error is True
    assert "not a tool result" in str(output.content)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
keys = ["text", "data", "mimeType", "resource", "uri", "blob", "name"]
block_likes = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio", "resource", "resource_link", "x"])},
    optional={key: anything | st.fixed_dictionaries({"uri": anything, "text": anything}) for key in keys},
)


@given(st.lists(block_likes | anything, max_size=4), st.booleans())
def test_any_content_becomes_blocks_that_an_api_takes(content: list[Any], is_error: bool) -> None:
    output = tool_output({"content": content, "isError": is_error})
    assert isinstance(output.content, list)
    assert output.content
    json.dumps(output.content, ensure_ascii=False).encode()
    for block in output.content:
        assert block["type"] in ({"text"} if is_error else {"text", "image"})
        assert block["type"] != "text" or block["text"].strip()
