"""Which folder keeps a user from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_sandbox import NOBODY, visible_folder
from toolwright.base.access import closed_folder

OTHER_GROUP = 65533


@pytest.fixture
def folder() -> Iterator[Path]:
    with visible_folder() as path:
        if closed_folder(str(path), NOBODY, ()) is not None:
            pytest.skip("there is no folder here that others may enter")
        yield path


def test_the_first_closed_folder_is_found(folder: Path) -> None:
    tool = folder / "closed/deeper/tool"
    tool.parent.mkdir(parents=True)
    tool.touch()
    assert closed_folder(str(tool), NOBODY, ()) is None
    (folder / "closed").chmod(0o700)
    assert closed_folder(str(tool), NOBODY, ()) == str(folder / "closed")
    assert closed_folder(str(tool), os.geteuid(), ()) is None
    assert closed_folder(str(tool), 0, ()) is None


def test_a_link_leads_to_what_may_be_closed(folder: Path) -> None:
    closed, link = folder / "closed", folder / "link"
    (closed / "bin").mkdir(parents=True)
    link.symlink_to(closed / "bin")
    closed.chmod(0o700)
    assert closed_folder(str(link), NOBODY, ()) == str(closed)


def test_a_group_may_enter_what_others_may_not(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o710)
    assert closed_folder(str(closed / "tool"), NOBODY, (OTHER_GROUP,)) == str(closed)
    assert closed_folder(str(closed / "tool"), NOBODY, (closed.stat().st_gid,)) is None
