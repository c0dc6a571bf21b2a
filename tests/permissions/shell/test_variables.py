"""Variables before a command: those that cannot change what runs are left alone, the others are asked about."""

from __future__ import annotations

import pytest

from support_permissions import bash, judge
from toolwright.permissions.shell.variables import changes_what_runs

CHANGE = """PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES IFS ENV BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND
    HOME PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT PYTHONWARNINGS PERL5OPT PERL5LIB PERL5DB RUBYOPT
    RUBYLIB NODE_OPTIONS NODE_PATH GIT_PAGER GIT_SSH_COMMAND GIT_DIR GIT_EXTERNAL_DIFF SSH_ASKPASS HTTP_PROXY
    https_proxy EDITOR VISUAL PAGER LESSOPEN MAKEFLAGS CC CXX RUSTC_WRAPPER CARGO_HOME GOFLAGS JAVA_TOOL_OPTIONS
    PYTEST_ADDOPTS PYTEST_PLUGINS npm_config_script_shell PIP_INDEX_URL RIPGREP_CONFIG_PATH TAR_OPTIONS DOCKER_HOST
    KUBECONFIG ANY_COMMAND ANY_CMD SOME_HOOK MY_PAGER GCONV_PATH LOCPATH XDG_CONFIG_HOME CLAUDE_CONFIG_DIR histchars
    auto_resume CDPATH PWD OPENSSL_CONF _JAVA_OPTIONS CFLAGS""".split()  # noqa: SIM905 — word lists
LEAVE = """FOO CI DEBUG DATABASE_URL NODE_ENV PYTHONUNBUFFERED LC_ALL LANG TZ RUST_LOG RUST_BACKTRACE PORT VERSION x path
    file_path GOOS CGO_ENABLED DJANGO_SETTINGS_MODULE LOG_LEVEL TMPDIR AWS_REGION SECRET_KEY FORCE_COLOR MAIL_HOST""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", CHANGE)
def test_a_variable_that_may_change_what_runs_is_asked_about(name: str) -> None:
    assert changes_what_runs(name)
    assert judge(bash(f"{name}=x npm test"), allow=["Bash(npm:*)"]).behavior == "ask"
    assert judge(bash(f"export {name}=x; npm test"), allow=["Bash(npm:*)"]).behavior == "ask"
    assert judge(bash(f"{name}=x ls"), cage=True).behavior == "ask"


@pytest.mark.parametrize("name", LEAVE)
def test_others_are_left_alone(name: str) -> None:
    assert not changes_what_runs(name)
    for value in ("1", '"$X"', "$(pwd)"):
        assert judge(bash(f"{name}={value} npm test"), allow=["Bash(npm:*)"]).behavior == "allow"
        assert judge(bash(f"export {name}={value}; npm test"), allow=["Bash(npm:*)"]).behavior == "allow"
        assert judge(bash(f"{name}={value} ls"), cage=True).caged


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("PYTHONPATH=src pytest", "allow"),
        ("PYTHONPATH=. pytest", "allow"),
        ("PYTHONPATH=src:tests pytest", "allow"),
        ("PYTHONPATH=/work/app/src pytest", "allow"),
        ("DATA_PATH=data pytest", "allow"),
        ("cd sub && PYTHONPATH=.. pytest", "allow"),
        ("PYTHONPATH=.. pytest", "ask"),
        ("PYTHONPATH=/tmp pytest", "ask"),
        ("PYTHONPATH=src:/tmp pytest", "ask"),
        ("PYTHONPATH=$X pytest", "ask"),
        ("PYTHONPATH=~/x pytest", "ask"),
        ("NODE_PATH=src pytest", "ask"),
        ("LD_LIBRARY_PATH=. pytest", "ask"),
    ],
)
def test_a_search_path_may_name_working_folders(command: str, expected: str) -> None:
    assert judge(bash(command), allow=["Bash(pytest:*)"]).behavior == expected


def test_a_variable_does_not_widen_a_rule_that_is_exact() -> None:
    assert judge(bash("NODE_OPTIONS=x npm test"), allow=["Bash(npm test)"]).behavior == "ask"
    assert judge(bash("A=1 npm test"), allow=["Bash(npm test)"]).behavior == "allow"
