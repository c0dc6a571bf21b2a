from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from support_media import pdf, pdf_of_many_pages
from support_tools import call, error_of, make_workspace
from toolwright.tools.base import ToolFailure, ToolOutput
from toolwright.tools.media import documents
from toolwright.tools.media.documents import parse_ranges

pytestmark = pytest.mark.anyio

ENCRYPTED = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >> /ID [<00><00>]"


@pytest.fixture
def anyio_backend() -> str:
    """Each test starts children; that they are waited for on every backend is shown in processes/test_worker_process.py."""
    return "asyncio"


async def shown(folder: Path, data: bytes, **fields: Any) -> ToolOutput:
    workspace = make_workspace(folder)
    (folder / "ws/a.pdf").write_bytes(data)
    return await call("Read", workspace, file_path=f"{folder}/ws/a.pdf", **fields)


async def refused(folder: Path, data: bytes, **fields: Any) -> str:
    workspace = make_workspace(folder)
    (folder / "ws/a.pdf").write_bytes(data)
    return await error_of("Read", workspace, file_path=f"{folder}/ws/a.pdf", **fields)


def texts(output: ToolOutput) -> list[str]:
    assert isinstance(output.content, list), output.content
    return [block["text"] for block in output.content if block["type"] == "text"]


def pictures(output: ToolOutput) -> list[Image.Image]:
    assert isinstance(output.content, list), output.content
    sources = [block["source"] for block in output.content if block["type"] == "image"]
    return [Image.open(io.BytesIO(base64.b64decode(source["data"]))) for source in sources]


async def test_pages_come_as_text_and_picture(tmp_path: Path) -> None:
    data = pdf(["Hello first", "Hello second"])
    output = await shown(tmp_path, data)
    assert texts(output) == [
        f"[{tmp_path}/ws/a.pdf: PDF of 2 pages; shown: pages 1-2]",
        "Page 1:\nHello first",
        "Page 2:\nHello second",
    ]
    assert [(image.format, image.size) for image in pictures(output)] == [("JPEG", (848, 1200))] * 2
    assert min(pictures(output)[0].convert("L").tobytes()) < 100  # the words are there to see
    assert output.structured == {
        "type": "pdf",
        "file": {
            "filePath": f"{tmp_path}/ws/a.pdf",
            "originalSize": len(data),
            "totalPages": 2,
            "pages": [
                {"page": 1, "text": "Hello first", "hasImage": True},
                {"page": 2, "text": "Hello second", "hasImage": True},
            ],
        },
    }


async def test_a_long_document_is_paged(tmp_path: Path) -> None:
    data = pdf([f"This is {number}" for number in range(1, 31)])
    assert await refused(tmp_path, data) == (
        f"{tmp_path}/ws/a.pdf is a PDF of 30 pages, too many to show at once. Say which ones: "
        'pages="1-10" (at most 20 in one call).'
    )
    some = await shown(tmp_path, data, pages="3-4")
    assert texts(some)[0].endswith('PDF of 30 pages; shown: pages 3-4; continue with pages="5-6"]')
    assert texts(some)[1:] == ["Page 3:\nThis is 3", "Page 4:\nThis is 4"]
    assert texts(await shown(tmp_path, data, pages="30, 2"))[0].endswith("shown: pages 30, 2]")
    assert len(pictures(await shown(tmp_path, data, pages="5-"))) == 20
    assert len(pictures(await shown(tmp_path, data, pages="25-40"))) == 6
    assert "asks for 21 pages; at most 20" in await refused(tmp_path, data, pages="1-21")
    assert "has 30 pages; pages='31-32' is none of them" in await refused(tmp_path, data, pages="31-32")


@pytest.mark.parametrize("text", ["", "0", "5-3", "one", "1-2-3", "-4", "1;2", "99999999999"])
async def test_pages_that_are_none_are_explained(text: str) -> None:
    with pytest.raises(ToolFailure, match="pages names pages from 1 on"):
        parse_ranges(text)


async def test_pages_of_something_else_are_not_used_and_that_is_said(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "ws/a").write_text("hi\n")
    output = await call("Read", workspace, file_path=f"{tmp_path}/ws/a", pages="1")
    assert output.content == "1\thi\n\n[pages is for PDFs: it was not used]"


async def test_what_is_no_sound_pdf_is_told(tmp_path: Path) -> None:
    assert "protected by a password" in await refused(tmp_path, pdf(["x"], more=ENCRYPTED))
    assert "cannot be read as PDF" in await refused(tmp_path, b"%PDF-1.4\n" + b"\0" * 3000)
    assert "cannot be read as PDF" in await refused(tmp_path, pdf([]))


async def test_a_hundred_thousand_pages_are_only_counted(tmp_path: Path) -> None:
    data = pdf_of_many_pages(100_000)
    assert "is a PDF of 100,000 pages" in await refused(tmp_path, data)
    assert texts(await shown(tmp_path, data, pages="99999-"))[1:] == ["Page 99999: [no text]", "Page 100000: [no text]"]


async def test_a_huge_page_becomes_a_picture_of_the_usual_size(tmp_path: Path) -> None:
    output = await shown(tmp_path, pdf(["x"], size=(14_000, 7_000)))
    assert [image.size for image in pictures(output)] == [(1200, 600)]


async def test_much_text_and_many_pictures_are_cut_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_CHARACTERS", 150)
    monkeypatch.setattr(documents, "MAX_IMAGE_CHARACTERS", 10)
    output = await shown(tmp_path, pdf(["x" * 100, "y" * 100, "z" * 100], size=(3000, 200)))
    assert texts(output)[2] == f"Page 2:\n{'y' * 50}\n[50 characters more on this page; ask for fewer pages to see them]"
    assert texts(output)[3] == "Page 3:\n[100 characters more on this page; ask for fewer pages to see them]"
    assert "without pictures, which would be too much for one call: pages 2-3" in texts(output)[0]
    assert len(pictures(output)) == 1


async def test_a_very_large_file_is_refused(tmp_path: Path) -> None:
    error = await refused(tmp_path, b"%PDF-1.4\n" + b"x" * (32 << 20))
    assert "holds more than 33,554,432 bytes" in error


async def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "PIL", None)
        output = await shown(tmp_path, pdf(["Only words"]))
        assert texts(output)[1:] == ["Page 1:\nOnly words"]
        assert 'as text only: for pictures of the pages, install the extra "media"' in texts(output)[0]
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    assert 'To read it, install the extra "media"' in await refused(tmp_path, pdf(["x"]))
