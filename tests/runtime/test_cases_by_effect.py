"""Known tricks with an allowed command, in real sessions: nothing happens on the machine, but would without the gate.

Each trick comes with the allow rule that it abuses. The person is asked and says no, and no canary is there; for the
counter-proof the same line is let through by a person, and it is there. Payloads only touch a file in the test's own folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support_runtime import play
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.permissions import parse_rule
from toolwright.types import OptionsError, PermissionResultAllow, PermissionResultDeny

MORE = [
    ("newline", "ls", "ls\ntouch CANARY"),
    ("crlf", "ls", "ls\r\ntouch CANARY"),
    ("ampersand", "ls", "ls & touch CANARY; wait"),
    ("or", "false", "false || touch CANARY"),
    ("pipe", "ls", "ls | touch CANARY"),
    ("quoted-substitution", "echo", 'echo "$(touch CANARY)"'),
    ("here-document", "cat", "cat <<E\n$(touch CANARY)\nE"),
    ("test-v", "[", "[ -v 'a[$(touch CANARY)]' ]"),
    ("printf-v", "printf", "printf -v 'a[$(touch CANARY)]' x"),
    ("prompt-operator", "echo", "x='$(touch CANARY)'; echo ${x@P}"),
    ("indirect", "echo", "x='a[$(touch CANARY)]'; echo ${!x}"),
    ("arithmetic", "echo", "x='a[$(touch CANARY)]'; echo $((x))"),
    ("ps4", "bash", "PS4='$(touch CANARY)' bash -xc true"),
    ("lessopen", "less", "LESSOPEN='|touch CANARY; cat %s' less f.txt"),
    ("env-S", "env", 'env -S "touch CANARY"'),
    ("nice", "nice", "nice touch CANARY"),
    ("timeout", "timeout", "timeout 5 touch CANARY"),
    ("flock", "flock", "flock f.txt touch CANARY"),
    ("setsid", "setsid", "setsid -w touch CANARY"),
    ("root-link", "/proc/self/root/usr/bin/ls", "/proc/self/root/usr/bin/touch CANARY"),
    ("find-exec", "find", "find . -maxdepth 0 -exec touch CANARY ';'"),
    ("rg-pre", "rg", "rg --pre ./evil.sh x f.txt"),
    ("sed-e-flag", "sed", "sed '1s/.*/touch CANARY/e' f.txt"),
    ("sed-backup", "sed", "sed --in-place=CANARY s/x/y/ f.txt"),
    ("abbreviation", "sort", "sort --outp=CANARY f.txt"),
    ("sort-o", "sort", "sort -o CANARY f.txt"),
    ("git-abbreviation", "git ls-remote", "git ls-remote --upload-pa='touch CANARY;false' ."),
    ("tar-checkpoint", "tar", "tar --checkpoint=1 --checkpoint-action=exec='touch CANARY' -cf a.tar f.txt evil.sh .git"),
    ("make-eval", "make", "make --eval='x:;touch CANARY' x"),
    ("git-output", "git diff", "git diff --output=CANARY HEAD~1"),
    ("git-archive", "git archive", "git archive -o CANARY HEAD"),
    ("git-config", "git config", "git config alias.x '!touch CANARY' && git x"),
    ("git-ext", "git ls-remote", "git -c protocol.ext.allow=always ls-remote 'ext::sh -c touch% CANARY'"),
    ("git-ssh", "git ls-remote", "git -c core.sshCommand='touch CANARY;false' ls-remote ssh://x/y"),
    ("git-fsmonitor", "git status", "git -c core.fsmonitor='touch CANARY' status"),
    ("redirect", "echo", "echo x > CANARY"),
    ("append", "echo", "echo x >> CANARY"),
    ("descriptor", "echo", "echo x 3> CANARY"),
    ("here-file", "cat", "cat > CANARY <<E\nx\nE"),
    ("brace-name", "ls", "{touch,CANARY}"),
    ("zero-width", "echo", "echo \u200b; touch CANARY"),
    ("many", "true", "true; " * 500 + "touch CANARY"),
    ("joined-comment", "echo", "echo a #\\\ntouch CANARY"),
    ("empty-brace", "true", "true; {touch,} CANARY"),
    ("hex-in-braces", "true", "true; $'\\x{74}ouch' CANARY"),
    ("closed-stream", "true", "true; 2>&-touch CANARY"),
    ("case-falls-through", "true", "case a in a) true ;& b) touch CANARY ;; esac"),
]
DATA = Path(__file__).parents[1] / "permissions" / "data"
CORPUS = json.loads((DATA / "shell_attacks.json").read_text())
MISREAD = json.loads((DATA / "reader_cases.json").read_text())["cases"]
ATTACKS: list[dict[str, str]] = [
    *(case for case in CORPUS if case["expect"] != "allow"),
    *MISREAD,
    *({"id": name, "rule": rule, "command": command} for name, rule, command in MORE),
]
IDS = [case["id"] for case in ATTACKS]
HARMLESS_IN_BASH = frozenset({"zsh-eq", "zsh-glob-e"})
"""Tricks of another shell. Commands always run in bash, to which these lines are errors."""
RULE_SAYS_SO = frozenset(
    {"tee", "tar-to", "tar-I", "tar-checkpoint", "python-c", "perl-e", "node-e", "make", "make-eval", "npm-test"}
)
"""A `*` behind the program allows them, because it allows everything: these are tried without one."""
CAGED = frozenset(
    {
        *("git-bare", "test-v", "printf-v", "prompt-operator", "indirect", "arithmetic", "random", "random-in-loop"),
        *("unset-index", "printf-option-in-variable", "test-option-in-variable", "integer"),
    }
)
"""Nobody is asked about them where there is a cage: they run in it and do nothing."""
NEVER_RUN = frozenset({"nul"})
"""No process can be started with such a line, whoever allows it."""
SHOWN_ELSEWHERE = {
    "date-f": "it only shows a file",
    "rg-hostbin": "ripgrep asks for the host's name at a terminal only",
    "git-bare": "every git of ours is told by its environment to run no fsmonitor",
} | ({"ps4": "bash does not take PS4 from the environment of root"} if os.geteuid() == 0 else {})
"""What leaves no trace here."""
NEEDS = {
    "env-export": ["script", "git"],
    "env-pager-config": ["script", "git"],
    "git-c-pager": ["script", "git"],
    "man-P": ["script", "man"],
    "w-script": ["script"],
    "w-strace": ["strace"],
    "rg-config": ["rg"],
    "rg-hostbin": ["rg"],
    "npm-test": ["npm"],
    "node-e": ["node"],
    "pip-install": ["/usr/bin/pip"],
    "w-ldso": ["/lib64/ld-linux-x86-64.so.2"],
    "env-perl5opt": ["perl"],
    "perl-e": ["perl"],
    "tree-o": ["tree"],
    "zip-TT": ["zip"],
    "xxd": ["xxd"],
    "vim": ["vim"],
    "ed": ["ed"],
    "make": ["make"],
    "file-m": ["file"],
    "lessopen": ["less"],
    "rg-pre": ["rg"],
    "make-eval": ["make"],
    "root-link": ["/usr/bin/touch"],
}
FILES = {
    "f.txt": "0 string x hello\n0 string y hello\n",
    "sub/g.txt": "x\n",
    "evil.sh": "#!/bin/sh\ntouch CANARY\ncat\n",
    "evilbin": "#!/bin/sh\ntouch CANARY\n",
    "evil.mk": "all:\n\ttouch CANARY\n",
    "rgrc": "--pre=./evil.sh\n",
    "conftest.py": "open('CANARY', 'w')\n",
    "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "touch CANARY"}}',
    "pypkg/setup.py": "open('CANARY', 'w')\n",
    "hooks/pre-commit": "#!/bin/sh\ntouch CANARY\n",
    "tmpl/hooks/pre-commit": "#!/bin/sh\ntouch ../CANARY\n",
}


PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
"""Our own ripgrep is among the programs that tricks are tried with."""


@pytest.fixture
def anyio_backend() -> str:
    """What a command does is not a matter of the event loop."""
    return "asyncio"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that lies in wait."""
    folder = tmp_path_factory.mktemp("template") / "workspace"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    if shutil.which("git") is not None:
        repositories(folder)
    return folder


def repositories(folder: Path) -> None:
    """The project with two commits and a submodule, one with a hook, and a bare one whose configuration names a program."""
    for place in (folder / "repo_hook", folder):
        git(place.parent, "init", "-q", place.name)
        for key, value in (("user.email", "a@b"), ("user.name", "a")):
            git(place, "config", key, value)
        git(place, "commit", "-q", "--allow-empty", "-m", "one")
    shutil.copy(folder / "tmpl/hooks/pre-commit", folder / "repo_hook/.git/hooks/pre-commit")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./repo_hook/.git", "module")
    git(folder, "add", "f.txt")
    git(folder, "commit", "-q", "-m", "two")
    git(folder, "init", "-q", "--bare", "nested_bare")
    git(folder / "nested_bare", "config", "core.fsmonitor", "touch ../CANARY; touch CANARY")
    git(folder / "nested_bare", "config", "core.worktree", "../sub")
    git(folder / "nested_bare", "config", "core.bare", "false")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def work(tmp_path: Path, template: Path) -> Path:
    return shutil.copytree(template, tmp_path / "workspace", symlinks=True)


async def yes(*question: Any) -> PermissionResultAllow:
    return PermissionResultAllow()


async def no(*question: Any) -> PermissionResultDeny:
    return PermissionResultDeny(message="No.")


def left_behind(folder: Path) -> list[str]:
    names = {path.name for path in folder.rglob("*") if "CANARY" in path.name or path.suffix == ".mgc"}
    return sorted(names)


def rules(*texts: str) -> list[str]:
    """Those that are accepted: a rule that is refused allows nothing."""
    found = []
    for text in texts:
        try:
            parse_rule(text, "allow")
        except OptionsError:
            continue
        found.append(text)
    return found


FORMS = ("Bash({})", "Bash({}:*)", "Bash({} *)")


async def attempt(tmp_path: Path, case: dict[str, str], *, forms: tuple[str, ...] = FORMS, **more: Any) -> None:
    model = ScriptedModel([Call("Bash", {"command": case["command"], "timeout": 20_000}), Say("done")])
    allowed = rules(*(form.format(case["rule"]) for form in forms))
    env = {"HOME": str(tmp_path), "PATH": PATH}
    await play(tmp_path, model, allowed_tools=allowed, env=env, **more)


@pytest.mark.anyio
@pytest.mark.parametrize("case", ATTACKS, ids=IDS)
async def test_a_trick_with_an_allowed_command_does_nothing_that_nobody_allowed(
    tmp_path: Path, work: Path, case: dict[str, str]
) -> None:
    forms = FORMS[:1] if case["id"] in RULE_SAYS_SO else FORMS
    await attempt(tmp_path, case, can_use_tool=no, forms=forms)
    await attempt(tmp_path, case, forms=forms)  # nobody is there
    assert left_behind(work) == []


@pytest.mark.anyio
@pytest.mark.parametrize("case", ATTACKS, ids=IDS)
async def test_the_same_line_would_do_something_without_the_gate(tmp_path: Path, work: Path, case: dict[str, str]) -> None:
    missing = [
        name
        for name in NEEDS.get(case["id"], ["git"] if case["id"].startswith("git") else [])
        if not shutil.which(name, path=PATH)
    ]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    if case["id"] in SHOWN_ELSEWHERE:
        pytest.skip(SHOWN_ELSEWHERE[case["id"]])
    await attempt(tmp_path, case, can_use_tool=yes, forms=("Bash",) if case["id"] in CAGED else FORMS)
    assert bool(left_behind(work)) is (case["id"] not in HARMLESS_IN_BASH | NEVER_RUN)


def test_the_table_of_cases_is_whole_and_names_only_tests_that_there_are() -> None:
    root = Path(__file__).parents[2]
    table = (root / "docs" / "cases.md").read_text()
    cases = [f"{kind}-{number:02}" for kind, last in (("CP", 24), ("EX", 10), ("CF", 12)) for number in range(1, last + 1)]
    assert re.findall(r"^\| ((?:CP|EX|CF)-\d\d) ", table, re.MULTILINE) == cases
    code = "".join(path.read_text() for path in (root / "tests").rglob("test_*.py"))
    assert [name for name in re.findall(r"`(test_\w+)`", table) if f"def {name}(" not in code] == []
    assert [path for path in re.findall(r"`(tests/[\w/.]+)`", table) if not (root / path).exists()] == []
    assert f"runs {len(ATTACKS)} lines twice" in table
