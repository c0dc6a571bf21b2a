"""Which memory files are read, in which order, how far imports reach, and how the model sees them."""

import os
from pathlib import Path
from typing import Any

import pytest

from support_runtime import assert_valid_history, session_for, until_result, user
from support_settings import Place, first_message
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.settings.imports import imports_of, prose_of, rule_paths
from toolwright.settings.memory import MAX_CHARACTERS, Memory, MemoryPlaces, Recollection
from toolwright.settings.memory_file import MAX_SIZE


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def places_of(place: Place, **more: Any) -> MemoryPlaces:
    return MemoryPlaces(str(place.project), (str(place.config),), managed=(str(place.managed),), **more)


def memory(place: Place, **more: Any) -> Memory:
    return Recollection(places_of(place, **more)).beginning()


def test_files_come_from_far_to_near(place: Place) -> None:
    paths = [
        place.managed / "CLAUDE.md",
        place.config / "CLAUDE.md",
        place.config / "rules" / "style.md",
        place.folder / "AGENTS.md",
        place.folder / "CLAUDE.local.md",
        place.project / "AGENTS.md",
        place.project / "CLAUDE.md",
        place.project / ".toolwright" / "AGENTS.md",
        place.project / ".claude" / "CLAUDE.md",
        place.project / ".claude" / "rules" / "a" / "b.md",
        place.project / "CLAUDE.local.md",
    ]
    for path in paths:
        put(path, f"says {path.name}")
    assert memory(place).files == [os.path.realpath(path) for path in paths]


def test_sources_choose_what_is_read(place: Place) -> None:
    put(place.managed / "CLAUDE.md", "managed")
    put(place.config / "CLAUDE.md", "user")
    put(place.project / "CLAUDE.md", "project")
    put(place.project / "CLAUDE.local.md", "local")
    for sources in ([], ["user"], ["project"], ["local"]):
        files = [Path(path).read_text() for path in memory(place, sources=sources).files]
        assert files == ["managed", *sources]


def test_the_users_own_folder_above_a_project_is_not_the_projects(place: Place) -> None:
    put(place.folder / ".claude" / "CLAUDE.md", "mine")
    own = (str(place.folder / ".claude"),)
    for sources, expected in ((["project"], False), (["user"], True)):
        places = MemoryPlaces(str(place.project), own, sources=sources, managed=())
        assert ("mine" in Recollection(places).beginning().text) is expected


def test_nothing_there_is_no_text(place: Place) -> None:
    assert memory(place) == Memory()


def test_the_same_file_is_read_once(place: Place) -> None:
    put(place.project / "AGENTS.md", "one text @AGENTS.md @CLAUDE.md")
    (place.project / "CLAUDE.md").symlink_to("AGENTS.md")
    assert memory(place).text.count("one text") == 1


def test_excluded_files_are_not_read(place: Place) -> None:
    put(place.folder / "CLAUDE.md", "other team")
    put(place.project / "CLAUDE.md", "ours")
    assert "other team" not in memory(place, excludes=(str(place.folder / "CLAUDE.md"),)).text
    assert memory(place, excludes=("*/CLAUDE.md",)).text == ""


def test_imports_are_followed_four_times_and_cycles_end(place: Place) -> None:
    put(place.project / "CLAUDE.md", "top @d1.md")
    for step in range(1, 7):
        put(place.project / f"d{step}.md", f"step {step} @d{step + 1}.md @CLAUDE.md")
    found = memory(place)
    assert [os.path.basename(path) for path in found.files] == ["CLAUDE.md", "d1.md", "d2.md", "d3.md", "d4.md"]
    assert "d5.md was left out: it is more than 4 imports away" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("@a.md and @b/c.md.", ["a.md", "b/c.md"]),
        ("(@a.md) mail me@example.com", []),
        ("`@a.md` ``@b.md`` @c.md", ["c.md"]),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~~\n@a.md\n~~~\n@b.md\n~~~~\n@c.md", ["c.md"]),
        ("<!-- @a.md -->\n@b.md", ["b.md"]),
        ("@with\\ space.md @~/x @a.md @a.md", ["with space.md", "~/x", "a.md"]),
        ("```\nnever closed\n@a.md", []),
    ],
)
def test_imports_are_found_outside_code_and_comments(text: str, named: list[str]) -> None:
    assert imports_of(text) == named


def test_comments_are_left_out_but_not_those_in_code() -> None:
    assert prose_of("a <!-- b\nc --> d\n```\n<!-- kept -->\n```\n") == "a  d\n```\n<!-- kept -->\n```\n"


@pytest.mark.parametrize(
    "front", ["paths: src/**, *.py", "paths: ['src/**', \"*.py\"]", "other: 1\npaths:\n  - src/**\n  - '*.py'\nmore: 2"]
)
def test_a_rule_says_which_files_it_is_about(front: str, place: Place) -> None:
    assert rule_paths(f"---\n{front}\n---\nBe kind.") == (["src/**", "*.py"], "Be kind.")
    put(place.project / ".claude" / "rules" / "x.md", f"---\n{front}\n---\nBe kind.")
    assert "for files that match src/**, *.py):\nBe kind." in memory(place).text


def test_a_project_cannot_import_from_outside_until_it_is_trusted(place: Place) -> None:
    secret = put(place.folder / "secret" / "key", "SECRET")
    put(place.project / "CLAUDE.md", f"@{secret} @../secret/key @link")
    (place.project / "link").symlink_to(secret)
    found = memory(place)
    assert "SECRET" not in found.text
    assert all("this folder is not trusted" in note for note in found.notes)
    assert len(found.notes) == 3
    assert "SECRET" in memory(place, is_trusted=lambda: True).text


def test_a_memory_file_that_is_a_link_to_the_outside_is_not_read(place: Place) -> None:
    secret = put(place.folder / "secret" / "key", "SECRET")
    (place.project / "CLAUDE.md").symlink_to(secret)
    (place.project / ".claude").mkdir()
    (place.project / ".claude" / "rules").symlink_to(put(place.folder / "elsewhere" / "r.md", "SECRET").parent)
    assert "SECRET" not in memory(place).text


def test_the_users_own_file_may_import_from_anywhere(place: Place) -> None:
    note = put(place.folder / "elsewhere" / "note.md", "my note")
    put(place.config / "CLAUDE.md", f"@{note}")
    assert "my note" in memory(place).text


def test_what_a_deny_rule_hides_is_not_imported(place: Place) -> None:
    put(place.project / "CLAUDE.md", "@.env")
    put(place.project / ".env", "SECRET")
    assert "SECRET" not in memory(place, is_hidden=lambda path: path.endswith(".env"), is_trusted=lambda: True).text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_file_of_another_user_above_the_folder_is_not_read(place: Place) -> None:
    os.chown(put(place.folder / "CLAUDE.md", "planted"), 12345, 12345)
    found = memory(place)
    assert found.text == ""
    assert "belongs to another user" in found.notes[0]


def test_files_are_bounded_and_what_is_cut_says_so(place: Place) -> None:
    put(place.project / "CLAUDE.md", "x" * (MAX_SIZE + 10) + " @more.md")
    found = memory(place)
    assert "The rest of this file is not shown" in found.text
    assert "too long and was cut" in found.notes[0]
    put(place.project / "CLAUDE.md", " ".join(f"@m{number}.md" for number in range(9)))
    for number in range(9):
        put(place.project / f"m{number}.md", "y" * MAX_SIZE)
    found = memory(place)
    assert len(found.text) < MAX_CHARACTERS + 5000
    assert "too many memory files" in found.notes[-1]


@pytest.mark.parametrize("kind", ["pipe", "folder", "binary", "dangling"])
def test_what_cannot_be_read_is_left_out_with_a_note(kind: str, place: Place) -> None:
    path = place.project / "CLAUDE.md"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "binary":
        path.write_bytes(b"\0\1")
    else:
        path.symlink_to("nowhere")
    put(place.project / "AGENTS.md", "still here")
    found = memory(place)
    assert "still here" in found.text
    assert len(found.notes) == 1


def test_a_subfolder_speaks_when_a_file_in_it_was_read_and_only_once(place: Place) -> None:
    put(place.project / "CLAUDE.md", "top")
    put(place.project / "a" / "CLAUDE.md", "in a")
    put(place.project / "a" / "b" / "AGENTS.md", "in b @../../../secret")
    put(place.folder / "secret", "SECRET")
    recollection = Recollection(places_of(place))
    assert "in a" not in recollection.beginning().text
    root = os.path.realpath(place.project)
    told = recollection.below([f"{root}/a/b", "/etc", root])
    assert told.text.index("in a") < told.text.index("in b")
    assert "SECRET" not in told.text
    assert recollection.below([f"{root}/a/b", f"{root}/a"]).text == ""


# in a conversation


@pytest.mark.anyio
async def test_the_conversation_begins_with_them_and_says_them_once(place: Place) -> None:
    put(place.project / "CLAUDE.md", "Answer in Latin.")
    model = ScriptedModel([Call("Glob", {"pattern": "*"}), Say("salve"), Say("vale")])
    async with session_for(place.folder, model) as session:
        for prompt in ("hello", "bye"):
            await session.send(user(prompt))
            await until_result(session)
    assert len(model.requests) == 3
    for request in range(3):
        memo, prompt, *_ = first_message(model, request)
        assert memo.startswith("<standing-instructions>")
        assert "Answer in Latin." in memo
        assert prompt == "hello"
        everything = str([message.content for message in model.requests[request].messages])
        assert everything.count("Answer in Latin.") == 1
        assert "Latin" not in model.requests[request].system
    assert_valid_history(model)


@pytest.mark.anyio
async def test_a_resumed_session_reads_them_anew(place: Place) -> None:
    put(place.project / "CLAUDE.md", "Old advice.")
    first = await place.play()
    put(place.project / "CLAUDE.md", "New advice.")
    model = ScriptedModel([Say("again")])
    await place.play(model, resume=first[-1]["session_id"])
    memo, prompt = first_message(model)
    assert "New advice." in memo
    assert "Old advice." not in str([message.content for message in model.requests[0].messages])
    assert prompt == "go"
    transcripts = "".join(path.read_text() for path in place.config.rglob("*.jsonl"))
    assert "advice" not in transcripts


@pytest.mark.anyio
async def test_setting_sources_decide_about_them(place: Place) -> None:
    put(place.project / "CLAUDE.md", "Answer in Latin.")
    model = ScriptedModel([Say("hi")])
    await place.play(model, setting_sources=[])
    assert first_message(model) == ["go"]


@pytest.mark.anyio
async def test_what_deny_rules_hide_is_kept_from_the_model(place: Place) -> None:
    put(place.project / "CLAUDE.md", "@.env")
    put(place.project / ".env", "SECRET")
    model = ScriptedModel([Say("hi")])
    await place.play(model, disallowed_tools=["Read(.env)"])
    assert "SECRET" not in str(first_message(model))
    assert any("a deny rule forbids reading it" in line for line in place.lines)


@pytest.mark.anyio
async def test_added_folders_count_only_if_asked_for(place: Place) -> None:
    put(place.folder / "lib" / "CLAUDE.md", "library advice")
    for env, expected in (({}, False), ({"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}, True)):
        model = ScriptedModel([Say("hi")])
        await place.play(model, add_dirs=[place.folder / "lib"], env=env)
        assert ("library advice" in str(first_message(model))) is expected


@pytest.mark.anyio
async def test_the_advice_of_a_subfolder_comes_with_the_result_of_the_first_read_there(place: Place) -> None:
    put(place.project / "lib" / "CLAUDE.md", "lib advice")
    for name in ("x", "y"):
        put(place.project / "lib" / name, "content")
    calls = [Call("Read", {"file_path": f"lib/{name}"}) for name in ("x", "y")]
    model = ScriptedModel([*calls, Say("done")])
    await place.play(model)
    seen = [str([message.content for message in request.messages]).count("lib advice") for request in model.requests]
    assert seen == [0, 1, 1]
    assert "lib advice" in str(model.requests[1].messages[-1].content)
    assert_valid_history(model)
