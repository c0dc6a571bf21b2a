"""Rules that allow more than they seem to: a `*` behind a program that runs whatever it is told to.

`Bash(make:*)` is what it says, and whoever writes it should know what that is. Data and texts; decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .command_rules import fixed_words
from .lines import Part
from .rules import Rule
from .words import Word

_RUN_ANYTHING = frozenset(
    """make gmake cmake ninja meson bazel just task rake ant mvn mvnw gradle gradlew sbt lein scons tox nox invoke fab python
    python2 python3 pypy pypy3 ipython node nodejs deno bun tsx ts-node perl ruby irb php lua luajit Rscript R julia java jshell
    groovy scala kotlin swift elixir mix iex erl ghci runghc racket guile npm npx pnpm pnpx yarn bunx corepack pip pip3 pipx uv uvx
    poetry pipenv pdm hatch rye conda mamba cargo rustc go gcc g++ clang clang++ cc c++ dotnet bundle gem composer pytest mypy jest
    vitest mocha playwright cypress ctest phpunit rspec coverage behave webpack vite rollup gulp grunt nx turbo lerna eslint
    prettier docker docker-compose podman kubectl helm terraform ansible ansible-playbook vagrant packer tar rsync scp sftp curl
    wget git gh hg svn tmux screen psql mysql sqlite3 redis-cli mongosh pre-commit lefthook husky""".split()  # noqa: SIM905 — word lists read better
)
"""Programs that run what their arguments, or the files of the folder, tell them to; or write and send any file."""

_LOOKING_SUBCOMMANDS = re.compile(
    r"(?:docker|podman|kubectl|helm|terraform|conda|gem|pip3?|uv pip|cargo|go|npm|pnpm|yarn|docker compose)"
    r" (?:ps|logs|images|inspect|version|info|list|ls|show|get|describe|top|tree|freeze|check|why|view|outdated|env|fmt|plan"
    r"|template|status|audit)"
)
_TASK = re.compile(r"(?:npm|pnpm|yarn|bun) (?:run|test|exec|start)|(?:cargo|go|dotnet) run|uv run|poetry run|docker (?:run|exec|compose)")
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
    named = " ".join((name, *words[1:]))
    if _LOOKING_SUBCOMMANDS.match(named):
        return False
    return len(words) == 1 or words[1].startswith("-") or _TASK.match(named) is not None


def breadth_note(rule: Rule) -> str | None:
    """What a person has to know of a rule that allows everything; None for all others."""
    if not allows_everything(rule):
        return None
    if rule.content is None:
        return f"{rule} allows every command."
    name = fixed_words(rule.content)[:1]
    if not name:
        return f"{rule} allows every command."
    return (
        f"{rule} allows everything: {name[0]} runs whatever its arguments or the files of the folder tell it to. "
        "A rule without * allows only the command that it names."
    )


_WRITES_TO = re.compile(r"-[a-zA-Z]*[oOPC]|--(?:out|dest|target|directory|prefix|root|dump|cookie-jar|trace|save)[\w-]*")
_ATTACHED = re.compile(r"-[oOPC](?P<short>.+)|--(?:out|dest|target|directory|prefix|root|dump|cookie-jar|trace|save)[\w-]*=(?P<long>.+)")


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
