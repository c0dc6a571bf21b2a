"""What a simple command would do, as far as its program is known: look, edit, write, change, or run something unknown.

Knows programs and their arguments; does not know rules, modes or where the session works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolwright.permissions.shell import git_commands
from toolwright.permissions.shell.command_line import Part, stays_harmless
from toolwright.permissions.shell.program_options import Arguments, arguments, spec
from toolwright.permissions.shell.program_table import CHANGERS, EDITORS, MANY, READERS, VERSIONS, WRITERS, ReadOnlyProgram
from toolwright.permissions.shell.scripts import awk_only_looks, find_paths, sed_only_looks, test_only_looks
from toolwright.permissions.shell.words import Word

Kind: TypeAlias = Literal["looks", "edits", "writes", "changes", "runs"]
"""`edits`: what acceptEdits runs. `writes`: puts content into files. `changes`: files in other ways. `runs`: not known."""

Copy: TypeAlias = tuple[Word, Callable[[str], Word]]


class Effect(Struct, frozen=True):
    """What a command would do. Paths are words still: only who knows the folder can resolve them."""

    kind: Kind
    reads: tuple[Word, ...] = ()
    names: tuple[Word, ...] = ()
    """Paths of which only names, sizes and times are looked at."""
    writes: tuple[Word, ...] = ()
    walks: bool = False
    """It reads all below the paths in `reads`."""
    follows: bool = False
    """There it reads what links lead to."""
    copies: tuple[Copy, ...] = ()
    """Patterns, and the path that is written for each path that matches."""
    is_git: bool = False
    shows_tracked: bool = False
    """It shows what is in files that git tracks, whatever they are called."""
    beyond: Word | None = None
    """Of a known program: the word because of which it is not known to only look. No `*` in a rule covers it."""


VERSION_OPTIONS = {"node": "-v", "java": "-version"}
LOOKS = Effect("looks")
RUNS = Effect("runs")
HERE = Word(".")


def effect(part: Part) -> Effect:
    """What `part` would do by itself, without its redirections."""
    if not part.words:
        return LOOKS
    first = part.words[0].plain
    if first is None:
        return RUNS
    if "/" in first:
        return _by_path(part, first)
    return _by_name(part, first)


def _by_path(part: Part, first: str) -> Effect:
    """A program named by its path is the one we know only in the system's folders; what it does with its arguments holds
    anyway.
    """
    found = _by_name(part, part.name)
    trusted = re.fullmatch(r"/(usr/)?s?bin/[^/]+", first) is not None
    if trusted or found.kind == "runs":
        return found
    return Effect("changes" if found.writes else "runs", found.reads, found.names, found.writes, copies=found.copies)


def _by_name(part: Part, name: str) -> Effect:
    rest = part.words[1:]
    if name in VERSIONS and [word.plain for word in rest] in (["--version"], [VERSION_OPTIONS.get(name, "--version")]):
        return LOOKS
    if name in READERS:
        return _reader(name, READERS[name], rest)
    if name in _SPECIAL:
        return _SPECIAL[name](part)
    if name in EDITORS:
        return _editor(name, rest)
    if name in WRITERS:
        found = arguments(rest, WRITERS[name])
        writes = Effect("writes", tuple(found.paths), writes=tuple(found.operands))
        return _beyond(found.refused, found.rest) if found.refused else writes
    if name in CHANGERS:
        return _changer(name, rest)
    return RUNS


def _beyond(word: Word | None, writes: Iterable[Word] = ()) -> Effect:
    """A known program, with a word because of which it is not known what it does."""
    return Effect("runs", writes=tuple(writes), beyond=word)


def _reader(name: str, reader: ReadOnlyProgram, rest: tuple[Word, ...]) -> Effect:
    if name == "printf":
        return _printf(rest)
    found = arguments(rest, reader.options)
    operands = found.operands
    if found.refused:
        return _beyond(found.refused)
    if reader.operands == "none" and operands:
        return _beyond(operands[0])
    if len(operands) > reader.most:
        return _beyond(operands[reader.most])
    unclear = next((word for word in operands if _may_be_more(word, reader)), None)
    if unclear is not None:
        return _beyond(unclear)
    if name == "date" and operands and not operands[0].text.startswith("+"):
        return _beyond(operands[0])
    if name == "command" and not found.options:
        return _beyond(rest[0] if rest else None)
    return _reading(name, reader, found)


_SETS_A_VARIABLE = re.compile(r"%[^A-Za-z%]*[hlLjztq]*n")


def _printf(rest: tuple[Word, ...]) -> Effect:
    """Options stand before the format only; `%n` in it sets a variable, PATH for one."""
    form = rest[0] if rest else None
    if form is None or not form.known or form.text.startswith("-") or _SETS_A_VARIABLE.search(form.text.replace("%%", "")):
        return _beyond(form)
    return LOOKS


def _may_be_more(word: Word, reader: ReadOnlyProgram) -> bool:
    """A pattern where words are counted, or a file with arguments."""
    return (reader.most < MANY and word.glob) or (reader.response_files and word.text.startswith("@"))


def _reading(name: str, reader: ReadOnlyProgram, found: Arguments) -> Effect:
    walks = reader.walks == "*" or found.has(*reader.walks.split())
    match reader.operands:
        case "text" | "none":
            return LOOKS
        case "names":
            return Effect("looks", names=tuple(found.operands) or (HERE,))
        case "pattern":
            return _searching(name, found, walks)
        case _:
            return Effect("looks", (*found.paths, *found.operands), walks=walks, follows=reader.follows)


def _searching(name: str, found: Arguments, walks: bool) -> Effect:
    """A pattern, unless an option gave one, and files. What may become an option or several words counts as a file."""
    pattern, *files = found.operands or (HERE,)
    if name == "jq" and not (found.operands and _jq_only_looks(pattern)):
        return _beyond(pattern if found.operands else None)
    if pattern.glob or pattern.may_be_option or (name != "jq" and found.has("e", "regexp", "f", "file", "files")):
        files = found.operands
    return Effect("looks", (*found.paths, *(files or ((HERE,) if walks else ()))), walks=walks)


def _jq_only_looks(program: Word) -> bool:
    return program.known and re.search(r"env|ENV|import|include|input_", program.text) is None


def _editor(name: str, rest: tuple[Word, ...]) -> Effect:
    found = arguments(rest, EDITORS[name])
    target = found.value("t", "target-directory")
    if name not in ("cp", "mv"):
        edits = Effect("edits", tuple(found.paths), writes=tuple(found.operands))
        return _beyond(found.refused, found.rest) if found.refused else edits
    sources, targets, copies = _sources_and_target(found.rest, target)
    writes = targets if name == "cp" else [*sources, *targets]
    unclear = next((word for word in sources if word.text.rstrip("/").rpartition("/")[2] in ("", ".", "..")), None)
    if found.refused or unclear:  # the latter: all that is in a folder, under names that are not known
        return _beyond(found.refused or unclear, writes)
    walks = name == "mv" or found.has("r", "R", "a", "recursive", "archive")  # what is moved can be read under its new name
    return Effect("edits", tuple(sources), writes=tuple(writes), copies=copies, walks=walks)


def _sources_and_target(operands: list[Word], target: Word | None) -> tuple[list[Word], list[Word], tuple[Copy, ...]]:
    """A file that is put into a folder is also written there under its own name; names behind a pattern are not known here."""
    sources = operands if target else operands[:-1]
    folder = target or (operands[-1] if operands else None)
    if folder is None:
        return sources, [], ()
    inside = [put_into(folder, source.text) for source in sources if not source.glob]
    return sources, [folder, *inside], tuple((source, partial(put_into, folder)) for source in sources if source.glob)


def put_into(folder: Word, source: str) -> Word:
    """The path that `source` gets in `folder`."""
    return Word(f"{folder.text.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}", folder.glob, folder.tilde)


def _changer(name: str, rest: tuple[Word, ...]) -> Effect:
    found = arguments(rest, CHANGERS[name])
    operands = found.rest
    if name in ("chmod", "chown", "chgrp"):
        operands = operands[1:] if not found.refused else operands
    sources, targets, copies = (
        _sources_and_target(operands, found.value("t", "target-directory")) if name in ("ln", "install") else ([], operands, ())
    )
    kind: Kind = "runs" if found.refused else "changes"
    return Effect(kind, tuple(sources), writes=tuple(targets), copies=copies, beyond=found.refused)


def _find(part: Part) -> Effect:
    paths, refused = find_paths(part.words[1:])
    return _beyond(refused) if refused else Effect("looks", names=tuple(paths) or (HERE,))


_SED = spec("nErszu", "e", "quiet silent regexp-extended separate null-data unbuffered posix debug", long_values="expression")
_SED_INPLACE = re.compile(r"-i[\w.~]*|-[nErsz]*i|--in-place(=[\w.~]*)?")


def _sed(part: Part) -> Effect:
    in_place = next((word for word in part.words[1:] if _is_in_place(word)), None)
    rest = [word for word in part.words[1:] if not _is_in_place(word)]
    found = arguments(rest, _SED)
    scripts = [value for name, value in found.options if name in ("e", "expression") and value]
    files = found.rest
    if not scripts and files:
        scripts, files = files[:1], files[1:]
    if found.refused:
        return _beyond(found.refused, files if in_place else ())
    unclear = next((script for script in scripts if not (script.known and sed_only_looks(script.text))), None)
    if unclear is not None or not scripts:
        return _beyond(unclear or part.words[0], files if in_place else ())
    if in_place is None:
        return Effect("looks", tuple(files))
    backups, copies = _backups(part, files)
    return Effect("edits", writes=(*files, *backups), copies=copies, beyond=in_place)


def _is_in_place(word: Word) -> bool:
    return word.known and _SED_INPLACE.fullmatch(word.text) is not None


def _backups(part: Part, files: list[Word]) -> tuple[list[Word], tuple[Copy, ...]]:
    """`sed -i.old` keeps the file as it was under another name."""
    options = (re.fullmatch(r"(?:-i|--in-place=)([\w.~]+)", word.plain or "") for word in part.words[1:])
    kept = [(file, option[1]) for option in options if option for file in files]
    backups = [replace(file, text=file.text + suffix) for file, suffix in kept if not file.glob]
    return backups, tuple((file, partial(_with_suffix, suffix)) for file, suffix in kept if file.glob)


def _with_suffix(suffix: str, path: str) -> Word:
    return Word(path + suffix)


_AWK = spec("", "Fv", "", long_values="field-separator assign")


def _awk(part: Part) -> Effect:
    found = arguments(part.words[1:], _AWK)
    program = found.operands[0] if found.operands else None
    if found.refused or program is None or not (program.known and awk_only_looks(program.text)):
        return _beyond(found.refused or program or part.words[0])
    files = [word for word in found.operands[1:] if not re.match(r"[A-Za-z_]\w*=", word.text)]
    return Effect("looks", tuple(files))


def _test(part: Part) -> Effect:
    unclear = test_only_looks(part.words[1:])
    return _beyond(unclear) if unclear else LOOKS


def _git(part: Part) -> Effect:
    found, _ = git_commands.looking(part.words)
    if found is None:
        command, operands = git_commands.touched_files(part.words)
        _, targets, copies = _sources_and_target(operands, None) if command == "mv" else ([], [], ())
        return Effect("runs", writes=(*operands, *targets), copies=copies, beyond=git_commands.reaching(part.words))
    # What is no path of the operands resolves to one inside.
    return Effect("looks", tuple(found.operands), is_git=True, shows_tracked=git_commands.shows_content(part.words, found))


def _cd(part: Part) -> Effect:
    operands = tuple(word for word in part.words[1:] if word.plain not in ("-P", "-L", "--", "-e"))
    if len(operands) > 1 or (operands and operands[0].text.startswith(("-", "+"))):
        return _beyond(operands[0])
    return Effect("looks", names=operands or (Word("~", tilde=True),))


def _set(part: Part) -> Effect:
    given = "".join(f" {word.text}" for word in part.words[1:])
    return LOOKS if re.fullmatch(r"(?: [-+](?:[eu]+|[eu]*o (?:pipefail|errexit|nounset)))+", given) else RUNS


def _declare(part: Part) -> Effect:
    """`export NAME=value`: whether the name is harmless is looked at where the line is read."""
    return LOOKS if len(part.words) == 1 and part.assignments else RUNS


def _read(part: Part) -> Effect:
    """`read -r name`: into a script's own variables, and never an index, which would be evaluated."""
    names = [word for word in part.words[1:] if word.plain != "-r"]
    unclear = next((word for word in names if not re.fullmatch(r"[a-z_][a-z0-9_]*", word.plain or "")), None)
    harmless = unclear is None and all(stays_harmless(word.text) for word in names)
    return LOOKS if names and harmless else _beyond(unclear)


_SPECIAL = {
    "find": _find,
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "test": _test,
    "[": _test,
    "git": _git,
    "cd": _cd,
    "pushd": _cd,
    "set": _set,
    "export": _declare,
    "local": _declare,
    "declare": _declare,
    "readonly": _declare,
    "read": _read,
}
