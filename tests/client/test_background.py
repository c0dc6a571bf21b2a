"""Messages about background tasks are the same however a session is held."""

from pathlib import Path

import pytest

from support_client import nothing_left
from support_contract import SETTINGS, Conversation, Setting, words
from toolwright.client import ClaudeSDKClient
from toolwright.types import Message, ResultMessage, TaskNotificationMessage, TaskStartedMessage, TaskUpdatedMessage

pytestmark = pytest.mark.anyio

STOPPED = Conversation(
    "stop a task",
    (
        {"tool": "Bash", "input": {"command": "exec sleep 1000", "run_in_background": True, "description": "rest"}},
        {"text": "on"},
        {"text": "off"},
    ),
    (),
    (),
    {"allowed_tools": ["Bash"]},
)
FINISHED = Conversation(
    "a task ends",
    (
        {
            "tool": "Bash",
            "input": {"command": "until test -e go; do sleep 0.01; done; exit 2", "run_in_background": True},
        },
        {"text": "on"},
        {"text": "off"},
    ),
    (),
    (),
    {"allowed_tools": ["Bash"]},
)
EACH_WAY = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


def only(kind: type[Message], messages: list[Message]) -> Message:
    (found,) = [message for message in messages if isinstance(message, kind)]
    return found


@EACH_WAY
async def test_a_client_sees_a_task_begin_and_end_and_the_turn_that_it_wakes(setting: Setting, tmp_path: Path) -> None:
    heard: list[Message] = []
    async with (
        nothing_left(),
        setting(FINISHED, tmp_path) as (options, transport),
        ClaudeSDKClient(options, transport) as client,
    ):
        await client.query("go")
        heard += [message async for message in client.receive_response()]
        (tmp_path / "work/go").touch()
        heard += [message async for message in client.receive_response()]
    started, updated = only(TaskStartedMessage, heard), only(TaskUpdatedMessage, heard)
    notified = only(TaskNotificationMessage, heard)
    assert isinstance(started, TaskStartedMessage)
    assert isinstance(updated, TaskUpdatedMessage)
    assert isinstance(notified, TaskNotificationMessage)
    assert started.task_id == updated.task_id == notified.task_id
    assert started.tool_use_id == notified.tool_use_id
    assert (started.task_type, updated.status, notified.status) == ("local_bash", "failed", "failed")
    assert notified.output_file.endswith(".txt")
    results = [message for message in heard if isinstance(message, ResultMessage)]
    assert [message.result for message in results] == ["on", "off"]
    assert [message.origin for message in results] == [None, {"kind": "task-notification"}]


@EACH_WAY
async def test_a_client_can_stop_a_task(setting: Setting, tmp_path: Path) -> None:
    async with (
        nothing_left(),
        setting(STOPPED, tmp_path) as (options, transport),
        ClaudeSDKClient(options, transport) as client,
    ):
        await client.query("go")
        heard = [message async for message in client.receive_response()]
        started = only(TaskStartedMessage, heard)
        assert isinstance(started, TaskStartedMessage)
        await client.stop_task(started.task_id)
        await client.query("next")
        heard = [message async for message in client.receive_response()]
    ends = ("<task_updated>", "<background_tasks_changed>", "<task_notification>")
    assert words(heard) == (*ends, "<init>", "off", "[success] off")
    notified = only(TaskNotificationMessage, heard)
    assert isinstance(notified, TaskNotificationMessage)
    assert notified.status == "stopped"
