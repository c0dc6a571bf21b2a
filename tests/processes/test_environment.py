from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_tools import make_workspace, text_of
from toolwright.processes.environment import DEFAULT_PATH, SERVER_NAMES, child_environment, is_harmless, safe_path

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
    assert environment["PATH"] == "/bin"


def test_what_the_caller_gives_passes_except_provider_keys() -> None:
    given = {"GITHUB_TOKEN": "mine", "ANTHROPIC_API_KEY": "no", "OPENAI_BASE_URL": "no", "claude_code_x": "no"}
    assert child_environment(given, {}).keys() == {"PATH", "GITHUB_TOKEN"}


# fmt: off
NEVER = (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "BASHOPTS", "IFS", "CDPATH",
    "GIT_SSH_COMMAND", "GIT_DIR", "GIT_CONFIG_COUNT", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_OPTIONS",
    "PERL5DB", "PERL5OPT", "RUBYOPT", "LESSOPEN", "PAGER", "VISUAL", "JAVA_TOOL_OPTIONS", "SSH_AUTH_SOCK", "LC_MINE",
    "RIPGREP_CONFIG_PATH", "BASH_FUNC_ulimit%%",
)
# fmt: on


def test_what_makes_programs_run_something_else_is_never_inherited() -> None:
    assert child_environment({}, dict.fromkeys(NEVER, "x")) == {"PATH": DEFAULT_PATH}


def test_a_function_for_bash_is_never_handed_down() -> None:
    given = {"BASH_FUNC_ulimit%%": "() { :; }", "BASH_ENV": "/mine"}
    assert child_environment(given, {}) == {"PATH": DEFAULT_PATH, "BASH_ENV": "/mine"}


def test_a_path_keeps_its_absolute_folders() -> None:
    assert safe_path(".:/usr/bin::bin:/nix/store/3n58xw4373jp0ljirf06d8077j15pc4j-bash/bin:../x:") == (
        "/usr/bin:/nix/store/3n58xw4373jp0ljirf06d8077j15pc4j-bash/bin"
    )
    assert safe_path("https://aaaaaaaaaaaa@host/:/bin") == "/bin"
    assert child_environment({}, {"PATH": ".:"})["PATH"] == DEFAULT_PATH
    assert child_environment({"PATH": "mine"}, {})["PATH"] == "mine"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_passes_unless_it_has_a_name_or_password(name: str) -> None:
    assert child_environment({}, {name: "proxy.example:3128"})[name] == "proxy.example:3128"
    assert name not in child_environment({}, {name: "me:password@proxy.example:3128"}), "also without a scheme"


def test_a_server_is_given_less() -> None:
    base = {"HOME": "/me", "USER": "me", "LANG": "C", "http_proxy": "http://proxy:1", "TOKEN": "t"}
    assert child_environment({"GIVEN": "1"}, base, only=SERVER_NAMES).keys() == {"HOME", "USER", "PATH", "GIVEN"}


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
RANDOM = st.text(LETTERS, min_size=36, max_size=48)
SHAPES = [
    "ghp_{}",
    "github_pat_{}",
    "glpat-{}",
    "sk-{}",
    "sk-ant-api03-{}",
    "sk_live_{}",
    "xoxb-{}",
    "npm_{}",
    "hf_{}",
    "pypi-{}",
]
SHAPES += ["ya29.{}", "http://me:{}@proxy:3128", "https://{}@host/", "postgres://:{}@db/x", "Bearer {}", "password={}", "SG.{}"]
ALLOWED = [
    "PATH",
    "HOME",
    "TMPDIR",
    "HTTP_PROXY",
    "http_proxy",
    "LANG",
    "LC_ALL",
    "GOPATH",
    "EDITOR",
    "CC",
    "SHELL",
    "TERM",
    "TZ",
]
SECRET_NAMES = ["API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "SSH_AUTH_SOCK", "FOO", "ANTHROPIC_API_KEY"]


@given(
    secret=RANDOM,
    shape=st.sampled_from(SHAPES),
    before=st.sampled_from(["", "/usr/bin:", "/home/me/", "x ", "a,"]),
    after=st.sampled_from(["", ":/bin", "/x", " y", "\n"]),
    names=st.lists(st.sampled_from([*ALLOWED, *SECRET_NAMES, *map(str.lower, SECRET_NAMES)]), min_size=1),
    lower=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_no_secret_passes_wherever_it_stands(
    secret: str, shape: str, before: str, after: str, names: list[str], lower: bool
) -> None:
    secret = secret.lower() if lower else secret
    value = before + shape.format(secret) + after
    environment = child_environment({}, dict.fromkeys(names, value))
    assert not [name for name, passed in environment.items() if secret in passed]


@given(st.dictionaries(st.text(min_size=1), st.text()))
@settings(max_examples=100, deadline=None)
def test_only_names_of_the_list_pass(base: dict[str, str]) -> None:
    passed = child_environment({}, base)
    assert all(is_harmless(name, value) for name, value in passed.items())
    assert set(passed) <= set(base) | {"PATH"}


def test_ordinary_values_pass() -> None:
    base = {
        "PATH": "/root/.cargo/bin:/home/ask-me-anything-else-here/bin:/usr/bin",
        "TMPDIR": "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/",
        "HTTPS_PROXY": "http://proxy.example:3128",
        "VIRTUAL_ENV": "/home/me/work/2024-05-01-task-force-something-long/.venv",
        "PWD": "/home/me",
        "LC_CTYPE": "C.UTF-8",
    }
    assert child_environment({}, base) == base


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
