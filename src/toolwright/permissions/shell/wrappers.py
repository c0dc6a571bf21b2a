"""Programs that run what stands behind them: how to find it.

Harmless ones (`timeout 5 x` does what `x` does) are taken off. Of all others what they would run is looked for, so that
forbidding
rules see it; no rule with a `*` for what they run ever allows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from toolwright.permissions.shell.words import NO_WORD, UNKNOWN, Word

Words = tuple[Word, ...]


class Unwrapped(Struct, frozen=True):
    """What a wrapper runs: commands as words, or texts for another shell."""

    commands: tuple[Words, ...] = ()
    texts: tuple[str, ...] = ()
    harmless: bool = False
    opaque: bool = False
    length: int = 0
    """Of a harmless one: how many words at the end are the command's own."""


SHELLS = frozenset("sh bash dash zsh ksh mksh ash rbash fish".split())  # noqa: SIM905 — word lists read better
RUNNERS = frozenset(
    """. source eval exec env ionice chrt taskset xargs parallel sudo doas su runuser setpriv chroot unshare nsenter setsid
    flock watch strace ltrace gdb script busybox toybox coproc trap bwrap firejail systemd-run dbus-run-session caffeinate
    proxychains proxychains4 at batch entr nsjail ssh time expect unbuffer nocorrect""".split()  # noqa: SIM905
)
HARMLESS = frozenset("timeout time nice nohup stdbuf command builtin noglob xargs".split())  # noqa: SIM905
KEYWORDS = frozenset("if then else elif while until do ! { ( function for case select".split())  # noqa: SIM905

_LOADER = re.compile(r"ld(-linux|-musl|64)?[-.\w]*\.so(\.\d+)*")


def runs_its_arguments(word: str) -> bool:
    """Whether a program makes a command of what stands behind it."""
    name = word.rpartition("/")[2]
    return name in RUNNERS or name in SHELLS or name in HARMLESS or name in KEYWORDS or _LOADER.fullmatch(name) is not None


def unwrapped(words: Words) -> Unwrapped | None:
    """What the words run besides themselves, or None if their first is no wrapper."""
    name = words[0].plain if words else None
    if name is None:
        return None
    base = name.rpartition("/")[2]
    if base in HARMLESS and (place := _inner_place(base, words)) is not None:
        inner = _given_by_xargs(words, place) if base == "xargs" else words[place:]
        return Unwrapped((inner,), harmless=True, length=len(words) - place)
    if base in ("command", "builtin") and len(words) > 1 and words[1].plain in ("-v", "-V"):
        return None
    if base in _SPECIAL:
        return _SPECIAL[base](words)
    if base in SHELLS:
        return _shell(words)
    return _any_suffix(words) if runs_its_arguments(base) else None


# harmless wrappers: every word up to the command has to be known exactly

_DURATION = re.compile(r"\d+(\.\d+)?[smhd]?")
_STDBUF = re.compile(r"(-[ioe]|--(input|output|error)=)(0|L|\d+[KMG]?)")
_NICE = re.compile(r"--?\d+|--adjustment=-?\d+|-n-?\d+")
_TIMEOUT = re.compile(r"-v|--verbose|--foreground|-f|-p|--preserve-status|--(kill-after|signal)=[\w.]+|-[ks][\w.]+")
_XARGS = re.compile(
    r"-[0rtx]+|--null|--no-run-if-empty|--verbose|--exit|-[nLPs]\d+|--max-(args|procs|lines|chars)=\d+|-I.+|--replace=.+|-d.+"
    r"|--delimiter=.+",
    re.DOTALL,
)
_XARGS_VALUED = ("-n", "-L", "-P", "-s", "-I", "-d", "--max-args", "--max-procs", "--max-chars", "--delimiter")
_REPLACED = re.compile(r"(?:-I|--replace=)(.+)", re.DOTALL)


def _inner_place(name: str, words: Words) -> int | None:
    """The place of the wrapped command's first word, or None if that is not certain."""
    place = _command_place(name, words)
    if place is None or place >= len(words):
        return None
    first = words[place]
    unclear = first.text.startswith("-") or UNKNOWN in first.text or first.glob
    return None if unclear or (name == "xargs" and _mark(words[:place]) in first.text) else place


def _mark(options: Words) -> str:
    """The text that xargs replaces by what it reads; a text that no word holds if it adds that at the end."""
    found = UNKNOWN
    waiting = [word.text for word in reversed(options[1:])]
    while waiting:
        option = waiting.pop()
        value = waiting.pop() if option in _XARGS_VALUED else ""
        attached = _REPLACED.fullmatch(option)
        found = attached[1] if attached else value if option == "-I" else found
    return found


def _given_by_xargs(words: Words, place: int) -> Words:
    """The command with what is read in the place of the mark, or behind it."""
    mark, inner = _mark(words[:place]), words[place:]
    if mark == UNKNOWN:
        return (*inner, NO_WORD)
    return tuple(replace(word, text=word.text.replace(mark, UNKNOWN)) if mark in word.text else word for word in inner)


def _command_place(name: str, words: Words) -> int | None:
    """Where the wrapped command begins, or None if an option is not known."""
    match name:
        case "timeout":
            place = _skip(words, _TIMEOUT, with_value=("-k", "-s", "--kill-after", "--signal"))
            return place + 1 if place < len(words) and _DURATION.fullmatch(words[place].text) and words[place].known else None
        case "nice":
            return _skip(words, _NICE, with_value=("-n", "--adjustment"))
        case "stdbuf":
            return _skip(words, _STDBUF, with_value=("-i", "-o", "-e"))
        case "xargs":
            return _skip(words, _XARGS, with_value=_XARGS_VALUED)
        case "time" | "command":
            return _skip(words, re.compile("-p"))
        case _:
            return 1


def _skip(words: Words, flags: re.Pattern[str], *, with_value: tuple[str, ...] = ()) -> int:
    place = 1
    while place < len(words) and words[place].known:
        text = words[place].text
        if text in with_value:
            if place + 1 < len(words) and not words[place + 1].known:
                break
            place += 2
        elif flags.fullmatch(text):
            place += 1
        else:
            break
    return place


# all others


def _any_suffix(words: Words) -> Unwrapped:
    """Where the command starts depends on options, so each word may be its first, and each may be a text with one."""
    commands = tuple(words[place:] for place in range(1, len(words)) if not words[place].text.startswith("-"))
    texts = tuple(dict.fromkeys(word.text for word in words[1:] if word.known and " " in word.text.strip()))
    return Unwrapped(commands, texts, opaque=any(UNKNOWN in word.text for word in words[1:]))


def _shell(words: Words) -> Unwrapped | None:
    """`bash -c text`; a script file or standard input (`bash -s a`) cannot be looked into."""
    for place, word in enumerate(words[1:], 1):
        if not word.known:
            return Unwrapped(opaque=True)
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", word.text):
            return _texts(tuple(after for after in words[place + 1 :] if not after.text.startswith(("-", "+")))[:1])
        if re.fullmatch(r"[-+][A-Za-z]*s[A-Za-z]*", word.text):
            return Unwrapped(opaque=True)
    return Unwrapped(opaque=len(words) < 2 or all(word.text.startswith("-") for word in words[1:]))


def _texts(words: Words) -> Unwrapped:
    return Unwrapped(texts=tuple(word.text for word in words if word.known), opaque=not all(word.known for word in words))


def _eval(words: Words) -> Unwrapped:
    if not all(word.known for word in words):
        return Unwrapped(opaque=True)
    return Unwrapped(texts=(" ".join(word.text for word in words[1:]),))


ACTIVATES = re.compile(r"(?:.*/)?\.?(?:virtual|v)?env[\w.-]*/bin/activate")
"""The script that puts a virtual environment's programs in front of all others, and does nothing else."""


def _source(words: Words) -> Unwrapped | None:
    is_activation = len(words) == 2 and words[1].known and ACTIVATES.fullmatch(words[1].text)
    return None if is_activation else Unwrapped(opaque=True)


def _trap(words: Words) -> Unwrapped | None:
    if len(words) < 3 or words[1].plain in ("-", "-l", "-p", ""):
        return None if all(word.known for word in words) else Unwrapped(opaque=True)
    return _texts(words[2:3] if words[1].plain == "--" else words[1:2])


def _env(words: Words) -> Unwrapped:
    if any(word.text.startswith(("-S", "--split", "-vS")) for word in words[1:]):
        return replace(_any_suffix(words), opaque=True)  # it takes words apart by rules of its own
    if any(word.text.startswith(("-C", "--chdir")) or not word.known for word in words[1:]):
        return _any_suffix(words)
    place = _skip(
        words,
        re.compile(r"-|-i|-0|-v|--null|--ignore-environment|--unset=\w+|-u\w+|[^=]+=.*", re.DOTALL),
        with_value=("-u", "--unset"),
    )
    return Unwrapped((words[place:],)) if place < len(words) else Unwrapped()


def _find(words: Words) -> Unwrapped | None:
    commands = []
    for place, word in enumerate(words):
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((at for at in range(place + 1, len(words)) if words[at].text in (";", "+")), len(words))
            commands.append(tuple(NO_WORD if "{}" in inner.text else inner for inner in words[place + 1 : end]))
    return Unwrapped(tuple(command for command in commands if command)) if commands else None


def _git(words: Words) -> Unwrapped | None:
    texts = [word.plain for word in words]
    if "bisect" in texts and "run" in texts:
        return Unwrapped((words[texts.index("run") + 1 :],))
    if "foreach" in texts or any(text in ("-x", "--exec") for text in texts):
        return _any_suffix(words)
    return None


_SPECIAL: dict[str, Callable[[Words], Unwrapped | None]] = {
    "eval": _eval,
    ".": _source,
    "source": _source,
    "trap": _trap,
    "env": _env,
    "find": _find,
    "git": _git,
}
