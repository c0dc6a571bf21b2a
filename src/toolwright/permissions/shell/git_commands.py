"""git: which of its commands only look, and which arguments reach further than the command they stand behind.

A git that only looks still runs what the repository's own configuration names (fsmonitor, external diffs, filters). So it runs
unasked only where that configuration names nothing of the kind: `keys_are_plain` says so of a configuration's keys.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from toolwright.permissions.shell.program_options import Arguments, Spec, arguments, spec
from toolwright.permissions.shell.words import Word

_DIFF_FLAGS = "pubwRazs"
_DIFF_LONG = (
    "stat shortstat numstat summary patch no-patch name-only name-status raw patch-with-stat check staged cached word-diff "
    "minimal histogram patience no-color color full-index no-renames find-renames ignore-space-change ignore-all-space "
    "ignore-blank-lines no-ext-diff no-textconv text quiet exit-code merge-base compact-summary cc dirstat relative no-prefix "
    "abbrev color-words"
)
_DIFF_VALUES = (
    "unified stat color word-diff diff-filter find-renames diff-algorithm dirstat abbrev inter-hunk-context color-words "
    "relative"
)
_LOG_LONG = (
    "oneline all graph decorate no-decorate merges no-merges first-parent reverse follow branches tags remotes no-walk pretty "
    "abbrev-commit show-pulls date-order topo-order author-date-order left-right cherry-pick full-history "
    "simplify-by-decoration boundary source mailmap no-abbrev-commit relative-date parents children no-notes"
)
_LOG_VALUES = (
    "max-count skip since until after before author committer grep format pretty date decorate branches tags remotes glob "
    "exclude min-parents max-parents"
)
_NUMBERS = {"numbers": True}

LOOKING: dict[str, Spec] = {
    "status": spec(
        "sbvuz",
        "",
        "short branch porcelain long verbose show-stash ahead-behind ignored untracked-files",
        long_values="porcelain untracked-files ignored",
        extra={"single_dash": "-uno -unormal -uall"},
    ),
    "diff": spec(_DIFF_FLAGS, "USG", _DIFF_LONG, long_values=_DIFF_VALUES),
    "log": spec(
        _DIFF_FLAGS + "gic", "nUSGL", f"{_DIFF_LONG} {_LOG_LONG}", long_values=f"{_DIFF_VALUES} {_LOG_VALUES}", extra=_NUMBERS
    ),
    "show": spec(
        _DIFF_FLAGS, "USG", f"{_DIFF_LONG} oneline no-decorate decorate", long_values=f"{_DIFF_VALUES} format pretty date"
    ),
    "shortlog": spec("sneC", "", "summary numbered email all no-merges", long_values="since until group"),
    "rev-parse": spec(
        "q",
        "",
        "show-toplevel abbrev-ref verify short git-dir is-inside-work-tree is-inside-git-dir symbolic-full-name show-prefix "
        "quiet absolute-git-dir git-common-dir is-bare-repository all branches tags",
        long_values="short",
    ),
    "rev-list": spec("", "n", f"count all {_LOG_LONG}", long_values=_LOG_VALUES, extra=_NUMBERS),
    "ls-files": spec(
        "cdmoistzkuv",
        "x",
        "cached deleted modified others stage exclude-standard full-name error-unmatch",
        long_values="exclude",
    ),
    "ls-tree": spec("rdtlz", "", "name-only name-status full-name full-tree long abbrev", long_values="format abbrev"),
    "blame": spec("wbcefnlpst", "L", "porcelain show-email show-name abbrev", long_values="since date abbrev"),
    "describe": spec("", "", "tags all always dirty long contains exact-match", long_values="abbrev match exclude dirty"),
    "merge-base": spec("a", "", "all is-ancestor fork-point octopus"),
    "for-each-ref": spec("", "", "", long_values="format sort count points-at merged no-merged contains"),
    "name-rev": spec("", "", "name-only tags all always", long_values="refs"),
    "cat-file": spec("tspe", "", ""),
    "count-objects": spec("vH", "", "verbose human-readable"),
    "show-ref": spec("sdq", "", "heads tags head verify hash branches"),
    "var": spec(),
    "version": spec(),
    "check-ignore": spec("vnq", "", "verbose quiet non-matching"),
    "diff-tree": spec("rtpz", "", _DIFF_LONG, long_values=_DIFF_VALUES),
}
_LISTING: dict[str, tuple[Spec, frozenset[str]]] = {
    "branch": (
        spec(
            "avrl",
            "",
            "all remotes list verbose show-current no-color",
            long_values="format sort contains merged no-merged points-at",
        ),
        frozenset(),
    ),
    "tag": (spec("ln", "", "list", long_values="sort format contains merged points-at"), frozenset()),
    "remote": (spec("v", "", "verbose"), frozenset(("get-url",))),
    "stash": (spec("p", "", "stat patch name-only"), frozenset(("list", "show"))),
    "worktree": (spec("v", "", "porcelain verbose"), frozenset(("list",))),
    "reflog": (spec("n", "", "oneline all", extra=_NUMBERS), frozenset(("show",))),
    "config": (
        spec("lz", "", "list get get-all get-regexp show-origin show-scope name-only local"),
        frozenset(("list", "get")),
    ),
    "symbolic-ref": (spec("q", "", "short quiet"), frozenset()),
}
"""Commands that list in one form and change in another: the options of the listing form, and the words that begin it."""

GLOBAL_FLAGS = frozenset(("--no-pager", "--no-optional-locks", "--literal-pathspecs", "-P"))
_GLOBAL_VALUED = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix")
)

_REACHING_LONG = frozenset(
    """--upload-pack --receive-pack --exec --ext-diff --open-files-in-pager --template --output --config --config-env
    --exec-path --git-dir --work-tree --strategy --gpg-sign --textconv --tool --extcmd --reference --separate-git-dir
    --paginate --filters --show-signature --output-directory --index-filter --tree-filter --env-filter --msg-filter
    --parent-filter --commit-filter --edit-description""".split()  # noqa: SIM905 — word lists read better
)
_REACHING_WORDS = {
    "bisect": ("run", "visualize", "view"),
    "submodule": ("foreach", "add", "update"),
    "remote": ("add", "set-url", "update"),
}
_RUN_ANYTHING = frozenset(
    [
        "filter-branch",
        "difftool",
        "mergetool",
        "hook",
        "daemon",
        "credential",
        "shell",
        "instaweb",
        "gui",
        "send-email",
        "web--browse",
    ]
)


def without_globals(words: Sequence[Word]) -> tuple[Word, ...]:
    """`git -C x --no-pager push` as `git push`, so that a rule about `git push` sees it."""
    rest = list(words[1:])
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        if option.text in _GLOBAL_VALUED and rest:
            rest.pop(0)
    return (words[0], *rest)


def chosen_folders(words: Sequence[Word]) -> list[Word]:
    """The folders that `-C` names before the command: git goes there first."""
    chosen, rest = [], list(words[1:])
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        if option.text in _GLOBAL_VALUED and rest:
            value = rest.pop(0)
            chosen += [value] if option.text == "-C" else []
    return chosen


def looking(words: Sequence[Word]) -> tuple[Arguments | None, Word | None]:
    """The arguments of a git command that only looks, or the word because of which that is not certain."""
    rest = list(words[1:])
    while rest and rest[0].plain in GLOBAL_FLAGS:
        rest.pop(0)
    if not rest:
        return None, words[0]
    name = rest[0].plain or ""
    if name in LOOKING:
        found = arguments(rest[1:], LOOKING[name])
        return (None, found.refused) if found.refused else (found, None)
    if name in _LISTING:
        return _listing(rest, *_LISTING[name])
    return None, rest[0]


def shows_content(words: Sequence[Word], found: Arguments) -> bool:
    """Whether a git command that only looks shows the lines of files, not just their names and numbers."""
    command = next(word.text for word in words[1:] if word.plain not in GLOBAL_FLAGS)
    if command in ("log", "diff-tree") or found.has(*_NO_CONTENT):
        return found.has(*_PATCH)
    return command in ("diff", "show", "cat-file", "stash", "blame")


_NO_CONTENT = (
    "stat",
    "shortstat",
    "numstat",
    "dirstat",
    "summary",
    "name-only",
    "name-status",
    "no-patch",
    "s",
    "quiet",
    "raw",
    "t",
    "e",
)
_PATCH = (
    "p",
    "u",
    "patch",
    "patch-with-stat",
    "U",
    "unified",
    "W",
    "function-context",
    "word-diff",
    "color-words",
    "c",
    "cc",
    "L",
)


def _listing(rest: list[Word], known: Spec, verbs: frozenset[str]) -> tuple[Arguments | None, Word | None]:
    found = arguments(rest[1:], known)
    if found.refused:
        return None, found.refused
    begins = not found.operands or found.operands[0].plain in verbs
    lists = found.has("l", "list", "get", "get-all", "get-regexp", "contains", "merged", "no-merged", "points-at")
    reads_one = rest[0].text == "symbolic-ref" and len(found.operands) == 1
    needs_verb = rest[0].text == "stash" and not found.operands
    if rest[0].text == "config" and _shows_all(found) and not found.has("local"):
        return None, rest[0]  # the person's own configuration lies outside, and may hold secrets
    if needs_verb or not (begins or lists or reads_one):
        return None, found.operands[0] if found.operands else rest[0]
    return found, None


def _shows_all(found: Arguments) -> bool:
    """Whether `git config` would show more than what is asked for by its name."""
    begins = found.operands[0].plain if found.operands else None
    return found.has("l", "list", "get-regexp") or begins == "list"


def reaching(words: Sequence[Word]) -> Word | None:
    """The first word by which a git command does more than its name says: no `*` in a rule covers it."""
    if len(words) > 1 and words[1].text.startswith("-") and words[1].plain not in GLOBAL_FLAGS | {"--version", "--help"}:
        return words[1]
    command = next((word for word in words[1:] if not word.text.startswith("-")), None)
    if command is None:
        return None
    if not command.known or command.text in _RUN_ANYTHING:
        return command
    if command.text == "config" and looking(words)[0] is None:
        return command
    before = words[0]
    for word in words[1:]:
        if _reaches(command.text, word) or (word.may_be_option and not (word.one and before.plain in _MESSAGES)):
            return word
        before = word
    return None


def touched_files(words: Sequence[Word]) -> tuple[str, list[Word]]:
    """The command, and the files of the work tree that it names and changes, as far as that can be seen."""
    command, *rest = without_globals(words)[1:] or (words[0],)
    named = [word for word in rest if not word.text.startswith("-")]
    return command.text, named if command.plain in ("mv", "rm", "restore", "checkout") else []


_MESSAGES = frozenset(("-m", "-am", "--message", "--"))
"""After these comes a text, whatever it looks like."""


def _reaches(command: str, word: Word) -> bool:
    text = word.text
    if text.startswith("ext::") or text in _REACHING_WORDS.get(command, ()):
        return True
    if text.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 3 and any(option.startswith(name) for option in _REACHING_LONG) and name not in _HARMLESS_PREFIXES
    if command in ("grep", "diff", "log", "show") and re.match(r"-[A-Za-z]*O", text):
        return True
    if command == "rebase" and re.match(r"-[A-Za-z]*x", text):
        return True
    return (command in ("archive", "format-patch") and text.startswith("-o")) or (
        command in ("clone", "ls-remote", "fetch") and text in ("-u", "-c")
    )


_HARMLESS_PREFIXES = frozenset(("--text", "--stat", "--tags", "--git"))

# configuration

_PLAIN_SECTIONS = frozenset(
    [
        "branch",
        "user",
        "init",
        "pull",
        "push",
        "submodule",
        "lfs",
        "gc",
        "rebase",
        "color",
        "advice",
        "fetch",
        "commit",
        "tag",
        "author",
        "committer",
    ]
)
_PLAIN_CORE = frozenset(
    """repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf
    sparsecheckout sparsecheckoutcone""".split()  # noqa: SIM905
)
_PLAIN_KEYS = {
    "core": _PLAIN_CORE,
    "extensions": frozenset(("worktreeconfig", "objectformat", "refstorage")),
    "index": frozenset(("sparse", "version")),
    "remote": frozenset("url pushurl fetch push tagopt prune prunetags mirror skipdefaultupdate skipfetchall".split()),  # noqa: SIM905
}
"""Sections of which only these keys are harmless: a git that only looks fetches what is missing from a `promisor` by its
`uploadpack`, a program.
"""


def keys_are_plain(keys: Iterable[str], overruled: Collection[str] = ()) -> bool:
    """Whether a repository's configuration names no program: every key of it, as git lists them, is known to be harmless.

    Keys in `overruled` are, because their values do not count.
    """
    return all(_is_plain(key) or key in overruled for key in keys)


def _is_plain(key: str) -> bool:
    section, _, rest = key.partition(".")
    known = _PLAIN_KEYS.get(section)
    return section in _PLAIN_SECTIONS if known is None else rest.rpartition(".")[2] in known
