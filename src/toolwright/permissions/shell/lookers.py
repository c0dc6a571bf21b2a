"""Programs that are known only to look, by name or by name and subcommand, and the few words by which one of them acts.

For commands that run in the cage: the kernel holds them, so what is written here decides only whether a person is asked at
once instead of the command being stopped. Data and questions about one simple command; knows no rule and no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolwright.permissions.shell import git_commands
from toolwright.permissions.shell.command_line import Part
from toolwright.permissions.shell.program_table import READERS, VERSIONS
from toolwright.permissions.shell.programs import Effect
from toolwright.permissions.shell.words import UNKNOWN, Word

_SHELL_ITSELF = frozenset(
    """: [ test true false cd pushd popd dirs set unset shift let export local declare typeset readonly read mapfile
    readarray getopts echo printf pwd type hash wait jobs times umask ulimit shopt return break continue exit sleep
    disown""".split()  # noqa: SIM905 — word lists read better
)
_FILE_READERS = frozenset(
    """find sed awk gawk mawk nawk less more bat batcat fd fdfind ag ack ack-grep exa eza cloc tokei scc zcat zgrep zegrep
    zfgrep zdiff zcmp bzcat bzgrep xzcat xzgrep zstdcat zstdgrep lz4cat nm objdump readelf size ldd c++filt addr2line
    shasum md5 base64 base32 numfmt shuf factor expr bc cal getconf locale look iconv fmt pr ptx tsort diff3 sdiff
    colordiff delta pygmentize yq gron mlr xmllint csvlook csvcut csvgrep csvstat hd sha224sum sha384sum dircolors logname
    pathchk tput vdir dir namei lsattr getfattr getfacl""".split()  # noqa: SIM905
)
LOOKERS = frozenset(READERS) | _SHELL_ITSELF | _FILE_READERS

_WITH_SUBCOMMANDS: dict[str, str] = {
    "npm": "ls|list|ll|la|explain|why|root|prefix|bin|query|fund|help|pkg get",
    "pnpm": "ls|list|ll|la|why|root|bin|help",
    "yarn": "list|why|help|workspaces info|workspaces list",
    "bun": "pm ls",
    "pip": "list|show|freeze|check|help|debug",
    "pip3": "list|show|freeze|check|help|debug",
    "uv": "pip list|pip show|pip freeze|pip check|pip tree|python list|python find|version|tree",
    "poetry": "show|check|version|env info|env list",
    "pipenv": "graph",
    "conda": "list|info|env list",
    "cargo": "tree|metadata|locate-project|pkgid|read-manifest|version|help",
    "rustup": "show|which|toolchain list|target list|component list",
    "go": "list|env|version|doc|mod graph|mod why|mod verify|help",
    "gem": "list|which|contents|environment|specification",
    "bundle": "list|show|info|check|config list",
    "composer": "show|licenses|validate|check-platform-reqs",
    "dotnet": "list",
    "pyenv": "versions|version|which|root",
    "nodenv": "versions|version|which",
    "rbenv": "versions|version|which",
    "asdf": "list|current|where|which",
    "mise": "ls|current|where|which",
    "terraform": "version|providers|graph",
}
"""What each of these does with the subcommand is reading, of what lies in the folder or of what is installed."""
SUBCOMMANDS = {
    name: frozenset(tuple(words.split()) for words in listed.split("|")) for name, listed in _WITH_SUBCOMMANDS.items()
}

_TOLD_BY = VERSIONS | frozenset(
    """npx pnpm yarn bun deno cargo rustc rustup go gofmt javac kotlin kotlinc scala mvn gradle ant sbt dotnet swift zig nim
    ghc stack cabal elixir mix erl lua luajit R Rscript julia docker docker-compose podman kubectl helm terraform ansible
    gh glab aws gcloud az uv uvx poetry pipenv pipx conda mamba hatch pdm rye tox nox pytest ruff black isort mypy pyright
    flake8 pylint eslint prettier jest vitest webpack vite rollup esbuild tsx ts-node turbo nx lerna gem bundle rake rspec
    rails composer phpunit gdb lldb ninja meson bazel cc c++ clang++ ld ar as shellcheck shfmt pre-commit sqlite3 psql
    mysql redis-cli mongosh rg jq curl wget ssh openssl tar zip unzip rsync zsh fish dash vim nvim emacs nano code tmux
    make python2 pypy3 nodejs""".split()  # noqa: SIM905
)
_TELLS = frozenset(("--version", "-V", "version", "--help"))

_GIT_LOOKS = frozenset(git_commands.LOOKING) | frozenset(
    """grep annotate cherry range-diff diff-files diff-index show-branch check-attr check-mailmap check-ref-format help
    whatchanged get-tar-commit-id verify-pack verify-tag verify-commit patch-id stripspace""".split()  # noqa: SIM905
)
_GIT_LISTS = {
    "submodule": frozenset(("status", "summary")),
    "notes": frozenset(("list", "show")),
    "sparse-checkout": frozenset(("list",)),
    "bisect": frozenset(("log",)),
}
_GIT_NAMES_ONLY = frozenset(
    """status rev-parse rev-list ls-files ls-tree describe merge-base for-each-ref name-rev count-objects show-ref var
    version check-ignore shortlog branch tag remote worktree config symbolic-ref reflog cherry check-attr check-mailmap
    check-ref-format help submodule show-branch sparse-checkout""".split()  # noqa: SIM905
)
"""These show names and numbers, never the lines of a file."""
_GIT_ACTS = re.compile(
    r"-c.*|--exec-path.*|--git-dir.*|--work-tree.*|--config-env.*|-p|--paginate|--namespace.*|--super-prefix.*"
)
_GIT_COMMAND_ACTS = re.compile(r"--output.*|--ext-diff|--textconv|--open-files-in-pager.*|--upload-pack.*|--exec.*|--edit.*")

_ACTS: dict[str, re.Pattern[str]] = {
    "find": re.compile(r"-delete|-fprint.*|-fls|-ok|-okdir"),
    "sort": re.compile(r"-[a-zA-Z]*o.*|--o.*|--comp.*"),
    "shuf": re.compile(r"-[a-z]*o.*|--o.*"),
    "iconv": re.compile(r"-o.*|--o.*"),
    "xmllint": re.compile(r"--output.*|-o|--shell"),
    "base64": re.compile(r"-o.*|--output.*"),
    "pygmentize": re.compile(r"-o.*|-x"),
    "yq": re.compile(r"-i|--inplace|--in-place|-[a-zA-Z]*i"),
    "tree": re.compile(r"-[a-zA-Z]*o|-R|--output.*"),
    "date": re.compile(r"-[a-zA-Z]*s.*|--s.*|-f.*|--f.*|\d+(\.\d+)?"),
    "hostname": re.compile(r"[^-].*|-[bF].*|--file.*"),
    "file": re.compile(r"-[a-zA-Z]*C.*|--compile"),
    "rg": re.compile(r"--pre(=.*)?|--hostname-bin.*"),
    "fd": re.compile(r"-[a-zA-Z]*[xX]|--exec.*"),
    "fdfind": re.compile(r"-[a-zA-Z]*[xX]|--exec.*"),
    "ag": re.compile(r"--pager.*"),
    "ack": re.compile(r"--pager.*"),
    "sed": re.compile(r"-[a-zA-Z]*i.*|--in-place.*"),
    "awk": re.compile(r"-[dDiop].*|--(include|dump|pretty|profile|debug).*"),
    "go": re.compile(r"-w|-u|-toolexec.*|-exec.*"),
    "uv": re.compile(r"--upgrade.*|-U"),
}
"""Words by which a program that otherwise looks writes a file or runs another program."""
_ACTS |= {"gawk": _ACTS["awk"], "mawk": _ACTS["awk"], "nawk": _ACTS["awk"], "batcat": _ACTS["ag"], "bat": _ACTS["ag"]}

_SED_ACTS = re.compile(r"(?:^|[;{}\n!/|,#@\d$])\s*[gpiIM\d]*\s*[wWe](?:[ \t]|$)")
_AWK_ACTS = re.compile(r"system\s*\(|print[^;}\n]*(?:>|(?<!\|)\|(?!\|))|\|\s*getline|\|&|ENVIRON|PROCINFO|/inet")
_JQ_ACTS = re.compile(r"(?<![.\w\"])env\b|\$ENV")
_SCRIPTS = {"sed": _SED_ACTS, "jq": _JQ_ACTS, "yq": _JQ_ACTS} | dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK_ACTS)

_NEED_A_WORD = frozenset(("export", "declare", "typeset", "readonly", "local", "set"))
"""Without anything behind them these show every variable of the environment."""
_PATTERN_FIRST = frozenset(
    """grep egrep fgrep zgrep zegrep zfgrep bzgrep xzgrep zstdgrep rg ag ack ack-grep sed awk gawk mawk nawk jq yq fd fdfind
    gron expr""".split()  # noqa: SIM905
)
TEXT_ONLY = frozenset(name for name, reader in READERS.items() if reader.operands in ("text", "none")) | _SHELL_ITSELF - {
    "cd",
    "pushd",
}
_SYSTEM = re.compile(r"/(?:usr/)?(?:local/)?s?bin/[^/]+")

PLAIN_LOOKERS = frozenset(
    """ls cat head tail wc grep rg find stat file du diff sort uniq cut tr pwd cd echo which basename dirname date whoami
    uname true false""".split()  # noqa: SIM905
)
"""What runs unasked where there is no cage: each only with the options of `program_table`, and with plain words."""


def looks_by_name(part: Part, functions: tuple[str, ...] = ()) -> bool:
    """Whether `part` is a program that is known only to look, whatever its other words are."""
    return not part.words or bool(name_words(part)) or part.name in functions


def name_words(part: Part) -> int:
    """So many words say that `part` only looks: `ls` one, `npm ls` and `git log` two; 0 if it is not known to."""
    first = part.words[0].plain if part.words else None
    if first is None or ("/" in first and not _SYSTEM.fullmatch(first)):
        return 0
    name = part.name
    if name in LOOKERS:
        return 1
    if name == "git":
        return 2 if _git_looks(part.words) else 0
    texts = tuple(word.plain for word in part.words[1:])
    if name in _TOLD_BY and len(texts) == 1 and (texts[0] in _TELLS or (name, texts[0]) in _VERSION_WORDS):
        return 2
    listed = SUBCOMMANDS.get(name, frozenset())
    return next((size + 1 for size in (1, 2) if texts[:size] in listed), 0)


_VERSION_WORDS = frozenset((("node", "-v"), ("npm", "-v"), ("java", "-version"), ("yarn", "-v"), ("pnpm", "-v"), ("npx", "-v")))


def _git_looks(words: tuple[Word, ...]) -> bool:
    command, *rest = git_commands.without_globals(words)[1:] or (Word(""),)
    name = command.plain or ""
    if name in _GIT_LOOKS:
        return True
    if name in _GIT_LISTS:
        return bool(rest) and rest[0].plain in _GIT_LISTS[name]
    if not name:
        return [word.plain for word in words[1:]] in (["--version"], ["--help"])
    return git_commands.looking((words[0], command, *rest))[0] is not None


def acting_word(part: Part, found: Effect) -> Word | None:
    """The word by which `part`, a program that otherwise looks, writes or runs something."""
    if found.kind == "looks" or not part.words:
        return None
    if part.name in ("uniq", "xxd"):
        return found.beyond
    if part.name == "git":
        return _git_acts(part.words)
    if part.name in _NEED_A_WORD and not part.assignments and all(word.text.startswith("-") for word in part.words[1:]):
        return part.words[0] if part.name != "set" or len(part.words) == 1 else None
    acts, script = _ACTS.get(part.name), _SCRIPTS.get(part.name)
    for word in part.words[1:]:
        if (acts and acts.fullmatch(word.text)) or (script and script.search(word.text)):
            return word
    return None


def _git_acts(words: tuple[Word, ...]) -> Word | None:
    command = git_commands.without_globals(words)[1:2]
    before = True
    for word in words[1:]:
        before = before and word not in command
        if (_GIT_ACTS if before else _GIT_COMMAND_ACTS).fullmatch(word.text):
            return word
        if not before and command[0].plain == "grep" and re.match(r"-[A-Za-z]*O", word.text):
            return word
    return None


def shows_content(part: Part, found: Effect) -> bool:
    """Whether a git command that only looks may show the lines of files that git keeps, whoever hides the files themselves."""
    if part.name != "git":
        return False
    if found.kind == "looks":
        return found.shows_tracked
    command = git_commands.without_globals(part.words)[1:2]
    return not command or command[0].plain not in _GIT_NAMES_ONLY


def path_words(part: Part, found: Effect) -> Iterator[Word]:
    """The words of `part` that are paths: exactly where its options are known, otherwise those that look like one."""
    if found.kind == "looks":
        yield from (*found.reads, *found.names)
        return
    if part.name in TEXT_ONLY:
        return
    words = part.words[1:]
    if part.name in _PATTERN_FIRST or (part.name == "git" and any(word.plain == "grep" for word in words)):
        words = _without_pattern(words, "grep" if part.name == "git" else None)
    for word in words:
        option, equals, value = word.text.partition("=")
        word = Word(value) if equals and option.startswith("-") else word
        if _looks_like_path(word):
            yield word


def _without_pattern(words: tuple[Word, ...], after: str | None) -> tuple[Word, ...]:
    start = next((place + 1 for place, word in enumerate(words) if word.plain == after), 0) if after else 0
    pattern = next((place for place in range(start, len(words)) if not words[place].text.startswith("-")), len(words))
    return (*words[:pattern], *words[pattern + 1 :])


def _looks_like_path(word: Word) -> bool:
    if UNKNOWN in word.text:
        return False
    return word.tilde or word.text.startswith("/") or ".." in word.text.split("/")
