"""The command as a process, with a scripted model: what comes out, and how it ends."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support_cli import bare_environment, command

STREAM = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]


def user(text: str) -> bytes:
    frame = {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None, "session_id": ""}
    return json.dumps(frame).encode() + b"\n"


def frames_in(output: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path


@pytest.fixture
def run(home: Path) -> Any:
    """Run the command in a folder and a configuration of its own, with a model that takes these steps."""

    def run_with(*arguments: str, steps: list[Any], stdin: str | bytes = b"") -> Any:
        return command(*arguments, stdin=stdin, env=surroundings(home, steps), cwd=home / "work")

    return run_with


def surroundings(home: Path, steps: list[Any]) -> dict[str, str]:
    script = home / "script.json"
    script.write_text(json.dumps({"steps": steps}))
    return {"TOOLWRIGHT_MODEL": f"scripted:{script}", "CLAUDE_CONFIG_DIR": str(home / "config")}


HELLO = [{"text": "Hello yourself."}]


def test_the_answer_is_printed_as_text_as_json_and_as_frames(run: Any) -> None:
    assert run("-p", "Hello", steps=HELLO).stdout == b"Hello yourself.\n"
    result = json.loads(run("-p", "Hello", "--output-format", "json", steps=HELLO).stdout)
    assert (result["type"], result["result"]) == ("result", "Hello yourself.")
    frames = frames_in(run("-p", "Hello", "--output-format", "stream-json", steps=HELLO).stdout)
    assert frames[0]["type"] == "system"
    assert frames[-1]["type"] == "result"


def test_the_prompt_may_be_piped_in(run: Any) -> None:
    done = run("--output-format=json", steps=HELLO, stdin="Hello from a pipe")
    assert json.loads(done.stdout)["result"] == "Hello yourself."


def test_an_error_result_exits_1_with_one_line(run: Any) -> None:
    done = run("-p", "Hello", steps=[{"error": {"kind": "invalid_request", "message": "no such thing"}}])
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().count("\n") == 1
    assert "no such thing" in done.stderr.decode()


def test_a_wrong_option_is_one_line(run: Any) -> None:
    done = run("-p", "Hello", "--model", "no-such-model", steps=HELLO)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("toolwright: ")
    assert "Traceback" not in done.stderr.decode()


def test_an_unknown_conversation_is_an_error_result(run: Any) -> None:
    missing = "0b4fa75b-9a0e-4c1b-8d58-9a8e5d1e4a11"
    done = run(*STREAM, f"--resume={missing}", steps=HELLO, stdin=user("Hello"))
    assert done.returncode == 1
    (result,) = frames_in(done.stdout)
    assert (result["type"], result["is_error"]) == ("result", True)
    assert missing in result["errors"][0]


def test_an_unknown_conversation_is_told_in_every_format(run: Any) -> None:
    missing = "--resume=0b4fa75b-9a0e-4c1b-8d58-9a8e5d1e4a11"
    text = run("-p", "Hello", missing, steps=HELLO)
    assert (text.returncode, text.stdout) == (1, b"")
    assert text.stderr.decode().startswith("toolwright: No conversation found")
    result = json.loads(run("-p", "Hello", missing, "--output-format", "json", steps=HELLO).stdout)
    assert result["errors"][0].startswith("No conversation found")


def test_a_conversation_of_frames_ends_with_stdin(run: Any) -> None:
    steps = [{"text": "One."}, {"text": "Two."}]
    done = run(*STREAM, steps=steps, stdin=user("first") + b"garbage\n" + user("second"))
    frames = frames_in(done.stdout)
    assert done.returncode == 0
    assert [frame["result"] for frame in frames if frame["type"] == "result"] == ["One.", "Two."]
    assert "line 2 of stdin" in done.stderr.decode()


def test_large_frames_pass_both_ways(run: Any) -> None:
    text = "long " * 1_000_000
    done = run(*STREAM, "--replay-user-messages", steps=[{"text": text}], stdin=user(text))
    frames = frames_in(done.stdout)
    assert next(frame["result"] for frame in frames if frame["type"] == "result") == text


def test_no_input_is_no_conversation(run: Any) -> None:
    done = run(*STREAM, steps=HELLO)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_running_turn_and_keeps_the_transcript(home: Path, number: signal.Signals, code: int) -> None:
    environment = {**bare_environment(), **surroundings(home, [{"text": "Slowly", "delay": 600}])}
    arguments = [sys.executable, "-m", "toolwright.cli", *STREAM]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(arguments, env=environment, cwd=home / "work", **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(user("Hello"))
        process.stdin.flush()
        while b'"init"' not in process.stdout.readline():
            pass
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        assert process.stderr.read() == b""
    (transcript,) = (home / "config").rglob("*.jsonl")
    assert "Hello" in transcript.read_text()


SLOW: dict[str, list[Any]] = {
    "the model": [{"text": "Slowly", "delay": 600}],
    "a command": [{"tool": "Bash", "input": {"command": "trap '' INT TERM; sleep 600"}}, {"text": "never"}],
}


@pytest.mark.parametrize("what", SLOW)
@pytest.mark.parametrize("form", ["json", "stream-json", "conversation"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_result_ends_a_run_that_a_signal_ended(home: Path, what: str, form: str, number: signal.Signals, code: int) -> None:
    environment = {**bare_environment(), **surroundings(home, SLOW[what])}
    asked = STREAM if form == "conversation" else ["-p", "Hello", "--output-format", form]
    arguments = [sys.executable, "-m", "toolwright.cli", *asked, "--allowed-tools", "Bash"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(arguments, env=environment, cwd=home / "work", **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if form == "conversation":
            process.stdin.write(user("Hello") + user("And then?"))
            process.stdin.flush()
        else:
            process.stdin.close()
            process.stdin = None
        while "Bash" not in (written := transcripts(home)) and (what == "a command" or "Hello" not in written):
            time.sleep(0.02)
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (code, b"")
    frames = [json.loads(line) for line in out.splitlines()]
    results = [frame for frame in frames if frame["type"] == "result"]
    assert [(result["is_error"], result["errors"]) for result in results] == [(True, ["The person interrupted this turn."])]
    assert f'"{results[0]["session_id"]}"' in transcripts(home)


def transcripts(home: Path) -> str:
    return "".join(path.read_text() for path in (home / "config").rglob("*.jsonl"))


def test_a_signal_ends_a_run_whose_reader_does_not_read(home: Path) -> None:
    steps = [{"text": "word " * 100_000}]
    environment = {**bare_environment(), **surroundings(home, steps)}
    arguments = [sys.executable, "-m", "toolwright.cli", "-p", "hi", "--output-format", "stream-json"]
    with subprocess.Popen(arguments, env=environment, cwd=home / "work", stdin=-3, stdout=subprocess.PIPE) as process:
        while "word" not in transcripts(home):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143


def test_after_ctrl_c_a_person_is_told_how_to_go_on(home: Path) -> None:
    environment = {**bare_environment(), **surroundings(home, [{"text": "Slowly", "delay": 600}])}
    arguments = [sys.executable, "-m", "toolwright.cli", "-p", "Hello"]
    with subprocess.Popen(
        arguments, env=environment, cwd=home / "work", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        while not list((home / "config").rglob("*.jsonl")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read().decode() == 'toolwright: stopped; to go on where it was: toolwright --continue "…"\n'


def test_a_reader_that_leaves_early_ends_the_command_quietly(home: Path) -> None:
    steps = [{"text": "word " * 50_000}, {"text": "never read"}]
    environment = {**bare_environment(), **surroundings(home, steps)}
    line = (
        f"{sys.executable} -m toolwright.cli -p hi --output-format stream-json --include-partial-messages </dev/null | head -1"
    )
    done = subprocess.run(["bash", "-c", line + '; echo "${PIPESTATUS[0]}"'], env=environment, capture_output=True, timeout=60)
    assert done.stderr == b""
    assert done.stdout.splitlines()[-1] == b"141"
