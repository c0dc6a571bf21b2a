"""Show pages of a PDF to a model: the text of each, and a picture of it. Parsing happens in a child (`decoder`)."""

from __future__ import annotations

import re
from typing import Any

from toolwright.tools.base import ToolFailure, ToolOutput
from toolwright.tools.file_content import Whole
from toolwright.tools.media.decoder import EXTRA, Decoded, decode, has_package
from toolwright.tools.media.images import image_block
from toolwright.tools.portions import MAX_PAGES_UNASKED

MAX_FILE_SIZE = 32 << 20
MAX_PAGES = 20
PAGE_EDGE = 1200
"""Pixels: a printed page stays legible, and costs a model about half of what the largest picture would."""
MAX_CHARACTERS = 256 * 1024
MAX_IMAGE_CHARACTERS = 12 << 20
"""Of all pages of a call, in base64."""

Range = tuple[int, int | None]
_RANGE = re.compile(r"(\d{1,9})(?:\s*(-)\s*(\d{1,9})?)?")


async def show_pdf(whole: Whole) -> ToolOutput:
    ranges = None if whole.pages is None else parse_ranges(whole.pages)
    if not has_package("pypdfium2"):
        raise ToolFailure(f"{whole.path} is a PDF of {whole.size:,} bytes. To read it, {EXTRA}; or use a program through Bash.")
    answer = await decode(
        "pdf",
        whole.data,
        ["pypdfium2", "PIL"],
        ranges=ranges,
        pages=MAX_PAGES,
        unasked_pages=MAX_PAGES_UNASKED,
        edge=PAGE_EDGE,
        text_characters=MAX_CHARACTERS,
        image_bytes=MAX_IMAGE_CHARACTERS,
    )
    return _result(whole, answer)


def parse_ranges(text: str) -> list[Range]:
    """`"3"`, `"1-5"`, `"7-"` or several of these with commas between. Raises `ToolFailure`."""
    ranges = [_range(part.strip()) for part in text.split(",")]
    count = sum(1 if last is None else last - first + 1 for first, last in ranges)
    if count > MAX_PAGES:
        raise ToolFailure(f"pages={text!r} asks for {count:,} pages; at most {MAX_PAGES} are shown by one call.")
    return ranges


def _range(text: str) -> Range:
    match = _RANGE.fullmatch(text)
    first = int(match[1]) if match else 0
    last = (int(match[3]) if match[3] else None) if match and match[2] else first
    if first < 1 or (last is not None and last < first):
        raise ToolFailure(f'pages names pages from 1 on, such as "3", "1-5" or "7-"; {text!r} is not that.')
    return first, last


def _result(whole: Whole, answer: Decoded) -> ToolOutput:
    first = answer.lines[0] if answer.lines else {}
    if "total" not in first:
        raise ToolFailure(_unreadable(whole, first, answer.problem))
    total, pages = first["total"], [line for line in answer.lines[1:] if "page" in line]
    if not pages and not answer.problem:
        raise ToolFailure(_choose(whole, total))
    content: list[dict[str, Any]] = [{"type": "text", "text": _heading(whole, total, pages, answer)}]
    for page in pages:
        content += _page_blocks(page)
    return ToolOutput(content, _structured(whole, total, pages))


def _unreadable(whole: Whole, line: dict[str, Any], problem: str | None) -> str:
    if line.get("password"):
        return f"{whole.path} is a PDF that is protected by a password: its pages cannot be read."
    return f"{whole.path} cannot be read as PDF: it is damaged or no PDF ({line.get('error') or problem})."


def _choose(whole: Whole, total: int) -> str:
    if not total:
        return f"{whole.path} is a PDF without pages."
    if whole.pages is not None:
        return f"{whole.path} has {total:,} pages; pages={whole.pages!r} is none of them."
    return (
        f"{whole.path} is a PDF of {total:,} pages, too many to show at once. Say which ones: "
        f'pages="1-{MAX_PAGES_UNASKED}" (at most {MAX_PAGES} in one call).'
    )


def _heading(whole: Whole, total: int, pages: list[dict[str, Any]], answer: Decoded) -> str:
    numbers = [page["page"] for page in pages]
    remarks = [f"PDF of {total:,} {'page' if total == 1 else 'pages'}", f"shown: {_spans(numbers)}"]
    if answer.problem:
        remarks.append(f"the rest is missing because {answer.problem}")
    elif numbers[-1] < total and numbers[-1] - numbers[0] == len(numbers) - 1:
        remarks.append(f'continue with pages="{numbers[-1] + 1}-{min(total, numbers[-1] + len(numbers))}"')
    without_picture = [page["page"] for page in pages if "data" not in page and "error" not in page]
    if without_picture and not has_package("PIL"):
        remarks.append(f"as text only: for pictures of the pages, {EXTRA}")
    elif without_picture:
        remarks.append(f"without pictures, which would be too much for one call: {_spans(without_picture)}")
    return f"[{whole.path}: {'; '.join(remarks)}]"


def _spans(numbers: list[int]) -> str:
    """`[1, 2, 3, 7]` as `pages 1-3, 7`."""
    if not numbers:
        return "none"
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return f"{'page' if len(numbers) == 1 else 'pages'} {', '.join('-'.join(map(str, span)) for span in spans)}"


def _page_blocks(page: dict[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": f"Page {page['page']}:{_page_text(page)}"}]
    if "data" in page:
        blocks.append(image_block(page["data"], page["media_type"]))
    return blocks


def _page_text(page: dict[str, Any]) -> str:
    if "error" in page:
        return f" [cannot be read: {page['error']}]"
    text = page["text"].replace("\r\n", "\n").strip()
    if "missing" in page:
        text = f"{text}\n[{page['missing']:,} characters more on this page; ask for fewer pages to see them]".lstrip()
    return f"\n{text}" if text else " [no text]"


def _structured(whole: Whole, total: int, pages: list[dict[str, Any]]) -> dict[str, Any]:
    shown = [{"page": page["page"], "text": page.get("text", ""), "hasImage": "data" in page} for page in pages]
    return {"type": "pdf", "file": {"filePath": whole.path, "originalSize": whole.size, "totalPages": total, "pages": shown}}
