"""Show a picture to a model: as it is if it is small and sound, else scaled down and encoded anew.

With the packages of the extra "media" every picture is decoded once, in a child, before it goes anywhere: a picture that an API
cannot decode would spoil every later request of the conversation. Without them only what is small enough passes.
"""

from __future__ import annotations

import base64
from typing import Any

from toolwright.tools.base import ToolFailure, ToolOutput
from toolwright.tools.file_content import Whole
from toolwright.tools.media.decoder import EXTRA, decode, has_package
from toolwright.tools.media.headers import BadHeader, Header, is_whole, read_header
from toolwright.tools.media.kinds import Kind

MAX_FILE_SIZE = 64 << 20
MAX_PIXELS = 100_000_000
"""More is not even decoded: four bytes each would be 400 MB."""
MAX_EDGE = 1568
"""Anthropic's API scales down what is longer; others take at least this."""
MAX_BYTES = 500 * 1024
_UNSCALED_EDGE = 2000
_UNSCALED_BYTES = 5 * 1024 * 1024 * 3 // 4  # 5 MB in base64
_GENERAL_ADVICE = "Look at it with a program through Bash, or convert it."


async def show_image(whole: Whole) -> ToolOutput:
    kind = whole.kind
    assert kind is not None
    try:
        header = read_header(kind, whole.data)
    except BadHeader as error:
        raise ToolFailure(f"{whole.path} cannot be shown: {error}.") from None
    if header.pixels > MAX_PIXELS:
        raise ToolFailure(
            f"{whole.path} cannot be shown: it claims {header.width}x{header.height} pixels, and more than {MAX_PIXELS:,} "
            f"are not decoded. {_GENERAL_ADVICE}"
        )
    return await _decoded(whole, kind) if has_package("PIL") else _as_it_is(whole, kind, header)


async def _decoded(whole: Whole, kind: Kind) -> ToolOutput:
    answer = await decode("image", whole.data, ["PIL"], edge=MAX_EDGE, bytes=MAX_BYTES, most_pixels=MAX_PIXELS)
    line = answer.lines[0] if answer.lines else {}
    problem = line.get("error") or answer.problem
    if problem:
        raise ToolFailure(f"{whole.path} cannot be shown: it is a damaged or unusual {kind.words} ({problem}).")
    media_type = line.get("media_type", kind.media_type)
    data = line.get("data") or base64.b64encode(whole.data).decode()
    width, height = line["original"]
    shown = Header(line["width"], line["height"])
    return _result(
        data, media_type, whole, original=Header(width, height, line["animated"]), shown=shown, encoded_anew="data" in line
    )


def _as_it_is(whole: Whole, kind: Kind, header: Header) -> ToolOutput:
    if max(header.width, header.height) > _UNSCALED_EDGE or whole.size > _UNSCALED_BYTES:
        raise ToolFailure(
            f"{whole.path} is a {kind.words} of {header.width}x{header.height} pixels and {whole.size:,} bytes: it must be "
            f"scaled down to be shown. For that, {EXTRA}."
        )
    if not is_whole(kind, whole.data):
        raise ToolFailure(f"{whole.path} cannot be shown: it is a {kind.words} that was cut short.")
    data = base64.b64encode(whole.data).decode()
    return _result(data, kind.media_type, whole, original=header, shown=header, encoded_anew=False)


def _result(data: str, media_type: str, whole: Whole, *, original: Header, shown: Header, encoded_anew: bool) -> ToolOutput:
    content: list[dict[str, Any]] = [image_block(data, media_type)]
    notice = _notice(whole, original, shown, encoded_anew=encoded_anew)
    if notice:
        content.append({"type": "text", "text": notice})
    return ToolOutput(content, {"type": "image", "file": _structured(data, media_type, whole.size, original, shown)})


def image_block(data: str, media_type: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _notice(whole: Whole, original: Header, shown: Header, *, encoded_anew: bool) -> str:
    remarks = []
    if encoded_anew and max(shown.width, shown.height) < max(original.width, original.height):
        remarks.append(f"scaled down from {original.width}x{original.height} to {shown.width}x{shown.height} pixels")
    elif encoded_anew and not original.animated:
        remarks.append(f"encoded anew: the file's {whole.size:,} bytes are too many to send")
    if original.animated:
        remarks.append("animated: only the first frame is shown")
    return f"[{whole.path}: {'; '.join(remarks)}]" if remarks else ""


def _structured(data: str, media_type: str, size: int, original: Header, shown: Header) -> dict[str, Any]:
    dimensions = {
        "originalWidth": original.width,
        "originalHeight": original.height,
        "displayWidth": shown.width,
        "displayHeight": shown.height,
    }
    return {"base64": data, "type": media_type, "originalSize": size, "dimensions": dimensions}
