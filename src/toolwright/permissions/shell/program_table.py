"""Programs that only look, each with the options under which that is certain. Data; `programs` reads it.

An option that writes, runs a program, follows links out of the folder or takes a list of files from a file is left out on
purpose.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from toolwright.permissions.shell.program_options import Spec, spec

Operands = Literal["paths", "names", "text", "pattern", "none"]
"""What operands are: files to read, paths of which only names and sizes are shown, plain text, a pattern and then files,
or an error.
"""


MANY = 1000


class ReadOnlyProgram(Struct, frozen=True):
    """A program that only looks."""

    options: Spec
    operands: Operands = "paths"
    most: int = MANY
    """So many operands at most: some programs write to their second."""
    walks: str = ""
    """Short options with which it reads all below its operands; `*` if it always does."""
    follows: bool = False
    """Below its operands it reads what links lead to."""
    response_files: bool = False
    """`@x` is a file with more arguments."""


_CARELESS = {"careless": True}
_LINES = {"careless": True, "numbers": True}
_NONE = spec()

_GREP = ReadOnlyProgram(
    spec(
        "EFGPivwxcnHhlLoqsbTUzZaIr",
        "emABCD",
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp "
        "line-regexp count color colour files-with-matches files-without-match only-matching quiet silent no-messages "
        "line-number with-filename no-filename null text recursive",
        long_values="regexp max-count after-context before-context context include exclude exclude-dir color colour "
        "binary-files",
        paths="f file",
        extra=_LINES,
    ),
    "pattern",
    walks="r recursive",
)
_SUMS = ReadOnlyProgram(spec("btz", long="binary text zero tag", extra=_CARELESS))
_JUST_WORDS = ReadOnlyProgram(spec(extra=_LINES), "text")

READERS: dict[str, ReadOnlyProgram] = {
    "ls": ReadOnlyProgram(
        spec(
            "1AaBbCcdFfGghiklmnopQqRrSstUuvXx",
            "Iw",
            "all almost-all color human-readable recursive reverse directory inode size si classify group-directories-first "
            "numeric-uid-gid no-group author file-type full-time",
            long_values="color sort time ignore hide format width block-size time-style indicator-style",
            extra=_CARELESS,
        ),
        "names",
    ),
    "cat": ReadOnlyProgram(
        spec(
            "AbeEnstTuv",
            long="number number-nonblank show-all show-ends show-tabs squeeze-blank show-nonprinting",
            extra=_CARELESS,
        )
    ),
    "head": ReadOnlyProgram(spec("qvz", "nc", "quiet verbose zero-terminated", long_values="lines bytes", extra=_LINES)),
    "tail": ReadOnlyProgram(spec("qvzfF", "ncs", "quiet verbose follow retry", long_values="lines bytes pid", extra=_LINES)),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": ReadOnlyProgram(
        spec(
            "iSsvwxcnNHIloqaFPUu0pb",
            "egtTmABCMjErd",
            "ignore-case smart-case case-sensitive files-with-matches files-without-match count count-matches line-number "
            "no-line-number with-filename no-filename only-matching files hidden no-ignore no-ignore-vcs no-heading heading "
            "column stats json multiline fixed-strings word-regexp line-regexp invert-match trim vimgrep type-list "
            "no-messages unrestricted pcre2 null quiet text pretty no-config byte-offset crlf no-require-git passthru "
            "sort-files version",
            long_values="glob iglob type type-not max-count after-context before-context context max-depth sort sortr "
            "color max-columns replace regexp max-filesize encoding threads colors engine",
            paths="f file",
        ),
        "pattern",
        walks="*",
    ),
    "wc": ReadOnlyProgram(spec("clmwL", long="lines words bytes chars max-line-length", extra=_CARELESS)),
    "which": ReadOnlyProgram(spec("as", long="all", extra=_CARELESS), "text"),
    "whereis": ReadOnlyProgram(spec("bms", extra=_CARELESS), "text"),
    "type": ReadOnlyProgram(spec("aftpP", extra=_CARELESS), "text"),
    "diff": ReadOnlyProgram(
        spec(
            "abBcdeEiNpqstTuwyZ",
            "UCIxWFL",
            "unified context brief ignore-case ignore-all-space ignore-space-change ignore-blank-lines side-by-side "
            "text new-file report-identical-files color minimal suppress-common-lines strip-trailing-cr",
            long_values="unified context color exclude width label ignore-matching-lines",
        ),
        walks="*",
        follows=True,
    ),
    "cmp": ReadOnlyProgram(spec("bls", "ni", "quiet silent verbose print-bytes", extra=_CARELESS)),
    "comm": ReadOnlyProgram(spec("123z", long="check-order nocheck-order total", extra=_CARELESS)),
    "stat": ReadOnlyProgram(
        spec("fLtx", "c", "dereference file-system terse", long_values="format printf", extra=_CARELESS), "names"
    ),
    "du": ReadOnlyProgram(
        spec(
            "0abchklmsSx",
            "dtB",
            "all apparent-size bytes total human-readable si summarize one-file-system separate-dirs null time",
            long_values="max-depth exclude threshold block-size time time-style",
        ),
        "names",
    ),
    "df": ReadOnlyProgram(spec("ahHiklPT", "tx", "human-readable all inodes total local print-type", extra=_CARELESS), "names"),
    "tree": ReadOnlyProgram(
        spec(
            "adfipsughDFrtcCNQnqx", "LIP", "dirsfirst noreport gitignore prune du inodes", long_values="charset filelimit sort"
        ),
        "names",
    ),
    "pwd": ReadOnlyProgram(spec("LP"), "none"),
    "echo": ReadOnlyProgram(spec("neE", extra=_CARELESS), "text"),
    "printf": ReadOnlyProgram(spec(), "text"),
    "sort": ReadOnlyProgram(
        spec(
            "bdfgiMhnRrVsuzcCm",
            "kt",
            "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort month-sort human-numeric-sort "
            "numeric-sort random-sort reverse version-sort stable unique zero-terminated check merge debug",
            long_values="key field-separator sort",
        )
    ),
    "uniq": ReadOnlyProgram(
        spec(
            "cdDiuz",
            "fsw",
            "count repeated all-repeated unique ignore-case zero-terminated",
            long_values="skip-fields skip-chars check-chars",
        ),
        most=1,
    ),
    "cut": ReadOnlyProgram(
        spec(
            "snz",
            "bcdf",
            "complement only-delimited zero-terminated",
            long_values="bytes characters delimiter fields output-delimiter",
            extra=_CARELESS,
        )
    ),
    "tr": ReadOnlyProgram(spec("cCdst", long="complement delete squeeze-repeats truncate-set1", extra=_CARELESS), "text"),
    "nl": ReadOnlyProgram(spec("p", "bdfhilnsvw", extra=_CARELESS)),
    "tac": ReadOnlyProgram(spec("br", "s", extra=_CARELESS)),
    "rev": ReadOnlyProgram(spec(extra=_CARELESS)),
    "fold": ReadOnlyProgram(spec("bs", "w", long_values="width", extra=_LINES)),
    "expand": ReadOnlyProgram(spec("i", "t", extra=_CARELESS)),
    "unexpand": ReadOnlyProgram(spec("a", "t", extra=_CARELESS)),
    "column": ReadOnlyProgram(
        spec(
            "txnLe", "scoNHRTdE", "table", long_values="separator output-separator output-width table-columns", extra=_CARELESS
        )
    ),
    "paste": ReadOnlyProgram(spec("sz", "d", "serial", long_values="delimiters", extra=_CARELESS)),
    "join": ReadOnlyProgram(spec("iz", "aejotv12", extra=_CARELESS)),
    "basename": ReadOnlyProgram(spec("az", "s", "multiple", long_values="suffix", extra=_CARELESS), "text"),
    "dirname": ReadOnlyProgram(spec("z", extra=_CARELESS), "text"),
    "realpath": ReadOnlyProgram(
        spec(
            "emsqzLP", long="canonicalize-existing no-symlinks strip", long_values="relative-to relative-base", extra=_CARELESS
        ),
        "names",
    ),
    "readlink": ReadOnlyProgram(spec("efmnqsvz", long="canonicalize no-newline", extra=_CARELESS), "names"),
    "file": ReadOnlyProgram(
        spec("bhikLNnprv0", "F", "brief mime mime-type mime-encoding dereference no-dereference keep-going")
    ),
    "date": ReadOnlyProgram(
        spec("uRI", "d", "utc universal iso-8601 rfc-email", long_values="date rfc-3339 iso-8601"), "text", most=1
    ),
    "whoami": ReadOnlyProgram(_NONE, "none"),
    "id": ReadOnlyProgram(spec("agGnruz", extra=_CARELESS), "text"),
    "groups": ReadOnlyProgram(spec(extra=_CARELESS), "text"),
    "uname": ReadOnlyProgram(spec("amnoprsvi", long="all kernel-name kernel-release machine operating-system"), "none"),
    "arch": ReadOnlyProgram(_NONE, "none"),
    "nproc": ReadOnlyProgram(spec(long="all"), "none"),
    "uptime": ReadOnlyProgram(spec("ps"), "none"),
    "free": ReadOnlyProgram(spec("bkmghtwl"), "none"),
    "tty": ReadOnlyProgram(spec("s"), "none"),
    "hostname": ReadOnlyProgram(spec("fsdiI"), "none"),
    "true": _JUST_WORDS,
    "false": _JUST_WORDS,
    ":": _JUST_WORDS,
    "sleep": _JUST_WORDS,
    "seq": ReadOnlyProgram(spec("w", "sf", extra=_LINES), "text"),
    "yes": ReadOnlyProgram(spec(extra=_CARELESS), "text"),
    "exit": _JUST_WORDS,
    "return": _JUST_WORDS,
    "break": _JUST_WORDS,
    "continue": _JUST_WORDS,
    "wait": ReadOnlyProgram(spec(), "text"),
    "jobs": ReadOnlyProgram(spec("lprs"), "none"),
    "md5sum": _SUMS,
    "sha1sum": _SUMS,
    "sha256sum": _SUMS,
    "sha512sum": _SUMS,
    "b2sum": _SUMS,
    "cksum": _SUMS,
    "sum": ReadOnlyProgram(spec("rs", extra=_CARELESS)),
    "od": ReadOnlyProgram(spec("abcdfiloxvs", "AjNt", extra=_CARELESS)),
    "hexdump": ReadOnlyProgram(spec("bcCdovx", "nse", extra=_CARELESS)),
    "xxd": ReadOnlyProgram(spec("abeiuEC", "cglsnoR"), most=1),
    "strings": ReadOnlyProgram(spec("af", "ntes", extra={"numbers": True}), response_files=True),
    "jq": ReadOnlyProgram(
        spec(
            "rcnesSjCMaR",
            "",
            "raw-output compact-output null-input exit-status slurp sort-keys join-output color-output monochrome-output "
            "ascii-output raw-input tab seq stream",
            long_values="indent",
        ),
        "pattern",
    ),
    "command": ReadOnlyProgram(spec("vV"), "text"),
}
"""`find`, `sed`, `awk`, `git`, `test`, `cd` and `set` have readers of their own."""

VERSIONS = frozenset(
    [
        "python",
        "python3",
        "node",
        "gcc",
        "g++",
        "clang",
        "make",
        "cmake",
        "java",
        "git",
        "bash",
        "perl",
        "ruby",
        "php",
        "pip",
        "pip3",
        "npm",
        "tsc",
    ]
)
"""Programs that answer `--version` without looking at the folder they are started in (yarn, cargo, rustc and go do look)."""

EDITORS: dict[str, Spec] = {
    "mkdir": spec("pv", "m", "parents verbose", long_values="mode"),
    "touch": spec("acmhf", "td", "no-create no-dereference", long_values="date time", paths="r reference"),
    "rm": spec("rRfivdI", long="recursive force verbose dir preserve-root one-file-system"),
    "rmdir": spec("pv", long="parents verbose ignore-fail-on-non-empty"),
    "mv": spec(
        "fginuvT",
        "t",
        "force interactive no-clobber update verbose no-target-directory",
        long_values="target-directory",
    ),
    "cp": spec(
        "abdfginPprRuvx",
        "t",
        "archive force interactive no-clobber recursive update verbose no-dereference preserve",
        long_values="target-directory preserve",
    ),
}
"""What mode acceptEdits runs inside the working folders (and `sed -i`). Suffixes of backups are left out, because they make
other names, and `cp -T`, because it puts all that is in a folder into another.
"""

CHANGERS: dict[str, Spec] = {
    "ln": spec("sfnvrTi", "t", "symbolic force no-dereference relative verbose", long_values="target-directory"),
    "chmod": spec("cfvRrwxXugoast", long="recursive verbose changes silent"),
    "chown": spec("cfvRh", long="recursive verbose no-dereference"),
    "chgrp": spec("cfvRh", long="recursive verbose"),
    "install": spec("bcCdDpsTv", "mogt", long_values="mode owner group target-directory"),
}
WRITERS: dict[str, Spec] = {
    "tee": spec("aip", long="append ignore-interrupts"),
    "truncate": spec("co", "s", "no-create", long_values="size", paths="r reference"),
}
"""Programs that put content into files: their targets are edits, like those of `>`."""
