from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support_tools import call, error_of, make_workspace, text_of
from toolwright.files.text import TextFormat
from toolwright.tools import text_spans
from toolwright.tools.text_spans import find_spans, replace_spans
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


async def seen(workspace: Workspace, data: bytes | str) -> Path:
    """A file of the session with this content, already read."""
    file = Path(workspace.home) / "file.py"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    await text_of("Read", workspace, file_path=str(file))
    return file


async def test_one_exact_piece_is_replaced(workspace: Workspace) -> None:
    file = await seen(workspace, "a = 1\nb = 2\nc = 3\n")
    output = await call("Edit", workspace, file_path=str(file), old_string="b = 2", new_string="b = 20\nb2 = 0")
    assert file.read_text() == "a = 1\nb = 20\nb2 = 0\nc = 3\n"
    assert output.content == f"The file {file} has been updated successfully (1 replacement, line 2)."
    hunk = {
        "oldStart": 1,
        "oldLines": 3,
        "newStart": 1,
        "newLines": 4,
        "lines": [" a = 1", "-b = 2", "+b = 20", "+b2 = 0", " c = 3"],
    }
    assert output.structured == {
        "filePath": str(file),
        "oldString": "b = 2",
        "newString": "b = 20\nb2 = 0",
        "originalFile": "a = 1\nb = 2\nc = 3\n",
        "structuredPatch": [hunk],
        "userModified": False,
        "replaceAll": False,
        "success": True,
        "replacements": 1,
    }


QUOTED = "say(\u201cit\u2019s\u201d)\nsay(\u2018a\u2019)\n"


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ('say("it\'s")', 'say("it\'s late")', QUOTED.replace("s\u201d", "s late\u201d")),
        ("it's", "it is", QUOTED.replace("it\u2019s", "it is")),
        ("say(\"it's\")\nsay('a')", "tell(\"it's\")\ntell('b')", QUOTED.replace("say", "tell").replace("a\u2019)", "b\u2019)")),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
async def test_straight_quotes_match_curly_ones_and_the_file_keeps_its_own(
    old: str, new: str, after: str, encoding: str, workspace: Workspace
) -> None:
    file = await seen(workspace, QUOTED.encode(encoding))
    text = await text_of("Edit", workspace, file_path=str(file), old_string=old, new_string=new)
    assert file.read_bytes().decode(encoding) == after
    assert "[straight quotes in old_string matched curly ones; the file keeps its own]" in text


async def test_straight_quotes_come_first_and_places_must_still_be_one(workspace: Workspace) -> None:
    file = await seen(workspace, '\u201ca\u201d "a"\r\n')
    text = await text_of("Edit", workspace, file_path=str(file), old_string='"a"', new_string='"b"')
    assert file.read_bytes().decode() == '\u201ca\u201d "b"\r\n'
    assert "curly" not in text
    file = await seen(workspace, "\u201ca\u201d \u201ca\u201d")
    assert "occurs 2 times" in await error_of("Edit", workspace, file_path=str(file), old_string='"a"', new_string="b")
    await text_of("Edit", workspace, file_path=str(file), old_string='"a"', new_string='"b"', replace_all=True)
    assert file.read_text() == "\u201cb\u201d \u201cb\u201d"


async def test_several_matches_need_replace_all(workspace: Workspace) -> None:
    file = await seen(workspace, "x\ny\nx\n")
    error = await error_of("Edit", workspace, file_path=str(file), old_string="x", new_string="z")
    assert "occurs 2 times" in error
    assert "(lines 1, 3)" in error
    text = await text_of("Edit", workspace, file_path=str(file), old_string="x", new_string="z", replace_all=True)
    assert "2 replacements, lines 1, 3" in text
    assert file.read_text() == "z\ny\nz\n"


@pytest.mark.parametrize(
    ("content", "wanted", "explanation"),
    [
        ("def f():\n\treturn 1\n", "def f():\n    return 1", "only in whitespace"),
        ("say \u2013 hi\n", "say - hi", "only in quotes, dashes"),
        ("Hello World\n", "hello world", "upper and lower case"),
        ("alpha\nbeta\n", "1\talpha\n2\tbeta", "line numbers that Read shows"),
        (
            "total = compute_sum(items)\n",
            "total = compute_sums(item)",
            "nearest text is around line 1:\n1\ttotal = compute_sum(items)",
        ),
        ("a\n", "nothing like it at all", "Nothing similar"),
    ],
)
async def test_a_missing_string_is_explained(workspace: Workspace, content: str, wanted: str, explanation: str) -> None:
    file = await seen(workspace, content)
    error = await error_of("Edit", workspace, file_path=str(file), old_string=wanted, new_string="z")
    assert error.startswith("String to replace not found in file. ")
    assert explanation in error
    assert file.read_text() == content


async def test_a_file_must_have_been_read(workspace: Workspace) -> None:
    (Path(workspace.home) / "a").write_text("x")
    assert "has not been read yet" in await error_of("Edit", workspace, file_path="a", old_string="x", new_string="y")
    assert "File does not exist" in await error_of("Edit", workspace, file_path="b", old_string="x", new_string="y")
    assert "are the same" in await error_of("Edit", workspace, file_path="a", old_string="x", new_string="x")


async def test_a_change_by_somebody_else_is_noticed(workspace: Workspace) -> None:
    file = await seen(workspace, "one\ntwo\n")
    file.write_text("one\ntwo\nthree\n")
    error = await error_of("Edit", workspace, file_path=str(file), old_string="two", new_string="2", replace_all=True)
    assert "has changed on disk" in error
    text = await text_of("Edit", workspace, file_path=str(file), old_string="two", new_string="2")
    assert "had changed on disk since it was read" in text
    assert file.read_text() == "one\n2\nthree\n"
    os.utime(file, (1, 1))
    assert "changed" not in await text_of("Edit", workspace, file_path=str(file), old_string="2", new_string="two")


async def test_an_empty_old_string_creates_a_file(workspace: Workspace) -> None:
    assert "created" in await text_of("Edit", workspace, file_path="sub/new", old_string="", new_string="hi\n")
    assert (Path(workspace.home) / "sub/new").read_text() == "hi\n"
    assert "exists and is not empty" in await error_of("Edit", workspace, file_path="sub/new", old_string="", new_string="x")


async def test_line_ends_encoding_and_mark_survive(workspace: Workspace) -> None:
    file = await seen(workspace, b"\xef\xbb\xbfa\r\nb\r\nc\n")
    await text_of("Edit", workspace, file_path=str(file), old_string="a\nb", new_string="a\nx\nb")
    assert file.read_bytes() == b"\xef\xbb\xbfa\r\nx\r\nb\r\nc\n"
    file = await seen(workspace, "größe\r\n".encode("utf-16-be"))
    file = await seen(workspace, b"\xfe\xff" + "größe\r\n".encode("utf-16-be"))
    await text_of("Edit", workspace, file_path=str(file), old_string="ö", new_string="oe\n")
    assert file.read_bytes() == b"\xfe\xff" + "groe\r\nße\r\n".encode("utf-16-be")
    file = await seen(workspace, "größe".encode("latin-1"))
    assert "latin-1" in await error_of("Edit", workspace, file_path=str(file), old_string="ö", new_string="→")
    await text_of("Edit", workspace, file_path=str(file), old_string="ö", new_string="oe")
    assert file.read_bytes() == "groeße".encode("latin-1")


ENCODINGS = [
    TextFormat("utf-8"),
    TextFormat("utf-8", b"\xef\xbb\xbf"),
    TextFormat("utf-16-le", b"\xff\xfe"),
    TextFormat("utf-16-be", b"\xfe\xff"),
    TextFormat("latin-1"),
]
LETTERS = st.sampled_from(["a", "b", "ä", "\n", "\r\n", "\u0100"])


def units(text: str) -> list[str]:
    """Characters, with CRLF as one."""
    found: list[str] = []
    for character in text:
        if character == "\n" and found and found[-1] == "\r":
            found[-1] = "\r\n"
        else:
            found.append(character)
    return found


def oracle(text: list[str], old: list[str], new: str) -> str:
    """Slow and plain: compare unit by unit, any line end equal to any other; put in the line ends of what was there."""

    def same(left: str, right: str) -> bool:
        return left == right or {left, right} == {"\n", "\r\n"}

    most_crlf = 2 * text.count("\r\n") > text.count("\n") + text.count("\r\n")
    out: list[str] = []
    position = 0
    while position < len(text):
        window = text[position : position + len(old)]
        if len(window) == len(old) and all(map(same, window, old)):
            ends = [unit for unit in window if unit in ("\n", "\r\n")]
            crlf = ends[0] == "\r\n" if ends else most_crlf
            out.append(new.replace("\r\n", "\n").replace("\n", "\r\n") if crlf else new.replace("\r\n", "\n"))
            position += len(old)
        else:
            out.append(text[position])
            position += 1
    return "".join(out)


@given(st.binary(max_size=20).map(lambda data: bytes(byte % 2 + 97 for byte in data)), st.text("ab", min_size=1, max_size=3))
def test_a_text_is_found_in_the_same_places_whichever_end_the_search_begins_at(data: bytes, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_spans, "_MAX_STEPS", -1)
        from_the_beginning = find_spans(data, text, TextFormat())
    assert find_spans(data, text, TextFormat()) == from_the_beginning
    assert from_the_beginning == [match.span() for match in re.finditer(text.encode(), data)]


@given(
    st.lists(LETTERS, max_size=30),
    st.lists(st.sampled_from(["a", "b", "ä", "\n"]), min_size=1, max_size=3),
    st.lists(st.sampled_from(["a", "x", "ö", "\n"]), max_size=4),
    st.sampled_from(ENCODINGS),
)
@example(["\u0100", "a"], ["a"], ["x"], ENCODINGS[2])
def test_every_byte_outside_the_match_stays(text: list[str], old: list[str], new: list[str], format_: TextFormat) -> None:
    whole = "".join(text)
    if format_.encoding == "latin-1":
        whole = whole.replace("\u0100", "c")
    data = format_.mark + whole.encode(format_.encoding)
    changed = replace_spans(data, find_spans(data, "".join(old), format_), "".join(new), format_)
    expected = oracle(units(whole), old, "".join(new)) if "\r\n" in whole else whole.replace("".join(old), "".join(new))
    assert changed == format_.mark + expected.encode(format_.encoding)
