"""Our runtime beside the original: what they do differently is in one table, and everything else is the same.

The table's rows stand in docs/compatibility.md with their reasons. A row that explains nothing any more is an error as well.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import anyio
import pytest
from conversations import CONVERSATIONS
from known_differences import DIFFERENCES
from published import LEAVINGS, MAX_LENGTH, without_settings_from_outside
from side_by_side import COMMANDS, ORIGINAL_COMMAND, Conversation, differences

pytestmark = LEAVINGS

DOCUMENT = Path(__file__).parents[2] / "docs" / "compatibility.md"

Lines = dict[str, list[str]]


def test_the_original_is_here() -> None:
    assert ORIGINAL_COMMAND.is_file(), "claude-agent-sdk is installed without its command; install the wheel of this platform"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lines]:
    """Every conversation, held with both."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        without_settings_from_outside(monkeypatch)
        return anyio.run(hold_all, tmp_path_factory.mktemp("side-by-side"))


async def hold_all(folder: Path) -> dict[str, Lines]:
    held: dict[str, Lines] = {conversation.name: {} for conversation in CONVERSATIONS}
    at_a_time = anyio.Semaphore(2)

    async def hold(conversation: Conversation, runtime: str) -> None:
        async with at_a_time:
            with anyio.fail_after(MAX_LENGTH):
                place = folder / runtime / str(CONVERSATIONS.index(conversation))
                held[conversation.name][runtime] = await conversation.hold(place, COMMANDS[runtime])

    async with anyio.create_task_group() as group:
        for conversation in CONVERSATIONS:
            for runtime in COMMANDS:
                group.start_soon(hold, conversation, runtime)
    return held


def found(held: dict[str, Lines]) -> Iterator[tuple[str, str]]:
    """Every difference, with the name of its conversation."""
    for name, lines in held.items():
        for line in differences(lines["theirs"], lines["ours"]):
            yield name, line


def explains(beginning: str, name: str, line: str) -> bool:
    where, _, start = beginning.partition(" | ")
    return where in ("*", name) and line.startswith(start)


def is_known(name: str, line: str) -> bool:
    return any(explains(beginning, name, line) for row in DIFFERENCES.values() for beginning in row)


@pytest.mark.parametrize("name", [conversation.name for conversation in CONVERSATIONS])
def test_the_conversation_is_the_same(name: str, held: dict[str, Lines]) -> None:
    assert len(held[name]["ours"]) > 5
    assert [line for _, line in found({name: held[name]}) if not is_known(name, line)] == []


def test_every_row_of_the_table_was_needed(held: dict[str, Lines]) -> None:
    seen = list(found(held))
    assert [line for row in DIFFERENCES.values() for line in row if not was_needed(line, seen)] == []


def was_needed(beginning: str, seen: Iterable[tuple[str, str]]) -> bool:
    return any(explains(beginning, name, line) for name, line in seen)


def test_the_rows_are_those_of_the_document() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", DOCUMENT.read_text().partition("## Also different")[0], re.MULTILINE)
    assert rows == list(DIFFERENCES)
