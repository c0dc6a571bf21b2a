"""No field of any tool leads out of the boundary. Judged by what happened outside and by what the model was shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support_boundary import (
    INPUTS,
    OTHER_FIELDS,
    PATH_FIELDS,
    PATTERN_FIELDS,
    SECRET,
    PathField,
    make_ground,
    path_fields,
    snapshot,
    text_fields,
)
from support_runtime import play, results, text_of
from support_tools import TOOLS, call, make_workspace
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.tools.base import InvalidInput, ToolOutput
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio

FIELDS = path_fields()


@pytest.fixture
def anyio_backend() -> str:
    """The boundary does not know which event loop runs it."""
    return "asyncio"


each_field = pytest.mark.parametrize("field", FIELDS, ids=str)
each_writer = pytest.mark.parametrize("field", [f for f in FIELDS if not TOOLS[f.tool].read_only and f.tool != "Bash"], ids=str)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """The folder outside; it must be as it was after every test."""
    outside = make_ground(tmp_path)
    before = snapshot(outside)
    yield outside
    assert snapshot(outside) == before


async def attempt(field: PathField, workspace: Workspace, path: str, **more: Any) -> ToolOutput:
    try:
        return await call(field.tool, workspace, **field.input(path, **more))
    except InvalidInput as error:
        return ToolOutput(str(error), is_error=True)


async def refused(field: PathField, workspace: Workspace, path: str) -> str:
    """The text of a call that must be refused and must not tell what lies outside, beyond the path it was given."""
    output = await attempt(field, workspace, path)
    shown = f"{output.content} {output.structured}"
    assert output.is_error, (path, shown)
    assert SECRET not in shown.replace(path, "").replace(os.path.normpath(path), ""), (path, shown)
    return output.text


def test_every_text_field_of_every_tool_is_known_here() -> None:
    """A new tool or field must be sorted in, so that nobody forgets to attack it."""
    assert set(TOOLS) <= set(INPUTS)
    for tool in TOOLS:
        unknown = set(text_fields(tool)) - PATH_FIELDS - PATTERN_FIELDS - OTHER_FIELDS
        assert not unknown, f"{tool}: sort {unknown} into tests/support_boundary.py"
    assert {field.tool for field in FIELDS} == set(TOOLS) - {"BashOutput", "KillShell", "TodoWrite"}


# paths that lead outside


def leading_out(outside: Path) -> list[str]:
    ws = outside.parent / "ws"
    targets = ["", f"/{SECRET}.txt", f"/{SECRET}.ipynb", f"/{SECRET}-folder", "/new.txt", "/new/deep.txt"]
    prefixes = [
        str(outside),  # PV-01: begins like the workspace
        "../ws-evil",
        f"{ws}/../ws-evil",
        f"{ws}/sub/../../ws-evil",
        f"{ws}//sub/./../../ws-evil/.",
        f"/proc/self/root{outside}",
        "/proc/self/cwd/../ws-evil",
    ]
    return [prefix + target for prefix in prefixes for target in targets] + ["/", "..", "../", "/etc", "/etc/passwd", "/tmp/x"]


@each_field
async def test_a_path_that_leads_outside_is_refused(field: PathField, outside: Path) -> None:
    workspace = make_workspace(outside.parent)
    roots = workspace.roots
    for path in leading_out(outside):
        await refused(field, workspace, path)
    assert (workspace.roots, workspace.cwd) == (roots, roots[0])


@each_field
async def test_a_link_that_leads_outside_is_refused(field: PathField, outside: Path) -> None:
    ws = outside.parent / "ws"
    links: dict[str, str | Path] = {
        "file": outside / f"{SECRET}.txt",
        "notebook.ipynb": outside / f"{SECRET}.ipynb",
        "folder": outside,
        "relative": "../ws-evil",
        "one": "two",
        "two": "sub/three",
        "sub/three": f"{ws}/folder/{SECRET}.txt",
        "dangling": outside / "new.txt",
        "magic": f"/proc/self/root{outside}",
        "cwd": "/proc/self/cwd/../ws-evil",
    }
    for name, target in links.items():
        (ws / name).symlink_to(target)
    workspace = make_workspace(outside.parent)
    below = [f"{link}/{name}" for link in ("folder", "relative", "magic", "cwd") for name in (f"{SECRET}.txt", "new.txt", ".")]
    for path in (*links, *below, "folder/new/deep.txt", f"sub/../folder/{SECRET}.ipynb"):
        await refused(field, workspace, path)
        await refused(field, workspace, f"{ws}/{path}")


@each_field
async def test_a_link_made_by_a_command_leads_no_tool_outside(field: PathField, outside: Path) -> None:
    workspace = make_workspace(outside.parent)
    await call("Bash", workspace, command=f"ln -s {outside} planted-link; ln -s {outside}/new planted-file; cd {outside}")
    for path in ("planted-link", "planted-file", "planted-link/x", f"planted-link/{SECRET}.txt", f"../ws-evil/{SECRET}.txt"):
        await refused(field, workspace, path)


# paths that cannot be followed


@each_field
async def test_a_path_that_cannot_be_followed_is_refused_and_not_guessed(field: PathField, outside: Path) -> None:
    ws = outside.parent / "ws"
    (ws / "loop").symlink_to("pool")
    (ws / "pool").symlink_to("loop")
    (ws / "long").symlink_to("x" * 300 + f"/../../ws-evil/{SECRET}.txt")
    workspace = make_workspace(outside.parent)
    for path in ("loop", "loop/x", "nothing/../../ws-evil", f"nothing/../../ws-evil/{SECRET}.txt", "long"):
        await refused(field, workspace, path)


@each_field
async def test_what_cannot_be_a_path_never_reaches_the_system(
    field: PathField, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace(outside.parent)
    asked: list[Any] = []

    def ask(*arguments: Any, **options: Any) -> Any:
        if arguments[0] != workspace.cwd:  # Bash makes sure that its own folder is still there
            asked.append(arguments)
        raise OSError("the system was asked")

    bad = ["a\0b", f"{outside.parent}/ws/inside.txt\0.txt", "\n", " ", "\udc80", "x/\ud800/y", "x" * 256, "x/" * 2100]
    with monkeypatch.context() as patch:
        for name in ("open", "stat", "lstat", "readlink", "listdir", "scandir", "mkdir", "rename", "symlink", "access"):
            patch.setattr(os, name, ask)
        patch.setattr("toolwright.files.boundary.open_beneath", ask)
        outputs = [await attempt(field, workspace, path) for path in bad]
    assert asked == []
    for path, output in zip(bad, outputs, strict=True):
        assert output.is_error, path
        assert "cannot be a path" in output.text, (path, output.text)


# patterns


PATTERNS = (
    *("../**", "../*", "../ws-evil/*", "../../**", "/etc/*", "/**", "{a,/etc}/*", "{..,a}/**", "**/../../ws-evil/*"),
    *("folder/*", "folder/**", "!nothing", "[.][.]/**", "./../ws-evil/**", "sub/../../ws-evil/**", "~/**", "$HOME/*"),
)


@pytest.mark.parametrize(
    ("tool", "name"), [(tool, name) for tool in TOOLS for name in text_fields(tool) if name in PATTERN_FIELDS]
)
async def test_a_pattern_lists_nothing_outside(tool: str, name: str, outside: Path) -> None:
    workspace = make_workspace(outside.parent)
    (outside.parent / "ws/folder").symlink_to(outside)
    is_list = "array" in str(TOOLS[tool].input_schema["properties"][name])
    for pattern in PATTERNS:
        output = await call(tool, workspace, **{**INPUTS[tool], name: [pattern] if is_list else pattern})
        shown = f"{output.content} {output.structured}"
        assert SECRET not in shown, pattern
        assert "passwd" not in shown, pattern


# hard links


@each_writer
async def test_a_write_to_a_hard_link_leaves_the_outside_file_alone_and_says_so(field: PathField, outside: Path) -> None:
    """The policy: what has a name inside may be read, and a write gives that name a file of its own."""
    workspace = make_workspace(outside.parent)
    source = f"{SECRET}.ipynb" if "otebook" in field.name else f"{SECRET}.txt"
    elsewhere = outside.parent / "elsewhere"
    elsewhere.write_bytes((outside / source).read_bytes())
    os.link(elsewhere, outside.parent / f"ws/{source}")
    await call("Read", workspace, file_path=source)
    output = await attempt(field, workspace, source)
    assert output.is_error is None, output.text
    assert "hard link" in output.text
    assert elsewhere.read_bytes() == (outside / source).read_bytes()
    assert b"planted" in (outside.parent / f"ws/{source}").read_bytes()


@each_writer
async def test_files_that_are_written_show_no_temporary_file_and_keep_it_private(field: PathField, outside: Path) -> None:
    ws = outside.parent / "ws"
    name = "file.ipynb" if "otebook" in field.name else "file.txt"
    (ws / name).write_bytes((outside / f"{SECRET}{Path(name).suffix}").read_bytes())
    (ws / name).chmod(0o600)
    workspace = make_workspace(outside.parent)
    await call("Read", workspace, file_path=name)
    modes: list[int] = []
    real = os.fsync

    def look(descriptor: int) -> None:
        modes.extend(path.stat().st_mode & 0o777 for path in ws.glob(".toolwright-*"))
        real(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", look)
        output = await attempt(field, workspace, name)
    assert output.is_error is None, output.text
    assert modes == [0o600]
    assert sorted(os.listdir(ws)) == sorted(["inside.txt", "sub", name])


# deny rules


@pytest.mark.parametrize("field", [field for field in FIELDS if field.tool != "Bash"], ids=str)
async def test_a_deny_rule_holds_for_every_spelling(field: PathField, tmp_path: Path) -> None:
    """A rule is about where a path leads, not about how it is written."""
    secret = make_ground(tmp_path)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/link").symlink_to(secret)
    name = f"{SECRET}.ipynb" if "otebook" in field.name else f"{SECRET}.txt"
    spellings = [f"{secret}/{name}", f"{secret}//./{name}", f"{secret}/{name}/", f"link/{name}", f"./link/../link/{name}"]
    before = snapshot(secret)
    frames = await play(
        tmp_path,
        ScriptedModel([*(Call(field.tool, field.input(path)) for path in spellings), Say("done")]),
        allowed_tools=[field.tool],
        disallowed_tools=[f"Read(/{secret}/**)", f"Edit(/{secret}/**)"],
        add_dirs=[secret],
    )
    answers = results(frames)
    assert len(answers) == len(spellings)
    for path, answer in zip(spellings, answers, strict=True):
        assert answer.get("is_error") or SECRET not in text_of(answer).replace(path, ""), (path, answer)
        assert f"{SECRET}\n" not in text_of(answer)
    assert snapshot(secret) == before
