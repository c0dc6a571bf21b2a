"""A key is tried and kept for its own server, and used where no variable says otherwise."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from support_cli import command
from toolwright.cli.demo import choose_model
from toolwright.config.kept_keys import NAME, KeptKeys
from toolwright.models.registry import ANTHROPIC_URL, kept_key_name
from toolwright.testing import ModelServer
from toolwright.testing.messages_dialect import answer
from toolwright.testing.steps import ReceivedRequest, Status, Step

KEY = "sk-test-0123456789"


def wants(key: str) -> ModelServer:
    """A model that answers whoever has this key."""

    def choose(request: ReceivedRequest, /) -> Step:
        return answer("Hello.") if request.headers.get("x-api-key") == key else Status(401)

    return ModelServer(choose)


def run(folder: Path, *arguments: str, typed: str = "", url: str = "", **more: str) -> subprocess.CompletedProcess[bytes]:
    address = {"ANTHROPIC_BASE_URL": url} if url else {}
    done: subprocess.CompletedProcess[bytes] = command(
        *arguments, env={"CLAUDE_CONFIG_DIR": str(folder), **address, **more}, stdin=typed.encode()
    )
    return done


def test_a_key_that_works_is_kept_and_used(tmp_path: Path) -> None:
    with wants(KEY) as server:
        done = run(tmp_path, "login", typed=f"{KEY}\n", url=server.url)
        assert (done.returncode, done.stderr) == (0, b"")
        assert KEY.encode() not in done.stdout
        asked = run(tmp_path, "-p", "Hi", url=server.url)
        assert (asked.stdout, asked.stderr) == (b"Hello.\n", b"")
    file = tmp_path / NAME
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {kept_key_name(server.url): KEY}


def test_a_refused_key_is_not_kept(tmp_path: Path) -> None:
    with wants("another") as server:
        done = run(tmp_path, "login", typed=f"{KEY}\n", url=server.url)
    assert done.returncode == 1
    assert b"refused the key" in done.stderr
    assert KEY.encode() not in done.stderr
    assert not (tmp_path / NAME).exists()


def test_a_key_that_cannot_be_tried_is_kept_only_if_that_is_wanted(tmp_path: Path) -> None:
    dead = "http://127.0.0.1:9"
    done = run(tmp_path, "login", typed=f"{KEY}\n", url=dead)
    assert (done.returncode, b"could not be tried" in done.stderr, (tmp_path / NAME).exists()) == (1, True, False)
    assert run(tmp_path, "login", "--untried", typed=f"{KEY}\n", url=dead).returncode == 0
    assert dict(KeptKeys(str(tmp_path))) == {kept_key_name(dead): KEY}
    assert b"was removed" in run(tmp_path, "logout", url=dead).stdout
    assert b"There is no key" in run(tmp_path, "logout", url=dead).stdout
    assert dict(KeptKeys(str(tmp_path))) == {}


@pytest.mark.parametrize("typed", ["", "\n", "two words\n", "k\u00e9y\n"])
def test_what_is_no_key_is_refused(tmp_path: Path, typed: str) -> None:
    done = run(tmp_path, "login", "--untried", typed=typed)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert b"nothing was kept" in done.stderr


def test_a_kept_key_goes_to_no_other_server(tmp_path: Path) -> None:
    KeptKeys(str(tmp_path)).put(ANTHROPIC_URL, KEY)
    with ModelServer(answer("Hello.")) as server:
        run(tmp_path, "-p", "Hi", url=server.url)
        assert KEY not in str([request.headers for request in server.requests])


def test_a_variable_counts_before_a_kept_key_and_the_refusal_says_which_it_was(tmp_path: Path) -> None:
    with wants("right") as server:
        KeptKeys(str(tmp_path)).put(server.url, KEY)
        assert b"model-keys.json (toolwright login)" in run(tmp_path, "-p", "Hi", url=server.url).stderr
        other = run(tmp_path, "-p", "Hi", url=server.url, ANTHROPIC_API_KEY="wrong")
        assert b"ANTHROPIC_API_KEY" in other.stderr
        assert run(tmp_path, "-p", "Hi", url=server.url, ANTHROPIC_API_KEY="right").stdout == b"Hello.\n"


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_a_file_that_others_can_reach_holds_no_keys(tmp_path: Path, mode: int) -> None:
    keys = KeptKeys(str(tmp_path))
    keys.put(ANTHROPIC_URL, KEY)
    os.chmod(keys.path, mode)
    assert dict(keys) == {}


def test_neither_a_link_nor_nonsense_holds_keys(tmp_path: Path) -> None:
    keys = KeptKeys(str(tmp_path))
    Path(keys.path).symlink_to("/etc/passwd")
    assert dict(keys) == {}
    Path(keys.path).unlink()
    Path(keys.path).write_text("[1]")
    Path(keys.path).chmod(0o600)
    assert dict(keys) == {}


def test_no_command_sees_a_kept_key(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps({"steps": [{"tool": "Bash", "input": {"command": "env; cat /proc/$PPID/environ"}}, {"text": "x"}]})
    )
    KeptKeys(str(tmp_path / "config")).put(ANTHROPIC_URL, KEY)
    done = run(tmp_path / "config", "-p", "Hi", "--model", f"scripted:{script}", "--output-format", "stream-json",
               "--verbose", "--allowed-tools", "Bash")  # fmt: skip
    assert b"tool_result" in done.stdout
    assert KEY.encode() not in done.stdout


def test_config_says_for_which_servers_there_are_keys(tmp_path: Path) -> None:
    KeptKeys(str(tmp_path)).put(ANTHROPIC_URL, KEY)
    told = run(tmp_path, "config").stdout.decode()
    assert f"  {ANTHROPIC_URL}" in told.splitlines()
    assert KEY not in told


def test_the_demo_takes_a_kept_key() -> None:
    chosen = choose_model(None, {kept_key_name(ANTHROPIC_URL): KEY})
    assert (chosen.scripted, chosen.key) == (False, KEY)
    assert KEY not in repr(chosen)
