"""What is shown of a text, and that a cycle of Read, Edit and Write keeps every byte that was not to change."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_tools import call, make_workspace, text_of
from toolwright.files.text import TextFormat, decode_text, detect_format
from toolwright.workspace import Workspace

FORMATS = [
    TextFormat("utf-8"),
    TextFormat("utf-8", b"\xef\xbb\xbf"),
    TextFormat("utf-16-le", b"\xff\xfe"),
    TextFormat("utf-16-be", b"\xfe\xff"),
    TextFormat("latin-1"),
    TextFormat("windows-1252"),
    TextFormat("windows-1251"),
    TextFormat("cp932"),
    TextFormat("gb18030"),
]
OLD = [
    ("Grüße aus Köln, für 5 € – „sehr“ schön", "windows-1252"),
    ("Grüße aus Köln, sehr schön", "latin-1"),
    ("Привет, мир! Это файл в старой кодировке.", "windows-1251"),
    ("Zażółć gęślą jaźń, proszę bardzo", "windows-1250"),
    ("日本語のテキストです。ソースコード表示", "cp932"),
    ("日本語のテキストです。", "euc-jp"),
    ("这是一个旧的中文文件，内容很简单。", "gb18030"),
    ("這是一個舊的中文檔案", "big5hkscs"),
    ("한국어 텍스트 파일입니다", "cp949"),
]


@pytest.mark.parametrize(("text", "encoding"), OLD)
def test_old_encodings_are_recognised(text: str, encoding: str) -> None:
    data = f"{text}\r\nplain\r\n".encode(encoding)
    decoded = decode_text(data)
    assert decoded is not None
    assert decoded == (f"{text}\r\nplain\r\n", TextFormat(encoding))


def test_without_the_extra_the_two_western_ones_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chardetng_py.detector", None)
    assert detect_format("Köln".encode("latin-1")) == TextFormat("latin-1")
    assert detect_format("Köln – 5 €".encode("windows-1252")) == TextFormat("windows-1252")
    assert detect_format(b"K\xf6ln \x81\x8d") == TextFormat("latin-1")


@given(st.binary(max_size=300))
def test_no_choice_of_encoding_loses_a_byte(data: bytes) -> None:
    format_ = detect_format(data)
    if format_ is not None and format_.encoding not in ("utf-8", "utf-16-le", "utf-16-be"):
        assert format_.encode(data.decode(format_.encoding)) == data


WORDS = {
    "latin-1": ["größe", "été", "x"],
    "windows-1252": ["größe – 5 €", "“été”", "x"],
    "windows-1251": ["Привет, мир", "Это файл", "x"],
    "cp932": ["日本語の表示", "ソースコード", "表"],
    "gb18030": ["这是一个中文文件", "内容很简单", "x"],
}
ANY = ["größe", "日本語", "x", "𝄞 music", "\u0100\u0a0d"]


@st.composite
def files(draw: st.DrawFn) -> tuple[TextFormat, list[str], str]:
    """A format, lines, and the line end between them."""
    format_ = draw(st.sampled_from(FORMATS))
    words = st.sampled_from([*WORDS.get(format_.encoding, ANY), "plain", "\tindent", ""])
    return format_, draw(st.lists(words, min_size=2, max_size=12)), draw(st.sampled_from(["\n", "\r\n"]))


async def shown(workspace: Workspace, path: str) -> str:
    """The text as a model has it before its eyes."""
    output = await call("Read", workspace, file_path=path)
    assert output.is_error is None, output.content
    content = output.structured["file"]["content"]
    assert isinstance(content, str)
    return content


@given(files(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_cycle_of_read_edit_and_write_keeps_encoding_mark_and_line_ends(
    file: tuple[TextFormat, list[str], str], final_line_end: bool
) -> None:
    format_, lines, line_end = file
    whole = line_end.join([*lines, "KEY = 1", *lines]) + (line_end if final_line_end else "")
    data = format_.mark + format_.encode(whole)

    async def cycle(folder: Path) -> None:
        workspace = make_workspace(folder)
        path = folder / "ws/a.txt"
        path.write_bytes(data)
        before = await shown(workspace, str(path))
        await text_of("Edit", workspace, file_path=str(path), old_string="KEY = 1", new_string="KEY = 1\nKEY2 = 2")
        edited = data.replace(format_.encode("KEY = 1"), format_.encode(f"KEY = 1{line_end}KEY2 = 2"))
        assert path.read_bytes() == edited
        await text_of("Edit", workspace, file_path=str(path), old_string="KEY = 1\nKEY2 = 2", new_string="KEY = 1")
        assert path.read_bytes() == data
        await text_of("Write", workspace, file_path=str(path), content=before + ("\n" if whole.endswith("\n") else ""))
        assert path.read_bytes() == data

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(cycle, Path(folder))


@pytest.mark.anyio
async def test_half_of_a_character_is_never_replaced(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    path = tmp_path / "ws/a"
    text = "日本語の表示とソースコードの能力。\\ A\n"  # 表, ソ and 能 have a backslash as their second byte
    path.write_bytes(text.encode("cp932"))
    assert (await shown(workspace, str(path))) == text[:-1]
    await text_of("Edit", workspace, file_path=str(path), old_string="\\", new_string="/", replace_all=True)
    assert path.read_bytes() == text.replace("\\", "/").encode("cp932")
