"""Which paths are never written unseen."""

from __future__ import annotations

import pytest

from toolwright.permissions import Place
from toolwright.permissions.protected import is_protected

OWN = Place("/work/app", ("/work/lib",), "/home/ada", own=("/home/ada/.state",))


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
    assert not is_protected("/home/.vscode/app/a", Place("/home/.vscode/app"))
    assert is_protected("/home/.vscode/other/a", Place("/home/.vscode/app"))


def test_a_session_may_work_inside_our_own_folder() -> None:
    place = Place("/state/work", own=("/state",))
    assert not is_protected("/state/work/a", place)
    assert is_protected("/state/other", place)
