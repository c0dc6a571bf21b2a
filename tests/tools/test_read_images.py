from __future__ import annotations

import base64
import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from support_media import noise, picture, png_bomb, saved
from support_tools import call, error_of, make_workspace, open_descriptors, text_of
from toolwright.tools.base import ToolOutput
from toolwright.tools.media import decoder, images

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """Each test starts children; that they are waited for on every backend is shown in processes/test_worker_process.py."""
    return "asyncio"


def put(folder: Path, name: str, data: bytes) -> str:
    (folder / "ws").mkdir(exist_ok=True)
    (folder / "ws" / name).write_bytes(data)
    return str(folder / "ws" / name)


async def shown(folder: Path, name: str, data: bytes) -> ToolOutput:
    return await call("Read", make_workspace(folder), file_path=put(folder, name, data))


def block_of(output: ToolOutput) -> dict[str, Any]:
    assert isinstance(output.content, list), output.content
    block: dict[str, Any] = output.content[0]
    assert block["type"] == "image"
    assert block["source"]["type"] == "base64"
    return block


def picture_of(output: ToolOutput) -> Image.Image:
    """What an API would decode; it must fit what it takes."""
    source = block_of(output)["source"]
    data = base64.b64decode(source["data"])
    image = Image.open(io.BytesIO(data))
    image.load()
    assert Image.MIME[image.format or ""] == source["media_type"]
    assert max(image.size) <= 1568
    assert len(data) <= 500 * 1024
    return image


@pytest.mark.parametrize(
    ("name", "format_", "media_type"),
    [
        ("a.png", "PNG", "image/png"),
        ("a.jpg", "JPEG", "image/jpeg"),
        ("a.gif", "GIF", "image/gif"),
        ("a.webp", "WEBP", "image/webp"),
    ],
)
async def test_a_small_picture_is_shown_as_it_is(tmp_path: Path, name: str, format_: str, media_type: str) -> None:
    data = saved(picture(120, 80), format_)
    output = await shown(tmp_path, name, data)
    encoded = base64.b64encode(data).decode()
    assert output.content == [{"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encoded}}]
    dimensions = {"originalWidth": 120, "originalHeight": 80, "displayWidth": 120, "displayHeight": 80}
    file = {"base64": encoded, "type": media_type, "originalSize": len(data), "dimensions": dimensions}
    assert output.structured == {"type": "image", "file": file}
    assert output.is_error is None


async def test_a_large_picture_is_scaled_down_and_says_so(tmp_path: Path) -> None:
    output = await shown(tmp_path, "a.png", saved(picture(4000, 1000), "PNG"))
    image = picture_of(output)
    assert (image.format, image.size) == ("PNG", (1568, 392))
    assert output.structured["file"]["dimensions"] == {
        "originalWidth": 4000,
        "originalHeight": 1000,
        "displayWidth": 1568,
        "displayHeight": 392,
    }
    assert output.text == f"[{tmp_path}/ws/a.png: scaled down from 4000x1000 to 1568x392 pixels]"


async def test_many_bytes_become_a_jpeg(tmp_path: Path) -> None:
    data = saved(noise(900, 900), "PNG")
    output = await shown(tmp_path, "a.png", data)
    assert picture_of(output).format == "JPEG"
    assert f"encoded anew: the file's {len(data):,} bytes" in output.text


@pytest.mark.parametrize(
    ("mode", "format_", "expected"),
    [
        ("P", "PNG", "RGB"),
        ("RGBA", "PNG", "RGBA"),
        ("LA", "PNG", "RGBA"),
        ("1", "PNG", "RGB"),
        ("I;16", "PNG", "L"),
        ("L", "JPEG", "L"),
        ("CMYK", "JPEG", "RGB"),
        ("RGBA", "WEBP", "RGB"),
    ],
)
async def test_every_colour_mode_survives_scaling(tmp_path: Path, mode: str, format_: str, expected: str) -> None:
    source = Image.new("I;16", (2000, 1000), 40_000) if mode == "I;16" else picture(2000, 1000).convert(mode)
    image = picture_of(await shown(tmp_path, "a", saved(source, format_)))
    assert image.mode == expected
    if mode == "I;16":
        assert abs(int(image.getpixel((5, 5)) or 0) - 156) <= 1  # type: ignore[arg-type]  # of a grey picture it is a number


async def test_a_photo_that_lies_on_its_side_is_put_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    output = await shown(tmp_path, "a.jpg", saved(picture(3000, 1500), "JPEG", exif=exif))
    assert picture_of(output).size == (784, 1568)


@pytest.mark.parametrize("format_", ["GIF", "WEBP", "PNG"])
async def test_of_an_animation_the_first_frame_is_shown_and_that_is_said(tmp_path: Path, format_: str) -> None:
    frames = [Image.new("RGB", (60, 40), colour) for colour in ("red", "green", "blue")]
    output = await shown(tmp_path, "a", saved(frames[0], format_, save_all=True, append_images=frames[1:], duration=50))
    image = picture_of(output).convert("RGB")
    assert not getattr(picture_of(output), "is_animated", False)
    red = image.getpixel((30, 20))
    assert isinstance(red, tuple)
    assert red[0] > 200 > 50 > red[2]
    assert "animated: only the first frame is shown" in output.text


async def test_content_decides_what_a_file_is_and_a_wrong_name_is_told(tmp_path: Path) -> None:
    data = saved(picture(10, 10), "PNG")
    output = await shown(tmp_path, "notes.txt", data)
    assert block_of(output)["source"]["media_type"] == "image/png"
    assert output.text == "[named .txt, but its content is a PNG image]"
    assert block_of(await shown(tmp_path, "a.jpg", data))["source"]["media_type"] == "image/png"
    workspace = make_workspace(tmp_path)
    text = await text_of("Read", workspace, file_path=put(tmp_path, "b.png", b"just words\n"))
    assert text == "1\tjust words\n\n[named .png, but its content is text]"
    assert await text_of("Read", workspace, file_path=put(tmp_path, "gif", b"GIF89a is a format\n")) == "1\tGIF89a is a format"


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("part", [0.5, 0.95])
async def test_a_picture_cut_short_is_refused(tmp_path: Path, format_: str, part: float) -> None:
    data = saved(noise(100, 100), format_)
    workspace = make_workspace(tmp_path)
    error = await error_of("Read", workspace, file_path=put(tmp_path, "a", data[: int(len(data) * part)]))
    assert "cannot be shown" in error


async def test_a_damaged_picture_is_refused(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    data = bytearray(saved(noise(100, 100), "PNG"))
    data[len(data) // 2] ^= 0xFF
    assert "damaged" in await error_of("Read", workspace, file_path=put(tmp_path, "a", bytes(data)))
    for head in (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a\0\0", b"RIFF\0\0\0\0WEBPVP8 "):
        assert "header" in await error_of("Read", workspace, file_path=put(tmp_path, "b", head))
    assert "0x7 pixels" in await error_of("Read", workspace, file_path=put(tmp_path, "b", png_bomb(0, 7)))


async def test_a_bomb_is_refused_before_it_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_workspace(tmp_path)
    bomb = put(tmp_path, "bomb.png", png_bomb(50_000, 50_000))
    with monkeypatch.context() as patch:
        patch.setattr(decoder, "_PROGRAM", "/nowhere")  # nothing may be started
        assert "claims 50000x50000 pixels" in await error_of("Read", workspace, file_path=bomb)
    monkeypatch.setattr(images, "MAX_PIXELS", 10**12)  # and if it gets through all the same, memory is bounded
    assert "cannot be shown" in await error_of("Read", workspace, file_path=bomb)


async def test_too_large_a_file_is_refused(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    path = put(tmp_path, "a.png", saved(picture(10, 10), "PNG"))
    os.truncate(path, 1 << 40)
    error = await error_of("Read", workspace, file_path=path)
    assert "holds more than 67,108,864 bytes" in error
    assert "Scale it down" in error


async def test_without_the_extra_small_pictures_pass_and_others_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace(tmp_path)
    data = saved(picture(300, 200), "PNG")
    large = put(tmp_path, "b.png", saved(picture(3000, 200), "PNG"))
    monkeypatch.setitem(sys.modules, "PIL", None)
    output = await call("Read", workspace, file_path=put(tmp_path, "a.png", data))
    assert base64.b64decode(block_of(output)["source"]["data"]) == data
    assert 'install the extra "media" (pip install "toolwright[media]")' in await error_of("Read", workspace, file_path=large)
    assert "cut short" in await error_of("Read", workspace, file_path=put(tmp_path, "c.png", data[:-10]))


async def test_a_decoder_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "hang.py"
    program.write_text("import time; time.sleep(600)")
    monkeypatch.setattr(decoder, "_PROGRAM", str(program))
    monkeypatch.setattr(decoder, "TIMEOUT", 0.3)
    error = await error_of("Read", make_workspace(tmp_path), file_path=put(tmp_path, "a.png", saved(picture(9, 9), "PNG")))
    assert "takes longer than 0.3 seconds" in error


async def test_a_decoder_that_crashes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "crash.py"
    program.write_text("import os; os.kill(os.getpid(), 11)")
    monkeypatch.setattr(decoder, "_PROGRAM", str(program))
    error = await error_of("Read", make_workspace(tmp_path), file_path=put(tmp_path, "a.png", saved(picture(9, 9), "PNG")))
    assert "the decoder broke down (exit code -11)" in error


async def test_nothing_stays_open(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    path = put(tmp_path, "a.png", saved(picture(9, 9), "PNG"))
    await call("Read", workspace, file_path=path)
    before = open_descriptors()
    await call("Read", workspace, file_path=path)
    assert open_descriptors() == before
