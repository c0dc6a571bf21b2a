from __future__ import annotations

import os
from pathlib import Path

from toolwright.workspace import Knowledge, ReadLedger


def test_a_touch_is_told_apart_from_a_change(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one")
    ledger = ReadLedger()
    assert ledger.knowledge("f", file.stat(), b"one") is Knowledge.UNREAD
    ledger.note("f", file.stat(), b"one")
    os.utime(file, (1, 1))
    assert ledger.knowledge("f", file.stat(), b"one") is Knowledge.CURRENT
    assert ledger.knowledge("f", file.stat(), b"two") is Knowledge.STALE


def test_without_the_content_time_and_size_decide(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one")
    ledger = ReadLedger()
    ledger.note("f", file.stat(), None)
    assert ledger.knowledge("f", file.stat(), b"one") is Knowledge.CURRENT
    os.utime(file, (1, 1))
    assert ledger.knowledge("f", file.stat(), b"one") is Knowledge.STALE


def test_the_ledger_forgets_rather_than_grow(tmp_path: Path) -> None:
    ledger = ReadLedger()
    for number in range(5000):
        ledger.note(str(number), tmp_path.stat(), b"")
    assert len(ledger) == 4096
    assert ledger.knowledge("0", tmp_path.stat(), b"") is Knowledge.UNREAD
    assert ledger.knowledge("4999", tmp_path.stat(), b"") is Knowledge.CURRENT
