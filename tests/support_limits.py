"""For the tests of limits: run a script in bash under them, as another user where that is possible, and see how it ended."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence

import pytest

from toolwright.processes.cgroup_location import find_place
from toolwright.processes.resource_limits import ChildLimits

NOBODY = 65534
NO_LIMITS = ChildLimits(cpu_seconds=0, memory_mb=0, processes=0, open_files=0, file_size_mb=0, scratch_mb=0)

needs_cgroup = pytest.mark.skipif(find_place() is None, reason="no cgroup that this process may make groups in")
needs_memory_group = pytest.mark.skipif(
    not ((place := find_place()) and place.limits_memory), reason="no cgroup here that bounds memory"
)


def run_bash(
    script: str, *, cwd: os.PathLike[str] | str = "/", as_nobody: bool = False, keep: Sequence[int] = (), timeout: float = 60
) -> tuple[int, str]:
    """Exit code as a shell reports it, and output."""
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if as_nobody and os.geteuid() == 0 else {}
    with tempfile.TemporaryFile() as output:  # no pipe: what the script leaves running would hold it open
        process = subprocess.Popen(
            ["/bin/bash", "--noprofile", "--norc", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            start_new_session=True,
            pass_fds=tuple(keep),
            **user,  # type: ignore[call-overload]  # the keywords are right, their union is not
        )
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        return (128 - code if code < 0 else code), output.read().decode(errors="replace")
