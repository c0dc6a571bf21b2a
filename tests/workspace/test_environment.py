from __future__ import annotations

from pathlib import Path

import pytest

from support_tools import make_workspace, text_of
from toolwright.workspace import child_environment

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "abc",
    "GITHUB_TOKEN": "abc",
    "github_token": "abc",
    "FOO": "ghp_0123456789abcdefghij0123",
    "LC_KEY": "abc",
    "PATH": "/bin:ghp_0123456789abcdefghij0123",
    "HTTP_PROXY": "http://me:password@proxy:3128",
    "ANTHROPIC_API_KEY": "sk-ant-1234567890abcdef",
    "LD_PRELOAD": "/tmp/evil.so",
    "BASH_ENV": "/tmp/evil.sh",
}


def test_no_secret_passes_the_filter() -> None:
    environment = child_environment({}, SECRETS | {"HOME": "/home/me", "LC_ALL": "C"})
    assert environment.keys() == {"PATH", "HOME", "LC_ALL"}
    assert "ghp_" not in environment["PATH"]


def test_what_the_caller_gives_passes_except_provider_keys() -> None:
    given = {"GITHUB_TOKEN": "mine", "ANTHROPIC_API_KEY": "no", "OPENAI_BASE_URL": "no", "claude_code_x": "no"}
    assert child_environment(given, {}).keys() == {"PATH", "GITHUB_TOKEN"}


@pytest.mark.anyio
async def test_a_command_sees_the_filtered_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        if name != "PATH":
            monkeypatch.setenv(name, value)
    workspace = make_workspace(tmp_path, env={"GIVEN": "yes", "OPENAI_API_KEY": "no"})
    seen = await text_of("Bash", workspace, command="env; tr '\\0' '\\n' < /proc/$$/environ")
    assert "GIVEN=yes" in seen
    assert not [name for name in SECRETS if name != "PATH" and f"{name}=" in seen]
    assert "OPENAI_API_KEY" not in seen
