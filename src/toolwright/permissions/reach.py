"""Arguments by which a program does more than its name says: `tar --to-command`, `make -f`, `python -c`.

A rule's `*` was written with the ordinary use in mind, so it covers none of these; a rule that names one does. Knows
programs only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .lines import Part
from .words import UNKNOWN, Word

Finder = Callable[[Sequence[Word]], Word | None]

NEVER_BY_WILDCARD = frozenset(
    """vim vi nvim view ex ed emacs emacsclient nano pico joe history fc alias unalias enable bind trap awk gawk mawk sed exec
    eval . source crontab tclsh wish expect gdb lldb osascript""".split()  # noqa: SIM905 — word lists read better
)
"""Editors and the like: each has a language of its own in its arguments."""

_INLINE_CODE = {
    "python": "c",
    "python2": "c",
    "python3": "c",
    "pypy": "c",
    "pypy3": "c",
    "node": "ep",
    "nodejs": "ep",
    "perl": "eEdMmI",
    "ruby": "erI",
    "php": "rBREd",
    "lua": "e",
    "Rscript": "e",
    "R": "e",
    "julia": "eE",
    "bun": "e",
}
_INLINE_LONG = frozenset(("--eval", "--print", "--require", "--import", "--loader", "--experimental-loader", "--run", "--exec"))
_PYTHON = re.compile(r"python\d(\.\d+)?")


def reaching(part: Part) -> Word | None:
    """The first word of `part` that no `*` covers."""
    name = part.name
    if name in NEVER_BY_WILDCARD:
        return part.words[1] if len(part.words) > 1 else part.words[0]
    name = "python3" if _PYTHON.fullmatch(name) else name
    rest = part.words[1:]
    if name in _INLINE_CODE and (found := _inline(part, _INLINE_CODE[name])) is not None:
        return found
    if name in _OPTIONS:
        return next((word for word in rest if _matches(word, _OPTIONS[name])), None)
    if name == "deno":
        return next((word for word in rest[:1] if word.may_be_option or word.text in ("eval", "repl")), None)
    if name in ("npm", "pnpm", "yarn", "bun"):
        return _own_options(rest)
    return None


def _inline(part: Part, letters: str) -> Word | None:
    """Code in an argument or on standard input, instead of a file that can be looked at."""
    for word in part.words[1:]:
        if not word.text.startswith("-"):
            return word if word.text.startswith(UNKNOWN) or word.text.startswith("/dev/") else None
        if word.text == "-" or word.text.partition("=")[0] in _INLINE_LONG or not word.known or _has_letter(word.text, letters):
            return word
    return part.words[0] if part.piped else None


def _has_letter(text: str, letters: str) -> bool:
    return not text.startswith("--") and any(letter in text for letter in letters)


_OPTIONS: dict[str, tuple[str, ...]] = {
    "tar": (
        *(
            "-I",
            "-F",
            "-P",
            "--use-compress-program",
            "--to-command",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
        ),
        *("--rsh-command", "--rmt-command", "--absolute-names"),
    ),
    "zip": ("-T", "--unzip-command", "--test"),
    "make": (
        "-f",
        "-C",
        "-E",
        "-I",
        "--file",
        "--makefile",
        "--eval",
        "--directory",
        "--include-dir",
        "SHELL=",
        ".SHELLFLAGS=",
        "MAKEFILES=",
        "MAKEFLAGS=",
    ),
    "split": ("--filter",),
    "man": ("-P", "-H", "-C", "-l", "--pager", "--html", "--config-file", "--local-file", "--preprocessor", "-p"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-S", "-o", "-F"),
    "sftp": ("-S", "-o", "-F"),
    "curl": (
        "-o",
        "-O",
        "-K",
        "-T",
        "--output",
        "--remote-name",
        "--config",
        "--upload-file",
        "--output-dir",
        "-D",
        "-c",
        "--dump-header",
        "--cookie-jar",
    ),
    "wget": (
        "-O",
        "-i",
        "-P",
        "-o",
        "-a",
        "--output-document",
        "--use-askpass",
        "--post-file",
        "--body-file",
        "--output-file",
        "--execute",
        "-e",
    ),
    "pytest": ("-p", "-c", "--rootdir", "--config-file", "--confcutdir", "-o", "--override-ini", "--basetemp"),
    "mypy": ("--config-file", "--python-executable", "--install-types"),
    "cargo": ("--config", "-Z", "--manifest-path", "-C"),
    "go": ("-exec", "-toolexec", "-overlay", "-modfile", "-C", "-o"),
    "gcc": ("-wrapper", "-fplugin", "-specs", "-B"),
    "g++": ("-wrapper", "-fplugin", "-specs", "-B"),
    "clang": ("-fplugin", "-Xclang", "-B"),
    "docker": ("-v", "--volume", "--mount", "--privileged", "--pid", "--network", "-H", "--host", "--cap-add", "--device"),
    "gh": ("--web", "-w"),
    "ssh": ("-o", "-F", "-E", "-R", "-L", "-D", "-W"),
    "jq": ("-f", "-L", "--from-file", "--slurpfile", "--rawfile"),
    "nl": (),
}


def _matches(word: Word, options: tuple[str, ...]) -> bool:
    """Long options also when they are cut short (`--to-com`), short ones also within a bundle (`-cIx`)."""
    text = word.text
    if word.may_be_option:
        return True
    if text.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 2 and any(option.startswith(name) for option in options if option.startswith("--"))
    if text.startswith("-"):
        return any(_in_bundle(option, text) for option in options)
    return any(text.startswith(option) for option in options if option.endswith("="))


def _in_bundle(option: str, text: str) -> bool:
    return text == option or text.startswith(f"{option}=") or (len(option) == 2 and option[1] in text[1:])


_KNOWN_TO_NPM = re.compile(
    r"-w|-ws|--workspace(=.*)?|--workspaces|--if-present|--include-workspace-root|-D|--save-dev|-E|--save-exact|--no-audit|--no-fund|--prefer-offline"
    r"|--frozen-lockfile|--immutable|--ignore-scripts|-r|--recursive|--filter(=.*)?|--production|--omit(=.*)?|--json|--depth(=.*)?|--version|-v|--watch"
    r"|--coverage|--dry-run|-g|--global|--all|--long|--legacy-peer-deps|--access(=.*)?|--tag(=.*)?|-y|--yes"
)


def _own_options(rest: Sequence[Word]) -> Word | None:
    """npm's own options stand before `--` and can name another shell, folder or configuration: only known ones are covered."""
    for word in rest:
        if word.text == "--":
            return None
        if word.may_be_option:
            return word
        if word.text.startswith("-") and not (word.known and _KNOWN_TO_NPM.fullmatch(word.text)):
            return word
    return None
