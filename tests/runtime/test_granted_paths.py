"""A yes means yes: outside the working folders a call opens exactly the path that somebody said yes to, and nothing else.

Judged from outside: through `query`, by what came back and by what lies on the disk.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support_boundary import NOTEBOOK, SECRET, snapshot
from toolwright import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
    query,
)
from toolwright.testing import Call, Say, ScriptedModel
from toolwright.types import ToolResultBlock, UserMessage

pytestmark = pytest.mark.anyio

WALL = "outside allowed boundaries"


class Ground:
    """A working folder, and a folder outside of it with one file of each kind."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, folder / "config"
        self.workspace, self.outside = folder / "workspace", folder / "outside"
        for made in (self.workspace, self.outside / "sub", self.config):
            made.mkdir(parents=True)
        (self.outside / "note.txt").write_text(f"{SECRET}\n")
        (self.outside / "sub/deep.txt").write_text(f"{SECRET} below\n")
        (self.outside / "book.ipynb").write_text(json.dumps(NOTEBOOK))

    def options(self, model: ScriptedModel | str, **more: Any) -> ClaudeAgentOptions:
        env = {"CLAUDE_CONFIG_DIR": str(self.config), "IS_SANDBOX": "1"}
        return ClaudeAgentOptions(model=model, cwd=self.workspace, env=env, **more)

    async def run(self, *calls: Call, **more: Any) -> list[ToolResultBlock]:
        """The results of these calls, one after the other."""
        model = ScriptedModel([*([call] for call in calls), Say("done")])
        messages = [message async for message in query(prompt="go", options=self.options(model, **more))]
        contents = [message.content for message in messages if isinstance(message, UserMessage)]
        found = [block for content in contents if isinstance(content, list) for block in content]
        return [block for block in found if isinstance(block, ToolResultBlock)]

    async def last(self, *calls: Call, **more: Any) -> ToolResultBlock:
        return (await self.run(*calls, **more))[-1]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def text_of(result: ToolResultBlock) -> str:
    return result.content if isinstance(result.content, str) else json.dumps(result.content)


class Person:
    """Answers permission questions and remembers them."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any] = lambda given: PermissionResultAllow()) -> None:
        self.answer = answer
        self.asked: list[ToolPermissionContext] = []

    async def __call__(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        self.asked.append(context)
        return self.answer(given)


# the ways to say yes, for every tool

TOOLS = ("Read", "Write", "Edit", "MultiEdit", "NotebookRead", "NotebookEdit", "Glob", "Grep", "LS")


def calls_of(tool: str, outside: Path) -> list[Call]:
    """Calls of the tool outside, after what has to come before."""
    note, book = str(outside / "note.txt"), str(outside / "book.ipynb")
    edit = {"old_string": SECRET, "new_string": "changed"}
    match tool:
        case "Read":
            return [Call("Read", {"file_path": note})]
        case "Write":
            return [Call("Write", {"file_path": str(outside / "new/folder/file.txt"), "content": "written"})]
        case "Edit":
            return [Call("Read", {"file_path": note}), Call("Edit", {"file_path": note, **edit})]
        case "MultiEdit":
            return [Call("Read", {"file_path": note}), Call("MultiEdit", {"file_path": note, "edits": [edit]})]
        case "NotebookRead":
            return [Call("NotebookRead", {"notebook_path": book})]
        case "NotebookEdit":
            change = {"notebook_path": book, "cell_id": "one", "new_source": "changed"}
            return [Call("NotebookRead", {"notebook_path": book}), Call("NotebookEdit", change)]
        case "Glob":
            return [Call("Glob", {"pattern": "**/*.txt", "path": str(outside)})]
        case "Grep":
            return [Call("Grep", {"pattern": "S.CRET", "path": str(outside), "output_mode": "content"})]
    return [Call("LS", {"path": str(outside)})]


def expect_done(tool: str, result: ToolResultBlock, outside: Path) -> None:
    told = text_of(result)
    assert not result.is_error, told
    match tool:
        case "Write":
            assert (outside / "new/folder/file.txt").read_text() == "written"
        case "Edit" | "MultiEdit":
            assert (outside / "note.txt").read_text() == "changed\n"
        case "NotebookEdit":
            assert "changed" in (outside / "book.ipynb").read_text()
        case "Read" | "NotebookRead":
            assert SECRET in told
        case "Grep":
            assert "deep.txt" in told
            assert "note.txt" in told
        case "Glob":
            assert str(outside / "sub/deep.txt") in told
        case "LS":
            assert "note.txt" in told


async def hook_says_allow(given: Any, tool_use_id: str | None, context: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


async def person_hook_says_allow(given: Any, tool_use_id: str | None, context: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


WAYS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "answer": lambda outside: {"can_use_tool": Person()},
    "tool rule": lambda outside: {"allowed_tools": list(TOOLS)},
    "path rule": lambda outside: {"allowed_tools": [f"Read(/{outside}/**)", f"Edit(/{outside}/**)"]},
    "mode": lambda outside: {"permission_mode": "bypassPermissions"},
    "PreToolUse hook": lambda outside: {"hooks": {"PreToolUse": [HookMatcher(hooks=[hook_says_allow])]}},
    "PermissionRequest hook": lambda outside: {"hooks": {"PermissionRequest": [HookMatcher(hooks=[person_hook_says_allow])]}},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tool", TOOLS)
async def test_whoever_says_yes_opens_the_path(tool: str, way: str, ground: Ground) -> None:
    result = await ground.last(*calls_of(tool, ground.outside), **WAYS[way](ground.outside))
    expect_done(tool, result, ground.outside)


@pytest.mark.parametrize("tool", TOOLS)
async def test_where_nobody_decided_the_boundary_holds(tool: str, ground: Ground) -> None:
    before = snapshot(ground.outside)
    for result in await ground.run(*calls_of(tool, ground.outside)):
        assert result.is_error
        assert SECRET not in text_of(result)
    assert snapshot(ground.outside) == before


STRICT: dict[str, dict[str, Any]] = {
    "option": {"boundary": "strict"},
    "settings": {"settings": json.dumps({"boundary": "strict"})},
    "managed": {
        "extra_args": {"managed-settings": json.dumps({"boundary": "strict"})},
        "settings": json.dumps({"boundary": "default"}),
        "boundary": "default",
    },
}


@pytest.mark.parametrize("said", STRICT)
@pytest.mark.parametrize("way", ["answer", "tool rule", "mode"])
@pytest.mark.parametrize("tool", TOOLS)
async def test_a_strict_boundary_stays_closed_whoever_says_yes(tool: str, way: str, said: str, ground: Ground) -> None:
    before = snapshot(ground.outside)
    for result in await ground.run(*calls_of(tool, ground.outside), **WAYS[way](ground.outside), **STRICT[said]):
        assert WALL in text_of(result)
        assert result.is_error
    assert snapshot(ground.outside) == before


@pytest.mark.parametrize("scope", ["user", "project"])
async def test_a_settings_file_can_make_it_strict_also_in_a_folder_nobody_trusts(scope: str, ground: Ground) -> None:
    folder = ground.config if scope == "user" else ground.workspace / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text('{"boundary": "strict"}')
    result = await ground.last(*calls_of("Read", ground.outside), allowed_tools=["Read"])
    assert WALL in text_of(result)


async def test_a_strict_session_still_takes_a_folder_that_a_person_adds(ground: Ground) -> None:
    person = Person()
    person.answer = lambda given: PermissionResultAllow(updated_permissions=person.asked[-1].suggestions)
    result = await ground.last(*calls_of("Read", ground.outside), can_use_tool=person, boundary="strict")
    assert SECRET in text_of(result)
    assert "The boundary is strict" in str(person.asked[0].decision_reason)


@pytest.mark.parametrize("strict", [False, True])
async def test_the_same_holds_for_a_session_behind_the_command(strict: bool, ground: Ground) -> None:
    script = ground.folder / "script.json"
    steps = [{"tool": call.name, "input": call.input} for call in calls_of("Read", ground.outside)]
    script.write_text(json.dumps({"steps": [*steps, {"text": "done"}]}))
    person, more = Person(), {"boundary": "strict"} if strict else {}
    options = ground.options(f"scripted:{script}", cli_path=toolwright_program(), can_use_tool=person, **more)
    async with ClaudeSDKClient(options) as client:
        await client.query("go")
        contents = [m.content async for m in client.receive_response() if isinstance(m, UserMessage)]
    assert (SECRET in str(contents)) != strict
    assert (WALL in str(contents)) == strict
    assert person.asked[0].blocked_path == str(ground.outside / "note.txt")


def toolwright_program() -> str:
    return str(Path(sys.executable).parent / "toolwright")


# exactly this path


async def test_a_yes_is_about_one_call_and_one_path(ground: Ground) -> None:
    person = Person(lambda given: PermissionResultAllow() if len(person.asked) == 1 else PermissionResultDeny())
    note = str(ground.outside / "note.txt")
    calls = [Call("Read", {"file_path": note}), Call("Grep", {"pattern": "x", "path": note})]
    first, second = await ground.run(*calls, can_use_tool=person)
    assert not first.is_error
    assert second.is_error
    assert len(person.asked) == 2


async def test_a_yes_to_a_file_does_not_show_its_folder(ground: Ground) -> None:
    result = await ground.last(Call("Read", {"file_path": str(ground.outside / "note.tx")}), can_use_tool=Person())
    assert "File does not exist" in text_of(result)
    assert "note.txt" not in text_of(result)
    assert "does not exist either" not in text_of(result)


async def test_a_rule_for_a_folder_does_not_reach_beyond_it(ground: Ground) -> None:
    rules = {"allowed_tools": [f"Read(/{ground.outside}/sub/**)"]}
    assert not (await ground.last(Call("Read", {"file_path": str(ground.outside / "sub/deep.txt")}), **rules)).is_error
    assert not (await ground.last(Call("LS", {"path": str(ground.outside / "sub")}), **rules)).is_error
    for call in (*calls_of("Read", ground.outside), *calls_of("LS", ground.outside), *calls_of("Grep", ground.outside)):
        assert (await ground.last(call, **rules)).is_error


async def test_a_remembered_rule_opens_the_next_path_without_a_question(ground: Ground) -> None:
    person = Person()
    person.answer = lambda given: PermissionResultAllow(updated_permissions=person.asked[-1].suggestions)
    paths = [ground.outside / "note.txt", ground.outside / "sub/deep.txt"]
    calls = [Call("Read", {"file_path": str(path)}) for path in paths]
    results = await ground.run(*calls, *calls_of("LS", ground.outside / "sub"), can_use_tool=person)
    assert [bool(result.is_error) for result in results] == [False, False, False]
    assert len(person.asked) == 1


async def test_links_below_a_granted_folder_are_not_followed(ground: Ground) -> None:
    secret = ground.folder / "elsewhere"
    secret.mkdir()
    (secret / "key").write_text("K3Y\n")
    (ground.outside / "door").symlink_to(secret)
    for call in (*calls_of("Grep", ground.outside), *calls_of("Glob", ground.outside)):
        assert "key" not in text_of(await ground.last(call, can_use_tool=Person()))


async def test_several_files_of_one_edit_are_all_granted_or_nothing_is_written(ground: Ground) -> None:
    inside, outside = ground.workspace / "in.txt", ground.outside / "note.txt"
    inside.write_text(f"{SECRET}\n")
    edits = [{"file_path": str(path), "old_string": SECRET, "new_string": "changed"} for path in (inside, outside)]
    reads = [Call("Read", {"file_path": str(path)}) for path in (inside, outside)]
    assert not (await ground.last(*reads, Call("MultiEdit", {"edits": edits}), can_use_tool=Person())).is_error
    assert (inside.read_text(), outside.read_text()) == ("changed\n", "changed\n")


# where a path leads


@pytest.mark.parametrize("inside", [True, False], ids=["link inside", "link outside"])
@pytest.mark.parametrize("tool", ["Read", "Edit", "LS"])
async def test_the_question_shows_where_a_link_really_leads(tool: str, inside: bool, ground: Ground) -> None:
    link = (ground.workspace if inside else ground.folder) / "link"
    link.symlink_to(ground.outside)
    person = Person()
    result = await ground.last(*calls_of(tool, link), can_use_tool=person)
    expect_done(tool, result, ground.outside)
    real = str(ground.outside if tool == "LS" else ground.outside / "note.txt")
    for context in person.asked:
        assert real in str(context.decision_reason)
        assert context.blocked_path == real


async def test_a_link_inside_that_leads_out_is_closed_where_nobody_decided(ground: Ground) -> None:
    (ground.workspace / "link").symlink_to(ground.outside)
    for tool in TOOLS:
        for result in await ground.run(*calls_of(tool, ground.workspace / "link"), permission_mode="acceptEdits"):
            assert result.is_error
            assert SECRET not in text_of(result)
    assert not (ground.outside / "new").exists()


async def test_a_rule_about_the_link_alone_does_not_cover_where_it_leads(ground: Ground) -> None:
    (ground.folder / "link").symlink_to(ground.outside)
    rules = [f"Read(/{ground.folder}/link/**)"]
    assert (await ground.last(*calls_of("Read", ground.folder / "link"), allowed_tools=rules)).is_error


async def test_a_rule_about_where_a_link_inside_leads_covers_reading_through_it(ground: Ground) -> None:
    (ground.workspace / "link").symlink_to(ground.outside)
    rules = [f"Read(/{ground.outside}/**)"]
    assert SECRET in text_of(await ground.last(*calls_of("Read", ground.workspace / "link"), allowed_tools=rules))


@pytest.mark.skipif(not os.path.exists("/etc/os-release"), reason="this system has no such file")
@pytest.mark.parametrize("way", ["tool rule", "mode", "PreToolUse hook"])
async def test_a_yes_counts_for_a_link_to_what_is_read_unasked(way: str, ground: Ground) -> None:
    (ground.workspace / "link").symlink_to("/etc/os-release")
    result = await ground.last(Call("Read", {"file_path": "link"}), **WAYS[way](ground.outside))
    assert not result.is_error, text_of(result)


# answers that change the call


async def test_the_path_that_a_person_wrote_is_what_is_granted(ground: Ground) -> None:
    other = ground.outside / "sub/deep.txt"
    person = Person(lambda given: PermissionResultAllow(updated_input={**given, "file_path": str(other)}))
    assert "below" in text_of(await ground.last(*calls_of("Read", ground.outside), can_use_tool=person))


async def test_the_path_that_a_hook_wrote_is_what_is_granted(ground: Ground) -> None:
    async def redirect(given: Any, tool_use_id: str | None, context: Any) -> Any:
        path = str(ground.outside / "sub/deep.txt")
        said = {"permissionDecision": "allow", "updatedInput": {"file_path": path}}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}

    hooks = {"PreToolUse": [HookMatcher(hooks=[redirect])]}
    assert "below" in text_of(await ground.last(*calls_of("Read", ground.outside), hooks=hooks))


# what a yes does not reach


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tool", TOOLS)
async def test_a_deny_rule_wins_over_every_yes(tool: str, way: str, ground: Ground) -> None:
    before = snapshot(ground.outside)
    denied = [f"Read(/{ground.outside}/**)"]
    result = await ground.last(*calls_of(tool, ground.outside), disallowed_tools=denied, **WAYS[way](ground.outside))
    assert result.is_error
    assert SECRET not in text_of(result)
    assert snapshot(ground.outside) == before


@pytest.mark.parametrize("tool", ["Glob", "Grep", "LS"])
async def test_what_a_deny_rule_hides_below_a_granted_folder_stays_hidden(tool: str, ground: Ground) -> None:
    (ground.folder / "link").symlink_to(ground.outside)
    for spelled in (ground.outside, ground.folder / "link"):
        for denied in (ground.outside, ground.folder / "link"):
            rules = [f"Read(/{denied}/sub/**)", f"Read(/{denied}/note.txt)"]
            told = text_of(await ground.last(*calls_of(tool, spelled), disallowed_tools=rules, can_use_tool=Person()))
            assert "deep" not in told
            assert "note.txt" not in told


@pytest.mark.parametrize("way", ["tool rule", "path rule", "PreToolUse hook"])
@pytest.mark.parametrize("name", [".bashrc", ".git/config", ".claude/settings.json"])
async def test_a_protected_name_needs_a_person_also_outside(name: str, way: str, ground: Ground) -> None:
    write = Call("Write", {"file_path": str(ground.outside / name), "content": "planted"})
    assert (await ground.last(write, **WAYS[way](ground.outside))).is_error
    assert not (ground.outside / name).exists()


async def test_a_protected_name_behind_a_link_needs_a_person(ground: Ground) -> None:
    (ground.workspace / "notes").symlink_to(ground.outside / ".bashrc")
    write = Call("Write", {"file_path": str(ground.workspace / "notes"), "content": "planted"})
    for more in ({"allowed_tools": ["Write"]}, {"permission_mode": "acceptEdits"}):
        assert (await ground.last(write, **more)).is_error
    assert not (ground.outside / ".bashrc").exists()


@pytest.mark.parametrize("way", ["answer", "tool rule", "mode"])
@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/environ",
        "/proc/self/root/etc/hostname",
        "/proc/self/cwd",
        "/dev/stdin",
        "/dev/fd/0",
        "/dev/null",
        "/dev/zero",
    ],
)
async def test_processes_and_devices_stay_closed(path: str, way: str, ground: Ground) -> None:
    link = ground.outside / "link"
    link.symlink_to(path)
    for spelled in (path, str(link)):
        for call in (Call("Read", {"file_path": spelled}), Call("Write", {"file_path": spelled, "content": "x"})):
            result = await ground.last(call, **WAYS[way](ground.outside))
            assert result.is_error, text_of(result)
    assert (await ground.last(Call("LS", {"path": "/proc/self/root"}), **WAYS[way](ground.outside))).is_error


@pytest.mark.parametrize("tool", ["Read", "Edit", "Grep"])
async def test_a_pipe_outside_is_refused_at_once(tool: str, ground: Ground) -> None:
    os.mkfifo(ground.outside / "pipe")
    given = {
        "Read": {"file_path": str(ground.outside / "pipe")},
        "Edit": {"file_path": str(ground.outside / "pipe"), "old_string": "a", "new_string": "b"},
        "Grep": {"path": str(ground.outside / "pipe"), "pattern": "x"},
    }[tool]
    result = await ground.last(Call(tool, given), can_use_tool=Person())
    assert "FIFO (named pipe), not a regular file" in text_of(result)


# links that are swapped between the yes and the opening


@pytest.mark.parametrize("what", ["the file", "its folder", "the link"])
@pytest.mark.parametrize("echoed", [False, True], ids=["plain yes", "input echoed"])
@pytest.mark.parametrize("tool", TOOLS)
async def test_a_link_swapped_while_the_person_thinks_reaches_nothing(
    tool: str, echoed: bool, what: str, ground: Ground
) -> None:
    secret = ground.folder / "elsewhere"
    secret.mkdir()
    for name in ("note.txt", "deep.txt"):
        (secret / name).write_text("K3Y\n")
    (secret / "book.ipynb").write_text(json.dumps(NOTEBOOK).replace(SECRET, "K3Y"))
    before = snapshot(secret)
    link = ground.folder / "link"
    link.symlink_to(ground.outside)
    swap = swapping(what, ground, secret, link)
    calls = calls_of(tool, link if what == "the link" else ground.outside)

    def answer(given: dict[str, Any]) -> PermissionResultAllow:
        if len(person.asked) == len(calls):
            swap()
        return PermissionResultAllow(updated_input=dict(given) if echoed else None)

    person = Person(answer)
    result = await ground.last(*calls, can_use_tool=person)
    assert len(person.asked) == len(calls)
    assert "K3Y" not in text_of(result)
    assert snapshot(secret) == before
    if what != "the file" or tool not in ("Write", "Glob", "Grep", "LS"):
        assert result.is_error


def swapping(what: str, ground: Ground, secret: Path, link: Path) -> Callable[[], None]:
    def swap_files() -> None:
        for name in ("note.txt", "book.ipynb"):
            (ground.outside / name).unlink()
            (ground.outside / name).symlink_to(secret / name)

    def swap_folder() -> None:
        ground.outside.rename(ground.folder / "moved")
        ground.outside.symlink_to(secret)

    def swap_link() -> None:
        link.unlink()
        link.symlink_to(secret)

    return {"the file": swap_files, "its folder": swap_folder, "the link": swap_link}[what]


# taking back


async def test_a_rewind_puts_back_what_was_changed_outside_with_permission(ground: Ground) -> None:
    (ground.outside / "made").mkdir()
    write = Call("Write", {"file_path": str(ground.outside / "made/a/new.txt"), "content": "written"})
    model = ScriptedModel([*([call] for call in calls_of("Edit", ground.outside)), [write], Say("done")])
    options = ground.options(
        model, can_use_tool=Person(), enable_file_checkpointing=True, extra_args={"replay-user-messages": None}
    )
    async with ClaudeSDKClient(options) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
        assert (ground.outside / "note.txt").read_text() == "changed\n"
        points = [message.uuid for message in messages if isinstance(message, UserMessage) and message.uuid]
        await client.rewind_files(points[0])
    assert (ground.outside / "note.txt").read_text() == f"{SECRET}\n"
    assert [path.name for path in (ground.outside / "made").iterdir()] == []
