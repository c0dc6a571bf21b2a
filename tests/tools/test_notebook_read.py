from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support_notebooks import (
    as_jupyter,
    code,
    display,
    failure,
    format_3,
    markdown,
    notebook,
    png,
    png_text,
    result,
    stream,
)
from support_tools import TOOLS, call, error_of, make_workspace, text_of
from toolwright.tools.notebook_outputs import plain
from toolwright.tools.notebook_view import MAX_PICTURES, cut_middle
from toolwright.tools.notebooks import MAX_FILE_SIZE
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def saved(workspace: Workspace, content: dict[str, Any] | str | bytes, name: str = "book.ipynb") -> Path:
    file = Path(workspace.home) / name
    text = as_jupyter(content) if isinstance(content, dict) else content
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


async def test_cells_come_with_ids_sources_and_outputs(workspace: Workspace) -> None:
    file = saved(
        workspace,
        notebook(
            markdown("# Title\nwords", cell_id="intro"),
            code("print('hi')\n6 * 7", stream("hi\n"), result(3, text__plain="42"), cell_id="a1b2", count=3),
            code("", cell_id="empty"),
        ),
    )
    output = await call("NotebookRead", workspace, notebook_path=str(file))
    assert output.content == (
        '<cell id="intro" type="markdown">\n# Title\nwords\n</cell>\n'
        '<cell id="a1b2" type="code" execution_count="3">\nprint(\'hi\')\n6 * 7\n'
        "<output>\nhi\n\n</output>\n<output>\n42\n</output>\n</cell>\n"
        '<cell id="empty" type="code">\n\n</cell>'
    )
    outputs = [{"type": "output", "text": "hi\n"}, {"type": "output", "text": "42"}]
    language = {"language": "python"}
    assert output.structured == {
        "type": "notebook",
        "file": {
            "filePath": str(file),
            "totalCells": 3,
            "cells": [
                {"cell_id": "intro", "cellType": "markdown", "source": "# Title\nwords"},
                {
                    "cell_id": "a1b2",
                    "cellType": "code",
                    "source": "print('hi')\n6 * 7",
                    **language,
                    "executionCount": 3,
                    "outputs": outputs,
                },
                {"cell_id": "empty", "cellType": "code", "source": "", **language, "executionCount": None},
            ],
        },
    }


async def test_read_shows_the_same_unless_lines_are_asked_for(workspace: Workspace) -> None:
    file = saved(workspace, notebook(code("x", cell_id="a")))
    shown = await text_of("Read", workspace, file_path=str(file))
    assert shown == await text_of("NotebookRead", workspace, path=str(file))
    assert (await text_of("Read", workspace, file_path=str(file), limit=2)).startswith('1\t{\n2\t "cells": [')
    saved(workspace, "{broken")
    assert "Read with a limit shows its text" in await error_of("Read", workspace, file_path=str(file))


async def test_one_cell_can_be_asked_for_by_id_or_number(workspace: Workspace) -> None:
    file = saved(workspace, notebook(code("a", cell_id="x1"), code("b", cell_id="cell-0"), code("c"), minor=4))
    for cell_id, source in [("x1", "a"), ("cell-0", "b"), ("cell-1", "b"), ("cell-2", "c")]:
        text = await text_of("NotebookRead", workspace, file_path=str(file), cell_id=cell_id)
        assert text.splitlines()[1:] == [source, "</cell>"]
    for unknown in ("nope", "cell-3", "cell-00", "2", ""):
        error = await error_of("NotebookRead", workspace, notebook_path=str(file), cell_id=unknown)
        assert f"Cell with ID {unknown!r} not found" in error
        assert "x1, cell-0, cell-2." in error


async def test_an_id_that_two_cells_share_is_not_guessed(workspace: Workspace) -> None:
    file = saved(workspace, notebook(code("a", cell_id="x"), code("b", cell_id="x")))
    assert "[not unique: x; name such a cell by its number" in await text_of("NotebookRead", workspace, path=str(file))
    assert "cell-0 or cell-1" in await error_of("NotebookRead", workspace, path=str(file), cell_id="x")
    assert "\nb\n" in await text_of("NotebookRead", workspace, path=str(file), cell_id="cell-1")


async def test_pictures_are_image_blocks_in_their_place(workspace: Workspace) -> None:
    picture = display(image__png=png_text(), text__plain="<Figure size 640x480>")
    attached = markdown("![x](attachment:x.png)", cell_id="m", attachments={"x.png": {"image/png": png_text()}})
    file = saved(workspace, notebook(code("plot()", picture, stream("after"), cell_id="a"), attached))
    output = await call("NotebookRead", workspace, notebook_path=str(file))
    assert isinstance(output.content, list)
    assert [block["type"] for block in output.content] == ["text", "image", "text", "image", "text"]
    assert output.content[1]["source"]["media_type"] == "image/png"
    assert output.content[0]["text"].endswith("plot()\n<output>\n")
    assert "after" in output.content[2]["text"]
    assert output.structured["file"]["cells"][0]["outputs"][0] == {
        "type": "output",
        "text": "",
        "images": [{"type": "image/png", "size": len(png())}],
    }


async def test_a_picture_that_no_api_would_take_is_only_mentioned(workspace: Workspace) -> None:
    bad = [display(image__png="####"), display(image__png="aGVsbG8="), display(image__png=png_text()[:40])]
    text = await text_of("NotebookRead", workspace, path=str(saved(workspace, notebook(code("x", *bad, cell_id="a")))))
    assert "[image/png: damaged, its base64 cannot be read]" in text
    assert "[image/png, 5 bytes: its content is no such picture]" in text
    assert "cannot be shown" in text


async def test_many_pictures_are_counted_out(workspace: Workspace) -> None:
    pictures = [display(image__png=png_text())] * (MAX_PICTURES + 2)
    output = await call("NotebookRead", workspace, path=str(saved(workspace, notebook(code("x", *pictures, cell_id="a")))))
    assert isinstance(output.content, list)
    assert sum(block["type"] == "image" for block in output.content) == MAX_PICTURES
    assert output.text.count("20 pictures come at once") == 2


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"text/html": "<table><tr><td>1</td></tr></table>", "text/plain": "   a\n0  1"}, "   a\n0  1"),
        ({"text/html": ["<b>", "x</b>"], "text/plain": "<IPython.core.display.HTML object>"}, "<b>x</b>"),
        ({"text/plain": "<Figure object at 0x1>"}, "<Figure object at 0x1>"),
        ({"application/json": {"a": [1]}}, '{\n "a": [\n  1\n ]\n}'),
        ({"application/javascript": "alert()"}, "[application/javascript: nothing that can be shown here]"),
        ({"image/svg+xml": "<svg/>"}, "<svg/>"),
        ({"text/plain": "half \ud83d"}, "half \\ud83d"),
    ],
)
async def test_of_several_forms_the_most_telling_is_shown(workspace: Workspace, data: dict[str, Any], shown: str) -> None:
    output = {"data": data, "metadata": {}, "output_type": "display_data"}
    content = json.dumps(notebook(code("x", output, cell_id="a")))
    assert f"<output>\n{shown}\n</output>" in await text_of("NotebookRead", workspace, path=str(saved(workspace, content)))


async def test_errors_come_without_terminal_codes(workspace: Workspace) -> None:
    trace = failure("\x1b[0;31m---\x1b[0m", "\x1b[1;31mZeroDivisionError\x1b[0m: division by zero")
    bare = failure()
    text = await text_of("NotebookRead", workspace, path=str(saved(workspace, notebook(code("1/0", trace, bare, cell_id="a")))))
    assert (
        "<error>\n---\nZeroDivisionError: division by zero\n</error>\n<error>\nZeroDivisionError: division by zero\n</error>"
        in text
    )
    assert plain("a\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b[2Kb") == "alinkb"


async def test_long_outputs_are_cut_in_the_middle_and_marked(workspace: Workspace) -> None:
    long = "first\n" + "x" * 150_000 + "\nlast"
    file = saved(workspace, notebook(code("a", stream(long), stream("second"), cell_id="big"), code("b", cell_id="b")))
    text = await text_of("NotebookRead", workspace, path=str(file))
    assert len(text) < 12_000
    assert "characters left out; NotebookRead with cell_id='big' shows more ...]" in text
    assert "last\n</output>\n<output>\n[1 more outputs left out; NotebookRead with cell_id='big' shows more]" in text
    assert '<cell id="b"' in text
    alone = await text_of("NotebookRead", workspace, path=str(file), cell_id="big")
    assert 100_000 < len(alone) < 102_000
    assert "jq '.cells[0].outputs' through Bash shows all" in alone
    assert cut_middle("abc", 3, "") == "abc"


async def test_a_huge_notebook_names_the_cells_it_does_not_show(workspace: Workspace) -> None:
    cells = [code("y" * 50_000, cell_id=f"c{number}") for number in range(80)]
    text = await text_of("NotebookRead", workspace, path=str(saved(workspace, notebook(*cells))))
    assert len(text) < 270_000
    assert "75 more cells not shown: c5, c6," in text
    assert "c54, …. Show one with NotebookRead and its cell_id]" in text


async def test_the_old_format_can_be_read(workspace: Workspace) -> None:
    output = await call("NotebookRead", workspace, path=str(saved(workspace, format_3())))
    assert isinstance(output.content, list)
    assert [block["type"] for block in output.content] == ["text", "image", "text"]
    assert output.content[0]["text"] == (
        '<cell id="cell-0" type="markdown">\n## Results\n</cell>\n'
        '<cell id="cell-1" type="code" execution_count="4">\nx = 1\nx\n'
        "<output>\nhello\n\n</output>\n<output>\n1\n</output>\n<output>\n"
    )
    assert output.content[2]["text"] == (
        '\n</output>\n<error>\nE: bad\n</error>\n</cell>\n<cell id="cell-2" type="markdown">\nthe *end*\n</cell>\n'
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is no notebook: it is empty"),
        ("  \n", "is no notebook: it is empty"),
        ("[1, 2]", "its JSON is not an object"),
        ("[1, 2", "it is not JSON (Expecting"),
        ('{"a": 1}', "its JSON has no list of cells"),
        ('{"cells": {"a": 1}}', "its JSON has no list of cells"),
        ('{"cells": 7}', "its JSON has no list of cells"),
        ('{"cells": [{"cell_type": "code"}', "it is not JSON (Expecting ',' delimiter"),
        ('{"cells": []', "it is not JSON (Expecting ',' delimiter"),
        ("{cells: []}", "it is not JSON (Expecting property name"),
        ('{"cells" []}', "it is not JSON (Expecting ':' delimiter"),
        ('{"cells": []} x', "extra data after character 13"),
        ('{"cells": [3]}', "cell 0 (from 0) is no object with a cell_type"),
        ('{"cells": [{"cell_type": "code"}, {"source": 1}]}', "cell 1 (from 0)"),
        (b'{"cells": [], "x": "\xff"}', "it is not UTF-8 (byte 20)"),
        ('{"cells": ' + "[" * 200_000 + "]" * 200_000 + "}", "nested too deeply"),
        ('{"cells": [], "a": ' + "9" * 5000 + "}", "it is not JSON"),
    ],
)
async def test_what_is_no_notebook_is_told_and_why(workspace: Workspace, content: str | bytes, words: str) -> None:
    error = await error_of("NotebookRead", workspace, path=str(saved(workspace, content)))
    assert words in error
    assert len(error) < 600


async def test_strange_members_are_survived(workspace: Workspace) -> None:
    cell = {"cell_type": "code", "source": 5, "outputs": [3, {"output_type": "stream"}, {"output_type": "new"}], "id": 4}
    text = await text_of("NotebookRead", workspace, path=str(saved(workspace, {"cells": [cell], "metadata": 3})))
    assert text.startswith('<cell id="cell-0" type="code">\n\n<output>\n[an output of an unknown kind]')
    assert await text_of("NotebookRead", workspace, path=str(saved(workspace, "\ufeff" + as_jupyter(notebook())))) == (
        f"[{workspace.home}/book.ipynb has no cells yet]"
    )


async def test_what_cannot_be_opened_is_told(workspace: Workspace) -> None:
    saved(workspace, notebook(), "analysis.ipynb")
    assert "Did you mean" in await error_of("NotebookRead", workspace, notebook_path="analysys.ipynb")
    assert "is a directory" in await error_of("NotebookRead", workspace, notebook_path=".")
    assert "outside allowed boundaries" in await error_of("NotebookRead", workspace, notebook_path="/etc/passwd")
    os.truncate(saved(workspace, "", "huge.ipynb"), MAX_FILE_SIZE + 1)
    for tool, field in (("NotebookRead", "notebook_path"), ("Read", "file_path")):
        error = await error_of(tool, workspace, **{field: "huge.ipynb"})
        assert "holds more than 104,857,600 bytes" in error
        assert "Clear its outputs" in error


def test_it_only_reads() -> None:
    assert TOOLS["NotebookRead"].read_only
