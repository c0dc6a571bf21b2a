"""`--rewind-files`: the files of an earlier session put back from a shell."""

import json
from pathlib import Path
from typing import Any

import pytest

from support_cli import command

WRITE = [{"tool": "Write", "input": {"file_path": "a.txt", "content": "one\n"}}, {"text": "done"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path


def run(folder: Path, *arguments: str, **env: str) -> Any:
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": WRITE}))
    surroundings = {"TOOLWRIGHT_MODEL": f"scripted:{script}", "CLAUDE_CONFIG_DIR": str(folder / "config"), **env}
    return command("-p", *arguments, stdin=b"", env=surroundings, cwd=folder / "work")


def test_files_go_back_and_come_again(folder: Path) -> None:
    file = folder / "work/a.txt"
    flags = ["--permission-mode", "acceptEdits", "--replay-user-messages", "--output-format", "stream-json"]
    done = run(folder, "Write it", *flags, CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING="true")
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    prompt = next(frame for frame in frames if frame["type"] == "user")
    session = ["--resume", prompt["session_id"]]
    assert file.read_text() == "one\n"
    told = json.loads(run(folder, *session, "--rewind-files", prompt["uuid"], "--output-format", "json").stdout)
    assert (told["filesChanged"], told["deletions"]) == ([str(file.resolve())], 1)
    assert not file.exists()
    shown = run(folder, *session, "--rewind-files", told["undoId"]).stdout.decode()
    assert shown.startswith(f"Rewound 1 file (+1 -0 lines).\n  {file.resolve()}\nTo take this back: --rewind-files ")
    assert file.read_text() == "one\n"
    lost = run(folder, *session, "--rewind-files", "nowhere")
    assert lost.returncode == 1
    assert b"No file checkpoint found for message nowhere" in lost.stderr


def test_a_session_has_to_be_named(folder: Path) -> None:
    done = run(folder, "--rewind-files", "x")
    assert done.returncode == 2
    assert b"--rewind-files needs the session" in done.stderr
