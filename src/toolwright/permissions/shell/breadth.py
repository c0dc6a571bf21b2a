"""Rules that allow more than they seem to: a `*` behind a program that runs whatever it is told to.

`Bash(make:*)` is what it says, and whoever writes it should know what that is. Data and texts; decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from toolwright.permissions.rules import Rule
from toolwright.permissions.shell.command_line import Part
from toolwright.permissions.shell.command_rules import fixed_words
from toolwright.permissions.shell.words import Word

_RUN_ANYTHING = frozenset(
    """make gmake cmake ninja meson bazel just task rake ant mvn mvnw gradle gradlew sbt lein scons tox nox invoke fab python
    python2 python3 pypy pypy3 ipython node nodejs deno bun tsx ts-node perl ruby irb php lua luajit Rscript R julia java
    jshell groovy scala kotlin swift elixir mix iex erl ghci runghc racket guile npm npx pnpm pnpx yarn bunx corepack pip
    pip3 pipx uv uvx poetry pipenv pdm hatch rye conda mamba cargo rustc go gcc g++ clang clang++ cc c++ dotnet bundle gem
    composer pytest mypy jest vitest mocha playwright cypress ctest phpunit rspec coverage behave webpack vite rollup gulp
    grunt nx turbo lerna eslint prettier docker docker-compose podman kubectl helm terraform ansible ansible-playbook
    vagrant packer tar rsync scp sftp curl wget git gh hg svn tmux screen psql mysql sqlite3 redis-cli mongosh pre-commit
    lefthook husky""".split()  # noqa: SIM905 — word lists read better
)
"""Programs that run what their arguments, or the files of the folder, tell them to; or write and send any file."""

RUN_THE_FOLDER = frozenset("python python3 pytest tox nox coverage make just pip pip3 uv poetry mypy".split())  # noqa: SIM905
"""Programs that run what lies in the folder, its virtual environment included."""


def may_be_of_environment(name: str) -> bool:
    """Whether a rule for `name` may mean the program of a virtual environment: never for git, docker, tar and their kind."""
    return name in RUN_THE_FOLDER or name not in _RUN_ANYTHING


_TASK = re.compile(
    r"(?:npm|pnpm|yarn|bun) (?:run|test|exec|start)|(?:cargo|go|dotnet|uv|poetry) run"
    r"|docker (?:run|exec|compose(?! (?:ps|logs|config|images|ls|top|version)))"
)
_PYTHON = re.compile(r"python\d(\.\d+)?")


def allows_everything(rule: Rule) -> bool:
    """Whether an allow rule lets any program run: all of Bash, or a `*` behind a program that runs what it is told to."""
    if rule.behavior != "allow" or rule.tool != "Bash":
        return False
    return rule.content is None or _content_allows_everything(rule.content)


def _content_allows_everything(content: str) -> bool:
    words = fixed_words(content)
    if "*" not in content or not words:
        return "*" in content
    name = words[0].rpartition("/")[2]
    if name not in _RUN_ANYTHING and not _PYTHON.fullmatch(name):
        return False
    return len(words) == 1 or words[1].startswith("-") or _TASK.match(" ".join((name, *words[1:]))) is not None


def breadth_note(rules: Iterable[Rule]) -> str | None:
    """A sentence for the person who wrote or is offered `rules`: which of them allow everything. None if none does."""
    broad = list(dict.fromkeys(str(rule) for rule in rules if allows_everything(rule)))
    if not broad:
        return None
    verb = "allows everything: its program runs" if len(broad) == 1 else "allow everything: their programs run"
    return (
        f"{', '.join(broad)} {verb} whatever the arguments or the files of the folder say. "
        "A rule without * allows only the command that it names."
    )


_OUTPUT = r"--(?:out|dest|target|directory|prefix|root|dump|cookie-jar|trace|save)[\w-]*"
_WRITES_TO = re.compile(rf"-[a-zA-Z]*[oOPC]|{_OUTPUT}")
_ATTACHED = re.compile(rf"-[oOPC](?P<short>.+)|{_OUTPUT}=(?P<long>.+)")


def named_outputs(part: Part) -> Iterator[Word]:
    """The paths behind options that nearly every program writes to: `-o x`, `--output=x`, `-C folder`."""
    before = ""
    for word in part.words[1:]:
        attached = _ATTACHED.fullmatch(word.text)
        if attached:
            yield Word(attached["short"] or attached["long"])
        elif _WRITES_TO.fullmatch(before):
            yield word
        before = word.text
