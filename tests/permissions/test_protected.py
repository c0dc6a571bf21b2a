"""Which paths are never written unseen."""

from __future__ import annotations

import pytest

from support_permissions import KNOWN_FILES, KnownFiles
from toolwright.permissions import SessionFolders
from toolwright.permissions.protected import is_protected
from toolwright.types import protected_names
from toolwright.types.protected_names import Entry

OWN = SessionFolders("/work/app", ("/work/lib",), "/home/ada", files=KNOWN_FILES, own=("/home/ada/.state",))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/ada/.state", True),
        ("/home/ada/.state/trusted.json", True),
        ("/home/ada/.stateful/x", False),
        ("/home/ada/x", False),
        ("/work/app", False),
        ("/work/app/a.py", False),
        ("/work/lib/.git/config", True),
        ("/work/app/sub/.git/config", True),
        ("/work/app/.GIT/config", True),
        ("/work/app/.git. /config", True),
        ("/work/app/.git./config", True),
        ("/work/app/.gitx/config", False),
        ("/elsewhere/.git/config", True),
    ],
)
def test_protected_names_hold_everywhere_and_our_own_folder_whatever_it_is_called(path: str, expected: bool) -> None:
    assert is_protected(path, OWN) is expected


def test_what_lies_above_the_session_says_nothing_about_its_files() -> None:
    assert not is_protected("/home/.vscode/app/a", SessionFolders("/home/.vscode/app"))
    assert is_protected("/home/.vscode/other/a", SessionFolders("/home/.vscode/app"))


def test_a_session_may_work_inside_our_own_folder() -> None:
    place = SessionFolders("/state/work", own=("/state",))
    assert not is_protected("/state/work/a", place)
    assert is_protected("/state/other", place)


GROUPS = [value for name, value in vars(protected_names).items() if name.endswith("_ENTRIES")]
ENTRIES: list[Entry] = [entry for group in GROUPS for entry in group]


def test_every_entry_says_which_program_reads_it_and_where_that_is_written() -> None:
    assert len(GROUPS) == 9
    assert all(entry.name and entry.program and entry.source for entry in ENTRIES)
    names = [entry.name for entry in ENTRIES]
    assert len(names) == len(set(names))


BESIDE = protected_names.BESIDE_HEAD_ENTRIES


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry not in BESIDE], ids=lambda entry: entry.name)
def test_every_entry_is_protected_in_any_folder_and_any_case(entry: Entry) -> None:
    name = entry.name.replace("*", "x")
    if entry in protected_names.BEGINNING_ENTRIES:
        name += "yml"
    is_folder = any(entry in group for group in (protected_names.FOLDER_ENTRIES, protected_names.NESTED_ENTRIES))
    for path in (name, f"a/b/{name}", name.upper(), f"a/{name}/x" if is_folder else name):
        assert is_protected(f"/work/app/{path}", OWN)


@pytest.mark.parametrize(
    "path",
    """Makefile package.json conftest.py setup.py tox.ini .env .gitignore .gitattributes .editorconfig .eslintrc.js .prettierrc
    .python-version .nvmrc .github/workflows/ci.yml bin/run src/venv.py lib/node_modules.py weights/model.pth head.html
    src/head/index.ts config config/settings.py hooks/useState.ts objects/a.py refs/a info/a.md mise.py mise-en-place.md
    vendor/lib/a.go .vimspector.json my.vimrc notes.hgrc lefthooks.md .venv/pip.txt""".split(),  # noqa: SIM905 — a word list
)
def test_ordinary_files_of_a_project_are_not_protected(path: str) -> None:
    assert not is_protected(f"/work/app/{path}", OWN)


class WithHead(KnownFiles):
    """A machine where `/work/app/docs/HEAD` is there."""

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        return (pattern,) if pattern == "/work/app/docs/HEAD" else ()


@pytest.mark.parametrize("entry", BESIDE, ids=lambda entry: entry.name)
def test_beside_a_head_the_files_of_a_repository_are_protected(entry: Entry) -> None:
    place = SessionFolders("/work/app", files=WithHead())
    assert is_protected(f"/work/app/docs/{entry.name}", place)
    assert is_protected(f"/work/app/docs/{entry.name.upper()}", place)
    assert is_protected(f"/work/app/docs/{entry.name}/a/b", place)
    assert not is_protected(f"/work/app/{entry.name}", place)
    assert not is_protected(f"/work/app/docs/a/{entry.name}", place)
    assert not is_protected(f"/work/app/docs/x{entry.name}", place)


def test_where_nothing_is_known_of_the_machine_a_head_may_be_there() -> None:
    assert is_protected("/work/app/config", SessionFolders("/work/app"))
