"""The program that decodes pictures and documents, in a process of its own; see `decoder` for the other side.

Nothing of toolwright is imported: it is run by its path, with nothing on the import path but the folders of the packages it
needs. When they are loaded it gives up what it does not need (memory without bound, processor time, the file system), and
only then looks at the bytes. Its answer is JSON lines; the last one is `{"end": true}`.
"""

from __future__ import annotations

import base64
import io
import json
import os
import resource
import sys
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image

_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts")
_LOSSLESS = ("PNG", "GIF")
_QUALITIES = (85, 70, 50, 30)
_PAPER = (255, 255, 255)


def main() -> None:
    answer, options = int(sys.argv[1]), json.loads(sys.argv[2])
    sys.path += options["folders"]
    work = {"image": _image, "pdf": _document}[options["task"]]
    _load(options)
    _give_up(options)
    data = _all_of(0)
    try:
        for line in work(data, options):
            _say(answer, line)
    except MemoryError:
        _say(answer, {"error": "it takes more memory to decode than is given to that"})
    except Exception as error:  # noqa: BLE001 — the boundary of this program: whatever a decoder raises is its answer
        _say(answer, {"error": f"{type(error).__name__}: {error}"[:500]})
    _say(answer, {"end": True})


def _say(answer: int, line: dict[str, Any]) -> None:
    view = memoryview(json.dumps(line).encode() + b"\n")
    while view:
        view = view[os.write(answer, view) :]


def _all_of(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


# what is needed, and nothing else


def _load(options: dict[str, Any]) -> None:
    """Import everything now: what follows stands under the limits, and importing takes more of everything than decoding."""
    if options["pillow"]:
        from PIL import Image

        Image.preinit()
        Image.MAX_IMAGE_PIXELS = options.get("most_pixels")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
    if options["task"] == "pdf":
        import pypdfium2

        del pypdfium2


def _give_up(options: dict[str, Any]) -> None:
    for limit, value in (
        (resource.RLIMIT_AS, options["memory"]),
        (resource.RLIMIT_CPU, options["seconds"]),
        (resource.RLIMIT_FSIZE, options["answer_bytes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))
    if options["landlock"]:
        _restrict_files(options["landlock"])


def _restrict_files(module_path: str) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("landlock", module_path)
    assert spec is not None
    assert spec.loader is not None
    landlock = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(landlock)
    landlock.confine_thread([*sys.path, *_FONTS])  # packages load parts of themselves when they need them


# pictures


def _image(data: bytes, options: dict[str, Any]) -> Iterable[dict[str, Any]]:
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as picture:
        original = picture.size
        animated = bool(getattr(picture, "is_animated", False))
        lossless = picture.format in _LOSSLESS
        fits = max(original) <= options["edge"] and len(data) <= options["bytes"]
        if fits and not animated:
            picture.load()  # what cannot be decoded here must not be sent to anyone
            yield _picture_line(picture, original, animated=False)
            return
        shown = _reduced(picture, options["edge"])
    media_type, encoded = _encoded(shown, options["bytes"], lossless=lossless)
    yield {**_picture_line(shown, original, animated=animated), **_payload(media_type, encoded)}


def _picture_line(picture: Image.Image, original: tuple[int, int], *, animated: bool) -> dict[str, Any]:
    return {"width": picture.width, "height": picture.height, "original": list(original), "animated": animated}


def _payload(media_type: str, encoded: bytes) -> dict[str, Any]:
    return {"media_type": media_type, "data": base64.b64encode(encoded).decode()}


def _reduced(picture: Image.Image, edge: int) -> Image.Image:
    """Upright, in RGB, RGBA or grey, and no longer than `edge` on either side."""
    from PIL import Image, ImageOps

    shown = picture if picture.mode in ("RGB", "L", "CMYK") else _in_plain_mode(picture)
    shown.thumbnail((edge, edge), Image.Resampling.LANCZOS, reducing_gap=2.0)
    upright = ImageOps.exif_transpose(shown)
    return upright.convert("RGB") if upright.mode == "CMYK" else upright


def _in_plain_mode(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith("I"):  # 16 bits of grey
        return picture.point(lambda value: value / 256).convert("L")
    transparent = picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info
    return picture.convert("RGBA" if transparent else "RGB")


def _encoded(picture: Image.Image, most: int, *, lossless: bool) -> tuple[str, bytes]:
    """PNG for what was lossless if it stays small, else JPEG in the best quality that does."""
    encoded = _saved(picture, "PNG") if lossless or picture.mode == "RGBA" else b""
    if encoded and len(encoded) <= most:
        return "image/png", encoded
    flat = _on_paper(picture)
    for quality in _QUALITIES:
        encoded = _saved(flat, "JPEG", quality=quality)
        if len(encoded) <= most:
            break
    return "image/jpeg", encoded


def _on_paper(picture: Image.Image) -> Image.Image:
    from PIL import Image

    if picture.mode != "RGBA":
        return picture
    paper = Image.new("RGB", picture.size, _PAPER)
    paper.paste(picture, mask=picture.getchannel("A"))
    return paper


def _saved(picture: Image.Image, format_: str, **options: Any) -> bytes:
    target = io.BytesIO()
    picture.save(target, format_, **options)
    return target.getvalue()


# documents


def _document(data: bytes, options: dict[str, Any]) -> Iterable[dict[str, Any]]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        yield {"error": str(error), "password": pypdfium2.raw.FPDF_GetLastError() == pypdfium2.raw.FPDF_ERR_PASSWORD}
        return
    total = len(document)
    yield {"total": total}
    text_room, image_room = options["text_characters"], options["image_bytes"]
    for number in _chosen(options["ranges"], total, options):
        line = _page(document, number, options | {"text_characters": text_room, "image_bytes": image_room})
        text_room -= len(line.get("text", ""))
        image_room -= len(line.get("data", ""))
        yield line


def _chosen(ranges: list[list[int | None]] | None, total: int, options: dict[str, Any]) -> list[int]:
    """The numbers of the pages to show; none if the caller has to choose first."""
    if ranges is None:
        return list(range(1, total + 1)) if total <= options["unasked_pages"] else []
    chosen: dict[int, None] = {}
    for first, last in ranges:
        end = min(total, total if last is None else last, (first or 1) + options["pages"])
        chosen |= dict.fromkeys(range(first or 1, end + 1))
    return list(chosen)[: options["pages"]]


def _page(document: Any, number: int, options: dict[str, Any]) -> dict[str, Any]:
    import pypdfium2

    line: dict[str, Any] = {"page": number}
    try:
        page = document[number - 1]
        line |= _page_text(page.get_textpage(), options["text_characters"])
        if options["pillow"] and options["image_bytes"] > 0:
            line |= _page_picture(page, options)
    except (pypdfium2.PdfiumError, ValueError) as error:
        line["error"] = str(error)
    return line


def _page_text(text_page: Any, room: int) -> dict[str, Any]:
    count = text_page.count_chars()
    if count <= room:
        return {"text": text_page.get_text_bounded()}
    shown = max(0, room)
    return {"text": text_page.get_text_range(0, shown) if shown else "", "missing": count - shown}


def _page_picture(page: Any, options: dict[str, Any]) -> dict[str, Any]:
    longest = max(page.get_size())
    if longest <= 0:
        raise ValueError("the page has no size")
    picture = page.render(scale=options["edge"] / longest).to_pil()
    encoded = _saved(picture.convert("RGB"), "JPEG", quality=80)
    return {"width": picture.width, "height": picture.height, **_payload("image/jpeg", encoded)}


if __name__ == "__main__":
    main()
