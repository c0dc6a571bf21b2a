from __future__ import annotations

import json
import os
from pathlib import Path

from toolwright.workspace import ReadState, ReadTracker


def test_a_touch_is_told_apart_from_a_change(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one")
    ledger = ReadTracker()
    assert ledger.knowledge("f", file.stat(), b"one") is ReadState.UNREAD
    ledger.note("f", file.stat(), b"one")
    os.utime(file, (1, 1))
    assert ledger.knowledge("f", file.stat(), b"one") is ReadState.CURRENT
    assert ledger.knowledge("f", file.stat(), b"two") is ReadState.STALE


def test_without_the_content_time_and_size_decide(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one")
    ledger = ReadTracker()
    ledger.note("f", file.stat(), None)
    assert ledger.knowledge("f", file.stat(), b"one") is ReadState.CURRENT
    os.utime(file, (1, 1))
    assert ledger.knowledge("f", file.stat(), b"one") is ReadState.STALE


def test_the_ledger_forgets_rather_than_grow(tmp_path: Path) -> None:
    ledger = ReadTracker()
    for number in range(5000):
        ledger.note(str(number), tmp_path.stat(), b"")
    assert len(ledger) == 4096
    assert ledger.knowledge("0", tmp_path.stat(), b"") is ReadState.UNREAD
    assert ledger.knowledge("4999", tmp_path.stat(), b"") is ReadState.CURRENT


def test_what_was_learnt_is_told_once_and_can_be_restored(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one")
    ledger = ReadTracker()
    ledger.note("whole", file.stat(), b"one")
    ledger.note("part", file.stat(), None)
    rows = json.loads(json.dumps(ledger.take_news()))
    ledger.note("whole", file.stat(), b"one")
    assert ledger.take_news() == []
    later = ReadTracker()
    later.restore(rows)
    assert later.take_news() == []
    assert later.knowledge("whole", file.stat(), b"one") is ReadState.CURRENT
    assert later.knowledge("whole", file.stat(), b"two") is ReadState.STALE
    assert later.knowledge("part", file.stat(), b"one") is ReadState.CURRENT
    later.note("whole", file.stat(), b"two")
    assert [row["path"] for row in later.take_news()] == ["whole"]


def test_rows_that_cannot_be_understood_are_passed_over(tmp_path: Path) -> None:
    ledger = ReadTracker()
    ledger.restore([{}, {"path": "a"}, {"path": 1, "mtimeNs": 1, "size": 1, "sha1": None}])
    ledger.restore([{"path": "a", "mtimeNs": 1, "size": 1, "sha1": "no"}])
    assert len(ledger) == 0
