from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_notebooks import as_jupyter, code, format_3, markdown, notebook, png_text, result, schema_of_format_4, stream
from support_tools import TOOLS, call, error_of, make_workspace, text_of
from toolwright.tools.base import InvalidInput
from toolwright.tools.json_text import read_container
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


async def seen(workspace: Workspace, content: dict[str, Any] | str | bytes) -> Path:
    """A notebook of the session, already read."""
    file = Path(workspace.home) / "book.ipynb"
    text = as_jupyter(content) if isinstance(content, dict) else content
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    await call("NotebookRead", workspace, notebook_path=str(file))
    return file


def sample() -> dict[str, Any]:
    return notebook(
        markdown("# Häding ☃", cell_id="intro"),
        code("a = 1\na", stream("x\n"), result(1, text__plain="1"), cell_id="first", count=1, metadata={"tags": ["t"]}),
        code("b", cell_id="second"),
    )


async def test_replacing_a_code_cell_keeps_its_outputs_and_metadata(workspace: Workspace) -> None:
    file = await seen(workspace, sample())
    before = file.read_text()
    output = await call("NotebookEdit", workspace, notebook_path=str(file), cell_id="first", new_source="a = 2\nprint(a)")
    expected = sample()
    expected["cells"][1] |= {"source": ["a = 2\n", "print(a)"], "execution_count": None}
    assert file.read_text() == as_jupyter(expected)
    assert output.content == f"Cell first replaced in {file}. [its outputs were kept: they are from before this change]"
    assert output.structured == {
        "new_source": "a = 2\nprint(a)",
        "old_source": "a = 1\na",
        "cell_id": "first",
        "cell_type": "code",
        "language": "python",
        "edit_mode": "replace",
        "notebook_path": str(file),
        "original_file": before,
        "updated_file": file.read_text(),
    }


async def test_a_new_cell_goes_after_the_given_one_or_to_the_start(workspace: Workspace) -> None:
    file = await seen(workspace, sample())
    fields = {"notebook_path": str(file), "edit_mode": "insert", "cell_type": "markdown"}
    first = await call("NotebookEdit", workspace, **fields, new_source="start")
    after = await call("NotebookEdit", workspace, **fields, new_source="after\nsecond\n", cell_id="second")
    expected = sample()
    expected["cells"].insert(0, markdown("start", cell_id=first.structured["cell_id"]))
    expected["cells"].append(markdown("after\nsecond\n", cell_id=after.structured["cell_id"]))
    assert file.read_text() == as_jupyter(expected)
    assert after.text == f"New markdown cell {after.structured['cell_id']} inserted after second in {file}."
    assert "old_source" not in after.structured
    middle = await call("NotebookEdit", workspace, **fields | {"cell_type": "code"}, new_source="x", cell_id="first")
    expected["cells"].insert(3, code("x", cell_id=middle.structured["cell_id"]))
    assert file.read_text() == as_jupyter(expected)


@pytest.mark.parametrize("cell_id", ["intro", "first", "second", "cell-1"])
async def test_a_cell_is_deleted_with_its_comma(workspace: Workspace, cell_id: str) -> None:
    file = await seen(workspace, sample())
    text = await text_of("NotebookEdit", workspace, path=str(file), cell_id=cell_id, edit_mode="delete")
    expected = sample()
    gone = {"cell-1": "first"}.get(cell_id, cell_id)
    expected["cells"] = [cell for cell in expected["cells"] if cell["id"] != gone]
    assert file.read_text() == as_jupyter(expected)
    assert text == f"Cell {gone} deleted in {file}."


async def test_the_last_cell_can_go_and_a_first_one_come(workspace: Workspace) -> None:
    file = await seen(workspace, notebook(code("x", cell_id="a")))
    await text_of("NotebookEdit", workspace, path=str(file), cell_id="a", edit_mode="delete", new_source="")
    assert file.read_text() == as_jupyter(notebook())
    fields = {"path": str(file), "edit_mode": "insert", "cell_type": "code", "new_source": "y"}
    made = await call("NotebookEdit", workspace, **fields)
    assert file.read_text() == as_jupyter(notebook(code("y", cell_id=made.structured["cell_id"])))


async def test_a_cell_can_change_its_type(workspace: Workspace) -> None:
    file = await seen(workspace, sample())
    text = await text_of("NotebookEdit", workspace, path=str(file), cell_id="first", cell_type="markdown", new_source="words")
    assert "[it was code and is markdown now; its outputs were cleared]" in text
    cell = json.loads(file.read_text())["cells"][1]
    assert cell == {"cell_type": "markdown", "id": "first", "metadata": {"tags": ["t"]}, "source": ["words"]}
    picture = {"attachments": {"x.png": {"image/png": png_text()}}}
    file = await seen(workspace, notebook(markdown("m", cell_id="m", **picture), minor=5))
    await text_of("NotebookEdit", workspace, path=str(file), cell_id="m", new_source="still")
    assert json.loads(file.read_text())["cells"][0]["attachments"] == picture["attachments"]
    await text_of("NotebookEdit", workspace, path=str(file), cell_id="m", cell_type="code", new_source="x")
    assert json.loads(file.read_text())["cells"][0] == code("x", cell_id="m")


async def test_cells_without_ids_are_named_by_number_and_stay_without(workspace: Workspace) -> None:
    file = await seen(workspace, notebook(code("a"), code("b"), code("c"), minor=4))
    await text_of("NotebookEdit", workspace, path=str(file), cell_id="cell-1", new_source="B")
    fields = {"path": str(file), "edit_mode": "insert", "cell_type": "code", "cell_id": "cell-0", "new_source": "new"}
    made = await call("NotebookEdit", workspace, **fields)
    assert made.structured["cell_id"] == "cell-1"
    assert "the numbers after it have moved" in made.text
    text = await text_of("NotebookEdit", workspace, path=str(file), cell_id="cell-3", edit_mode="delete")
    assert "moved" not in text
    assert file.read_text() == as_jupyter(notebook(code("a"), code("new"), code("B"), minor=4))


async def test_a_missing_id_is_given_where_the_format_wants_one(workspace: Workspace) -> None:
    file = await seen(workspace, notebook(code("a"), minor=5))
    made = await call("NotebookEdit", workspace, path=str(file), cell_id="cell-0", new_source="b")
    assert json.loads(file.read_text())["cells"][0]["id"] == made.structured["cell_id"] != "cell-0"


@pytest.mark.parametrize(
    "layout",
    [
        lambda value: json.dumps(value, indent="\t"),
        lambda value: json.dumps(value, indent=4, ensure_ascii=False).replace("\n", "\r\n"),
        lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        lambda value: json.dumps(value),
        lambda value: "\ufeff" + as_jupyter(value),
        lambda value: "\n\n" + json.dumps(value, indent=0) + "\n\n",
    ],
)
async def test_the_layout_of_the_file_is_kept(workspace: Workspace, layout: Callable[[Any], str]) -> None:
    file = await seen(workspace, layout(sample()))
    await text_of("NotebookEdit", workspace, path=str(file), cell_id="first", new_source="größe\n2")
    fields = {"path": str(file), "cell_id": "first", "edit_mode": "insert", "cell_type": "code", "new_source": "n"}
    made = await call("NotebookEdit", workspace, **fields)
    expected = sample()
    expected["cells"][1] |= {"source": ["größe\n", "2"], "execution_count": None}
    expected["cells"].insert(2, code("n", cell_id=made.structured["cell_id"]))
    assert file.read_bytes().decode() == layout(expected)


async def test_reading_comes_before_editing(workspace: Workspace) -> None:
    file = Path(workspace.home) / "book.ipynb"
    file.write_text(as_jupyter(sample()))
    fields = {"notebook_path": str(file), "cell_id": "first", "new_source": "z"}
    assert "has not been read yet" in await error_of("NotebookEdit", workspace, **fields)
    await text_of("Read", workspace, file_path=str(file))
    os.utime(file, (1, 1))
    await text_of("NotebookEdit", workspace, **fields)
    await text_of("NotebookEdit", workspace, **fields)
    file.write_text(file.read_text() + "\n")
    assert "has changed on disk" in await error_of("NotebookEdit", workspace, **fields)


async def test_what_cannot_be_edited_is_told_and_left_alone(workspace: Workspace) -> None:
    file = await seen(workspace, sample())
    before = file.read_bytes()
    path = str(file)
    error = await error_of("NotebookEdit", workspace, path=path, cell_id="nope", new_source="x")
    assert "Cell with ID 'nope' not found" in error
    assert "intro, first, second" in error
    assert "surrogate" in await error_of("NotebookEdit", workspace, path=path, cell_id="first", new_source="\ud800")
    assert file.read_bytes() == before
    assert "does not exist" in await error_of("NotebookEdit", workspace, path="x.ipynb", cell_id="a", new_source="x")
    assert "is a directory" in await error_of("NotebookEdit", workspace, path=".", cell_id="a", new_source="x")
    await seen(workspace, json.dumps(format_3()))
    error = await error_of("NotebookEdit", workspace, path=path, cell_id="cell-0", new_source="x")
    assert "has notebook format 3.0, and only format 4 can be edited" in error
    file.write_text("{}")
    await text_of("Read", workspace, file_path=path, limit=1)
    assert "has no list of cells" in await error_of("NotebookEdit", workspace, path=path, cell_id="a", new_source="x")


@pytest.mark.parametrize(
    ("fields", "issue"),
    [
        ({"edit_mode": "insert", "new_source": "x"}, "`cell_type` is required with edit_mode insert"),
        ({"cell_id": "a"}, "`new_source` is required with edit_mode replace"),
        ({"new_source": "x"}, "`cell_id` is required with edit_mode replace"),
        ({"edit_mode": "delete"}, "`cell_id` is required with edit_mode delete"),
        ({"edit_mode": "append", "new_source": "x"}, "The parameter `edit_mode` does not fit: invalid enum value 'append'"),
        ({"cell_type": "raw", "cell_id": "a", "new_source": ""}, "The parameter `cell_type` does not fit"),
        ({"cell_id": "a", "new_source": "", "more": 1}, "An unexpected parameter `more` was provided"),
    ],
)
def test_a_misfit_is_named(fields: dict[str, Any], issue: str) -> None:
    with pytest.raises(InvalidInput, match=r"InputValidationError: NotebookEdit failed") as caught:
        TOOLS["NotebookEdit"].parse({"notebook_path": "a.ipynb", **fields})
    assert issue in str(caught.value)


# the law: what is not touched keeps its bytes, and the result is valid

TEXTS = st.text(st.sampled_from('ab\n"\\é☃{}[],:/\x85\u2028'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def cells(draw: st.DrawFn, *, number: int, minor: int) -> dict[str, Any]:
    own = {"id": f"id-{number}"} if minor >= 5 else {}
    source = draw(TEXTS)
    stored = draw(st.sampled_from([source, source.splitlines(keepends=True)]))
    cell: dict[str, Any] = {
        "cell_type": "markdown",
        **own,
        "metadata": draw(st.dictionaries(TEXTS, VALUES, max_size=2)),
        "source": stored,
    }
    if draw(st.booleans()):
        outputs = [{"output_type": "stream", "name": "stdout", "text": draw(TEXTS)}] * draw(st.integers(0, 2))
        cell |= {"cell_type": "code", "outputs": outputs, "execution_count": draw(st.sampled_from([None, 0, 9]))}
    return cell


def laid_out(content: dict[str, Any], draw: st.DrawFn) -> str:
    """JSON in some layout; sometimes with spaces that nobody would expect."""
    indent = draw(st.sampled_from([None, 0, 1, 4, "\t"]))
    text = json.dumps(content, indent=indent, ensure_ascii=draw(st.booleans()), sort_keys=draw(st.booleans()))
    if indent is not None and draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff", "\n "])) + text + draw(st.sampled_from(["", "\n", " \n\n"]))


@st.composite
def notebooks(draw: st.DrawFn) -> tuple[str, int]:
    minor = draw(st.sampled_from([4, 5]))
    count = draw(st.integers(0, 4))
    content = notebook(*[draw(cells(number=number, minor=minor)) for number in range(count)], minor=minor)
    return laid_out(content, draw), minor


@st.composite
def edits(draw: st.DrawFn) -> dict[str, Any]:
    fields: dict[str, Any] = {"edit_mode": draw(st.sampled_from(["replace", "insert", "delete"])), "new_source": draw(TEXTS)}
    fields |= draw(st.sampled_from([{}, {"cell_type": "code"}, {"cell_type": "markdown"}]))
    if fields["edit_mode"] == "insert":
        fields.setdefault("cell_type", "code")
    if fields["edit_mode"] != "insert" or draw(st.booleans()):
        fields["cell_id"] = f"cell-{draw(st.integers(0, 3))}"
    return fields


def cell_texts(data: bytes) -> tuple[list[str], list[str]]:
    """The text of every cell, and of every other member of the notebook."""
    text = data.decode()
    whole = read_container(text, text.index("{"), nested=("cells",))
    array = whole.get("cells")
    assert array is not None
    others = [text[item.start : item.end] for item in whole.items if item.key != "cells"]
    return [text[item.start : item.end] for item in array.value.items], others


@settings(max_examples=80, deadline=None)
@given(notebooks(), edits())
def test_untouched_cells_keep_their_bytes_and_the_result_is_valid(
    tmp_path_factory: pytest.TempPathFactory, content: tuple[str, int], edit: dict[str, Any]
) -> None:
    workspace = make_workspace(tmp_path_factory.getbasetemp())
    text, minor = content
    before, others = cell_texts(text.encode())

    async def run() -> tuple[Path, Any]:
        file = await seen(workspace, text)
        return file, await call("NotebookEdit", workspace, notebook_path=str(file), **edit)

    file, output = anyio.run(run)
    data = file.read_bytes()
    number = int(edit["cell_id"].removeprefix("cell-")) if "cell_id" in edit else -1
    if number >= len(before):
        assert output.is_error
        assert data == text.encode()
        return
    assert output.is_error is None
    after, others_after = cell_texts(data)
    start, end = text.index("{"), text.rindex("}") + 1
    assert data.startswith(text[:start].encode())
    assert data.endswith(text[end:].encode())
    assert others_after == others
    parsed = json.loads(data.decode("utf-8-sig"))
    jsonschema_rs.validator_for(schema_of_format_4(minor)).validate(parsed)
    match edit["edit_mode"]:
        case "delete":
            assert after == before[:number] + before[number + 1 :]
            return
        case "insert":
            assert after[: number + 1] + after[number + 2 :] == before
            changed = parsed["cells"][number + 1]
            assert changed["cell_type"] == edit["cell_type"]
        case _:
            assert after[:number] + after[number + 1 :] == before[:number] + before[number + 1 :]
            changed = parsed["cells"][number]
            assert changed["metadata"] == json.loads(before[number])["metadata"]
    source = changed["source"]
    assert (source if isinstance(source, str) else "".join(source)) == edit["new_source"]
    if edit["edit_mode"] == "insert" or changed["cell_type"] != "code":
        assert not changed.get("outputs")
    else:
        assert changed["outputs"] == json.loads(before[number]).get("outputs", [])
    assert changed.get("execution_count") is None
