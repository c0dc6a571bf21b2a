"""Resuming and forking a very long session does not keep the event loop from anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_sessions import SESSION, call, result, text
from support_ticking import assert_no_stall
from toolwright.client import query
from toolwright.sessions import Journal, project_key_for_directory, transcript_path
from toolwright.testing import Say, ScriptedModel
from toolwright.types import ClaudeAgentOptions, ResultMessage

pytestmark = pytest.mark.anyio

SIZE = 96 << 20
ENTRY = 16 << 10


def options_in(folder: Path, **more: Any) -> ClaudeAgentOptions:
    (folder / "work").mkdir(exist_ok=True)
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config")}
    return ClaudeAgentOptions(model=ScriptedModel([Say("done")], record=False), cwd=folder / "work", env=env, **more)


async def answer_to(options: ClaudeAgentOptions) -> str | None:
    (last,) = [message async for message in query(prompt="hi", options=options) if isinstance(message, ResultMessage)]
    return last.result


@pytest.fixture(scope="module")
def long_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    cwd = str((folder / "work").absolute())
    log = Journal(
        transcript_path(folder / "config", project_key_for_directory(cwd), SESSION), session_id=SESSION, cwd=cwd, version="1"
    )
    for number in range(SIZE // ENTRY // 2):
        with log.batch():
            log.user(f"question {number} " + "x" * ENTRY)
            log.assistant(call(f"t{number}"), message_id=f"m{number}", model="m")
            log.user([result(f"t{number}", "line\n" * (ENTRY // 5))])
            log.assistant(text("found"), message_id=f"n{number}", model="m")
    assert log.path.stat().st_size > SIZE
    return folder


@pytest.mark.parametrize("more", [{}, {"fork_session": True}], ids=["resume", "fork"])
async def test_a_long_session_goes_on_without_a_stall(long_session: Path, more: dict[str, Any]) -> None:
    await answer_to(options_in(long_session))  # what is imported at first use is

    async def go_on() -> None:
        assert await answer_to(options_in(long_session, resume=SESSION, **more)) == "done"

    await assert_no_stall(go_on)
