from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from toolwright.files.early_write_out import begin_writing_out


def test_a_file_on_its_way_to_the_disk_can_be_written_synced_and_read_as_any_other(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w+b", buffering=0) as file:
        for data in (b"one", b"two"):
            file.write(data)
            begin_writing_out(file.fileno())
        os.fsync(file.fileno())
        assert os.pread(file.fileno(), 10, 0) == b"onetwo"


def test_what_is_on_no_disk_is_passed_over() -> None:
    ends = os.pipe()
    begin_writing_out(ends[1])
    for end in ends:
        os.close(end)


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="only Linux has the call")
def test_a_real_failure_is_told() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        begin_writing_out(-1)
