"""What a command would do: as it is said here in short, and as the programs themselves do it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_permissions import RealFiles, bash, judge
from toolwright.permissions import SessionFolders, read_command
from toolwright.permissions.policy import judge_of
from toolwright.permissions.shell.program_table import READERS
from toolwright.permissions.shell.programs import _SPECIAL as SPECIAL
from toolwright.permissions.shell.programs import effect
from toolwright.permissions.shell.words import Word


def said(command: str) -> str:
    """`<read`, `?name`, `>write`, `a*^=>copy`,/y `!beyond`; a pattern ends in `^`, what begins at home in `~`."""

    def pieces() -> Iterator[str]:
        yield found.kind
        for mark, words in (("<", found.reads), ("?", found.names), (">", found.writes)):
            yield from (mark + shown(word) for word in words)
        yield from (f"{shown(source)}=>{shown(written('x/y'))}" for source, written in found.copies)
        yield from (f"!{shown(word)}" for word in [found.beyond] if word)
        flags = {"walks": found.walks, "follows": found.follows, "git": found.is_git, "tracked": found.shows_tracked}
        yield from (name for name, holds in flags.items() if holds)

    def shown(word: Word) -> str:
        return word.text + "^" * word.glob + "~" * word.tilde

    (part,) = (part for part in read_command(command).parts if part.certain)
    found = effect(part)
    return " ".join(pieces())


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        *(("/bin/sort a", "looks <a"), ("./cat a", "runs <a"), ("./ls a", "runs ?a"), ("./sort -o x f", "runs !-o")),
        *(("./cp a b", "changes <a >b >b/a"), ("x/cp a* b", "changes <a*^ >b a*^=>b/y"), ("./tee a", "changes >a")),
        *(("/usr/local/bin/ls", "runs ?."), ("/usr/sbin/ls", "looks ?."), ("/bin/x/ls", "runs ?."), ("./npm x", "runs")),
        *(("node -v", "looks"), ("node --version", "looks"), ("java -version", "looks"), ("python3 -v", "runs")),
        *(("python3 $X", "runs"), ("python3", "runs"), ("true", "looks"), ("A=1", "looks"), ("$X", "runs")),
        ("npm x", "runs"),
        # looking
        *(("cat a b", "looks <a <b"), ("cat", "looks"), ("echo a", "looks"), ("pwd", "looks"), ("pwd x", "runs !x")),
        *(("ls", "looks ?."), ("ls a", "looks ?a"), ("ls -x a", "looks ?a"), ("ls --x a", "runs !--x")),
        *(("cat -x", "runs !-x"), ("uniq a", "looks <a"), ("uniq a b", "runs !b"), ("uniq a*", "runs !a*^")),
        *(("cat a*", "looks <a*^"), ("strings @a", "runs !@a"), ("strings a", "looks <a"), ("cat @a", "looks <@a")),
        *(("diff a b", "looks <a <b walks follows"), ("date 01", "runs !01"), ("date +x", "looks"), ("date", "looks")),
        *(("command", "runs"), ("command -- a", "runs !--"), ("printf", "runs"), ("printf -v a", "runs !-v")),
        *(("printf %s%%n a", "looks"), ("printf %n a", "runs !%n")),
        # a pattern, and then files
        *(("grep x a", "looks <a"), ("grep x", "looks"), ("grep -r x", "looks <. walks")),
        ("grep --recursive x a", "looks <a walks"),
        *((f"grep {option} a", "looks <a") for option in ("-e x", "-ex", "--regexp=x", "--regexp x")),
        *((f"grep {option} a", "looks <x <a") for option in ("-f x", "-fx", "--file=x", "--file x")),
        *(("rg x", "looks <. walks"), ("rg x a", "looks <a walks"), ("rg --files a", "looks <a walks")),
        *(("rg --files", "looks <. walks"), ("jq . a", "looks <a"), ("jq -e . a", "looks <a"), ("jq", "runs")),
        *(("jq env a", "runs !env"), ("jq .a* b", "runs !.a*^"), ('jq ".a$X" b', "runs !.a\0")),
        ("grep -- $X a", "looks <\0 <a"),
        *(("grep $X a", "looks <\0 <a"), ('grep "$X" a', "looks <\0 <a"), ('grep "a$X" b', "looks <b")),
        *(('grep -e "$X" b', "looks <b"), ("grep a* b", "looks <a*^ <b"), ("rg -- a* b", "looks <a*^ <b walks")),
        # editing
        *(("rm a", "edits >a"), ("rm a -x b", "runs >a >b !-x"), ("touch -r a b", "edits <a >b"), ("cp", "edits")),
        *(("cp a", "edits >a"), ("cp a b", "edits <a >b >b/a"), ("cp a b d", "edits <a <b >d >d/a >d/b")),
        ("cp a* d", "edits <a*^ >d a*^=>d/y"),
        *((f"cp {option} a b", "edits <a >b >b/a walks") for option in ("-r", "-R", "-a", "-pr", "--recursive", "--archive")),
        *((f"cp {option} a b", "edits <a <b >d >d/a >d/b") for option in ("-t d", "-td", "--target-directory=d")),
        *(("cp a/b/ d/", "edits <a/b/ >d/ >d/b"), ("cp a /d", "edits <a >/d >/d/a"), ("cp aX dX", "edits <aX >dX >dX/aX")),
        *(("cp a ~/d", "edits <a >~/d~ >~/d/a~"), ("cp a d*", "edits <a >d*^ >d*/a^")),
        *(("cp a* ~/d", "edits <a*^ >~/d~ a*^=>~/d/y~"), ("cp x/. d", "runs >d >d/. !x/.")),
        *(("cp ../ d", "runs >d >d/.. !../"), ("mv / d", "runs >/ >d >d/ !/"), ("cp . d", "runs >d >d/. !.")),
        *(("mv a b", "edits <a >a >b >b/a walks"), ("mv a* d", "edits <a*^ >a*^ >d a*^=>d/y walks")),
        ("mv -x a b", "runs >a >b >b/a !-x"),
        *(("mv -t d a", "edits <a >a >d >d/a walks"), ("tee a b", "writes >a >b"), ("tee -x a", "runs >a !-x")),
        ("cp --z a b", "runs >b >b/a !--z"),
        *(("truncate -r a b", "writes <a >b"), ("truncate -s 0 a", "writes >a"), ("chmod +x a", "changes >a")),
        *(("chown u a", "changes >a"), ("chgrp g a", "changes >a"), ("chmod u a --x", "runs >u >a !--x")),
        *(("ln -s a b", "changes <a >b >b/a"), ("ln -t d a", "changes <a >d >d/a"), ("ln a* d", "changes <a*^ >d a*^=>d/y")),
        *(("install a d", "changes <a >d >d/a"), ("install --target-directory=d a", "changes <a >d >d/a")),
        ("install -x", "runs !-x"),
        # sed and awk
        *(("sed p a", "looks <a"), ("sed -e p a", "looks <a"), ("sed --expression=p a", "looks <a"), ("sed", "runs !sed")),
        *(("sed p a -x", "runs !-x"), ("sed -f s a", "runs !-f"), ("sed 'w x' a", "runs !w x")),
        *(("sed -e p -e e a", "runs !e"), ("sed -i p a", "edits >a !-i"), ("sed -i p a -x", "runs >a !-x")),
        *(("sed -i e a", "runs >a !e"), ("sed -i", "runs !sed"), ("sed -i.o p a", "edits >a >a.o !-i.o")),
        *(("sed -n --in-place=.o p a", "edits >a >a.o !--in-place=.o"), ("sed -i.o p a*", "edits >a*^ a*^=>x/y.o !-i.o")),
        *(("sed -i.o p ~/a", "edits >~/a~ >~/a.o~ !-i.o"), ("awk 1 a", "looks <a"), ("awk 1 a=b B=c _d=e f", "looks <f")),
        *(("awk", "runs !awk"), ("awk 1 --x a", "runs !--x"), ("awk -f a", "runs !-f")),
        *(("awk 'system(1)' a", "runs !system(1)"), ("awk -F, 1 a", "looks <a"), ("awk \"$X\" a", "runs !\0")),
        # find, git and what the shell does itself
        *(("find", "looks ?."), ("find a", "looks ?a"), ("find a -delete", "runs !-delete"), ("[ -v a ]", "runs !-v")),
        *(("[ a ]", "looks"), ("git status", "looks git"), ("git log a", "looks <a git")),
        *(("git log -p", "looks git tracked"), ("git -c a=b log", "runs !-c"), ("git mv a b", "runs >a >b >b >b/a")),
        *(("git rm a", "runs >a"), ("git mv a* d", "runs >a*^ >d >d a*^=>d/y"), ("git push", "runs")),
        *((f"cd {option} a", "looks ?a") for option in ("", "-P", "-L", "-e", "--")),
        *(("cd", "looks ?~~"), ("cd a b", "runs !a"), ("cd -", "runs !-"), ("cd -x", "runs !-x"), ("cd +1", "runs !+1")),
        ("pushd a", "looks ?a"),
        *((f"set {given}", "looks") for given in ("-e", "-eu", "+e", "-e -u", "-euo pipefail", "-o pipefail -e", "-o nounset")),
        *((f"set {given}", "runs") for given in ("", "-x", "-e x", "-- a", "-o", "-o posix", "-e -o noglob", "-e-u", "$X")),
        *(("export a=b", "looks"), ("export -n a", "runs"), ("export", "runs"), ("read a", "looks")),
        *(("read -r a b1", "looks"), ("read", "runs"), ("read A", "runs !A"), ("read -a b", "runs !-a")),
        *(("read $X", "runs !\0"), ("read http_proxy", "runs")),
        *((f"ps {options}", "runs") for options in ("", "aux", "-ef", "eww", "$X")),
    ],
)  # fmt: skip
def test_what_a_command_would_do(command: str, expected: str) -> None:
    assert said(command) == expected


@pytest.mark.parametrize("name", sorted(READERS))
def test_options_that_name_files_are_looked_at(name: str) -> None:
    assert not READERS[name].options.paths or READERS[name].operands in ("paths", "pattern")


OPENS_NOTHING = """: basename break command continue date dirname echo exit false groups id printf return seq sleep tr true type
    wait whereis which yes""".split()  # noqa: SIM905 — a word list


@pytest.mark.parametrize("name", sorted({*READERS, *SPECIAL} - {*OPENS_NOTHING}))
def test_a_program_that_opens_files_is_asked_about_if_they_are_not_known(name: str) -> None:
    for given in ("$x", "-- $x", '"$x"', "$(cat a)", '"$@"', "a $x", '-- a "$x"'):
        assert judge(bash(f"x='. /etc/passwd'; {name} {given}")).behavior == "ask"
    for given in ("xargs", "xargs -n 1", "xargs -0"):
        assert judge(bash(f"echo . /etc/passwd | {given} {name}")).behavior == "ask"


def state(folder: Path) -> dict[str, object]:
    """What lies below `folder`: of each path enough to see whether it was changed."""
    return {
        str(path): (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ino)
        for path in folder.rglob("*")
        if not path.is_dir()
        for found in [path.lstat()]
    } | {str(path): path.stat().st_mode for path in folder.rglob("*") if path.is_dir()}


@pytest.mark.parametrize(
    "command",
    [
        *("cp a b", "cp a d", "cp a d/", "cp a e/f d", "cp -t d a e/f", "cp e/* d", "cp -r e d", "cp -r e/ d", "cp -r e n"),
        *("cp -a e d", "mv a n", "mv a d", "mv a b d", "mv e d", "mv e/* d", "mv -t d a", "mv e/ d/", "rm a", "rm -r e"),
        *("rm -rf d e", "rmdir x", "touch a n", "mkdir n", "ln -s a n", "ln -s a d", "ln a e/f d", "ln -t d a", "ln e/* d"),
        *("chmod +x a b", "install a n", "install a b d", "install -t d a", "install e/* d", "truncate -s 1 a"),
        *("truncate -r a b", "tee a n", "sed -i s/x/y/ a", "sed -i.old s/x/y/ a e/f", "sed -n -i p a"),
        *("sed '--in-place=~' s/x/y/ a b", "sed -i.o s/x/y/ e/*", "cp a b > n", "echo x >> a", "echo x 2> n", "echo x &> n"),
        *("echo x >| a", "echo x <> n", "cat < a > n", "{ echo x; } > n"),
    ],
)  # fmt: skip
def test_what_a_known_program_changes_was_said_before(command: str, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "e").mkdir()
    for name in ("a", "b", "e/f", "e/g"):
        (tmp_path / name).write_text("x\n")
        os.utime(tmp_path / name, (1, 1))
    call = bash(command)
    judged = judge_of(call, SessionFolders(str(tmp_path), (), None, RealFiles()))
    assert judged is not None
    said_before = [path for part in judged.line.parts for path in judged.touched(part)[1]]
    before = state(tmp_path)
    subprocess.run(["/bin/bash", "--norc", "-c", command], cwd=tmp_path, input=b"y\n", capture_output=True, check=True)
    after = state(tmp_path)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert changed
    assert [path for path in changed if not any(path == said or path.startswith(f"{said}/") for said in said_before)] == []


def test_the_programs_that_are_tried_are_here() -> None:
    assert all(map(shutil.which, ("bash", "cp", "mv", "install", "sed", "truncate", "tee")))
