"""The file tools under permissions: what they touch decides, not their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_notebooks import as_jupyter, code, notebook
from support_runtime import play, results, text_of
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.types import HookMatcher

pytestmark = pytest.mark.anyio

READ = Call("Read", {"file_path": "note.txt"})
MULTI_EDIT = Call("MultiEdit", {"file_path": "note.txt", "edits": [{"old_string": "hello", "new_string": "bye"}]})
NOTEBOOK_READ = Call("NotebookRead", {"notebook_path": "book.ipynb"})
NOTEBOOK_EDIT = Call("NotebookEdit", {"notebook_path": "book.ipynb", "cell_id": "a", "new_source": "new"})


def prepared(folder: Path) -> tuple[Path, Path]:
    """A session's folder with a text and a notebook."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "note.txt").write_text("hello\n")
    (workspace / "book.ipynb").write_text(as_jupyter(notebook(code("old", cell_id="a"))))
    return workspace / "note.txt", workspace / "book.ipynb"


async def edited(folder: Path, **options: Any) -> tuple[list[str], bool, bool]:
    """The answers to the two edits, and whether each was made."""
    text, book = prepared(folder)
    model = ScriptedModel([READ, MULTI_EDIT, NOTEBOOK_READ, NOTEBOOK_EDIT, Say("done")])
    answers = [text_of(result) for result in results(await play(folder, model, **options))]
    return [answers[1], answers[3]], text.read_text() == "bye\n", '"new"' in book.read_text()


async def test_accept_edits_allows_edits_inside(tmp_path: Path) -> None:
    answers, *made = await edited(tmp_path, permission_mode="acceptEdits")
    assert made == [True, True]
    assert "has been updated successfully" in answers[0]
    assert "Cell a replaced" in answers[1]


async def test_without_permission_nothing_is_edited(tmp_path: Path) -> None:
    answers, *made = await edited(tmp_path)
    assert made == [False, False]
    assert all("needs permission" in answer for answer in answers)


async def test_plan_mode_only_looks(tmp_path: Path) -> None:
    _, *made = await edited(tmp_path, permission_mode="plan")
    assert made == [False, False]


@pytest.mark.parametrize("rules", [["Edit"], ["MultiEdit", "NotebookEdit"], ["Edit(**)"], ["Edit(*.txt)", "Edit(/book.ipynb)"]])
async def test_rules_allow_by_name_or_by_path(tmp_path: Path, rules: list[str]) -> None:
    _, *made = await edited(tmp_path, allowed_tools=rules)
    assert made == [True, True]


async def test_denying_edit_denies_its_other_forms(tmp_path: Path) -> None:
    answers, *made = await edited(tmp_path, permission_mode="acceptEdits", disallowed_tools=["Edit"])
    assert made == [False, False]
    assert answers == ["MultiEdit is denied by the rule Edit.", "NotebookEdit is denied by the rule Edit."]


async def test_a_deny_rule_for_paths_covers_all_tools_that_write(tmp_path: Path) -> None:
    answers, *made = await edited(tmp_path, permission_mode="acceptEdits", disallowed_tools=["Edit(*.ipynb)"])
    assert made == [True, False]
    assert "denied by the rule Edit(*.ipynb)" in answers[1]


async def test_protected_files_are_asked_about_even_when_edits_are_accepted(tmp_path: Path) -> None:
    prepared(tmp_path)
    edits = [{"old_string": "", "new_string": "alias ls=rm"}]
    model = ScriptedModel([Call("MultiEdit", {"file_path": ".bashrc", "edits": edits}), Say("done")])
    frames = await play(tmp_path, model, permission_mode="acceptEdits")
    assert results(frames)[0]["is_error"] is True
    assert not (tmp_path / "workspace/.bashrc").exists()


async def test_looking_inside_needs_no_permission_and_looking_outside_does(tmp_path: Path) -> None:
    prepared(tmp_path)
    outside = [Call("LS", {"path": "/etc"}), Call("NotebookRead", {"notebook_path": "/etc/x.ipynb"})]
    model = ScriptedModel([Call("LS", {}), NOTEBOOK_READ, *outside, Say("done")])
    answers = results(await play(tmp_path, model))
    assert text_of(answers[0]).splitlines()[1:] == ["book.ipynb\t386 bytes", "note.txt\t6 bytes"]
    assert [bool(answer.get("is_error")) for answer in answers] == [False, False, True, True]


async def test_what_may_not_be_read_is_not_listed(tmp_path: Path) -> None:
    prepared(tmp_path)
    (tmp_path / "workspace/private").mkdir()
    calls = [Call("LS", {}), Call("LS", {"path": "private"}), NOTEBOOK_READ]
    denied = ["Read(private/**)", "Read(*.ipynb)"]
    answers = results(await play(tmp_path, ScriptedModel([*calls, Say("done")]), disallowed_tools=denied))
    assert text_of(answers[0]).splitlines()[1:] == ["note.txt\t6 bytes"]
    assert all("denied by the rule" in text_of(answer) for answer in answers[1:])


async def test_hooks_see_the_notebook_by_its_absolute_path(tmp_path: Path) -> None:
    _, book = prepared(tmp_path)
    seen: list[dict[str, Any]] = []

    async def watch(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append(payload["tool_input"])
        return {}

    model = ScriptedModel([Call("NotebookRead", {"path": "./book.ipynb"}), Say("done")])
    await play(tmp_path, model, hooks={"PreToolUse": [HookMatcher(hooks=[watch])]})
    assert seen == [{"notebook_path": str(book)}]
