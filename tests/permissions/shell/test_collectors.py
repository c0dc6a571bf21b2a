"""Programs that a rule allows and that take along whatever lies in a folder: a file that another rule hides makes them ask."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support_permissions import bash, judge
from toolwright.permissions import SessionFolders
from toolwright.permissions.session.filesystem_facts import MACHINE_FILES

ALLOWED = ("tar", "zip", "7z", "cpio", "pax", "rsync", "scp", "git", "git grep", "git stash", "git archive", "git diff", "find")
ALLOW = [f"Bash({name}:*)" for name in ALLOWED]
HIDDEN = ["Read(.env)"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a file that a rule hides, beside others."""
    place = tmp_path_factory.mktemp("collected").resolve()
    (place / "src").mkdir()
    (place / "src" / "a.py").write_text("a\n")
    (place / ".env").write_text("CANARY\n")
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    subprocess.run(["git", "-C", str(place), "add", "src"], check=True)
    return place


def answer(
    folder: Path, command: str, *, cage: bool = False, allow: list[str] | None = None, hidden: list[str] = HIDDEN
) -> str:
    place = SessionFolders(str(folder), (), "/home/ada", MACHINE_FILES)
    return judge(bash(command), place=place, cage=cage, allow=ALLOW if allow is None else allow, deny=hidden).behavior


TAKES_HIDDEN = [
    *(
        "tar cf - .",
        "tar czf out.tgz .",
        "tar -cf - ./",
        "tar --create -f x.tar .",
        "tar c .",
        "tar rf x.tar .",
        "tar -uf x.tar .",
    ),
    *(
        "tar -C src -cf - ..",
        "tar cf - --directory=. .",
        "tar cf x.tar -T list",
        "tar cf x.tar --files-from=list",
        'tar "$x" .',
    ),
    *("zip -r x.zip .", "zip -qr - . | base64", "ls -A | zip x.zip -@", "7z a x.7z .", "7z a x.7z @list", "7z a x.7z"),
    *("find . | cpio -o", "find . | cpio -pd /tmp/x", "pax -w .", "rsync -a . out", "rsync -a ./ host:out", "scp -r . host:"),
    *("rsync --files-from=list . out", "cd src && tar cf - ..", "for f in .; do tar cf - $f; done"),
    *("git grep --no-index CANARY", "git grep --untracked CANARY", "git grep --no-index CANARY .", "git diff --no-index src ."),
    *("git diff --no-index /dev/null .", "git --no-pager grep --no-index CANARY"),
]
PUT_ASIDE = [
    *(
        "git stash show -u",
        "git stash show -p -u",
        "git stash show -up",
        "git stash show --include-untracked -p",
    ),
    *("git stash show --only-untracked -p", "git show stash@{0}^3", "git show 'stash^3'", "git log -p refs/stash^3"),
    *("git grep CANARY stash^3", "git archive stash^3", "git diff HEAD stash@{0}^3", "git --no-pager stash show -u"),
]
TAKES_NO_HIDDEN = [
    *("tar cf - src", "tar czf out.tgz src/a.py", "tar xf a.tar", "tar tf a.tar", "tar -xzf a.tgz -C src", "zip -r x.zip src"),
    *(
        "7z x a.7z",
        "7z l a.7z",
        "rsync -a src/ out/",
        "rsync -a src/ .",
        "git grep CANARY",
        "git archive HEAD",
        "git stash list",
    ),
    *("git status", "git stash", "git diff", "git commit -m 'tar cf - .'"),
]


@pytest.mark.parametrize("command", [*TAKES_HIDDEN, *PUT_ASIDE])
def test_what_may_take_a_hidden_file_along_is_asked_about(folder: Path, command: str) -> None:
    assert answer(folder, command) == "ask"


@pytest.mark.parametrize("command", [*TAKES_HIDDEN, *PUT_ASIDE, *TAKES_NO_HIDDEN])
def test_a_rule_that_hides_nothing_changes_nothing(folder: Path, command: str) -> None:
    assert answer(folder, command, hidden=[]) == answer(folder, command, hidden=["Edit(nothing)"])


@pytest.mark.parametrize("command", TAKES_NO_HIDDEN)
def test_what_takes_no_hidden_file_along_runs_by_its_rule(folder: Path, command: str) -> None:
    assert answer(folder, command) == "allow"


@pytest.mark.parametrize("command", PUT_ASIDE)
def test_what_git_has_put_aside_is_not_shown_in_the_cage_either(folder: Path, command: str) -> None:
    """The cage hides files; what a stash keeps of them lies in the repository."""
    assert answer(folder, command, cage=True, allow=[]) == "ask"


def test_a_tracked_file_that_is_hidden_is_in_every_archive_of_the_repository(folder: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", str(folder), str(tmp_path / "clone")], check=True, capture_output=True)
    clone = tmp_path / "clone"
    (clone / ".env").write_text("CANARY\n")
    subprocess.run(["git", "-C", str(clone), "add", "-f", ".env"], check=True)
    for command in ("git archive HEAD", "git grep CANARY", "git diff --cached -- .", "git format-patch -1 --stdout"):
        assert answer(clone.resolve(), command) == "ask", command
