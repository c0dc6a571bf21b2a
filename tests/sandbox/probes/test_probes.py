"""Every escape probe, with each mechanism of this machine, as root and as another user; judged by what happened on the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support_sandbox import NOBODY, mechanism_named, need, visible_folder
from toolwright.sandbox.probes.probes import PROBES, ProbeResult, run_probes

MECHANISMS = ("bubblewrap", "Landlock")
_AS_NOBODY = """
import ctypes, importlib.metadata, json, os, sys
from support_sandbox import mechanism_named, Landlocked
from toolwright.sandbox.probes import probes
name, folder, python, uid = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
mechanism = Landlocked(interpreter=python) if name == "Landlock" else mechanism_named(name, folder + "/register")
os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as a program has it that this user started
results = probes.run_probes(mechanism, folder=folder, python=python)
print(json.dumps([[r.name, r.title, r.held, r.detail, r.promised] for r in results]))
"""


@pytest.fixture(
    params=[(name, user) for name in MECHANISMS for user in ("this user", "another user")], ids="-".join, scope="module"
)
def results(request: pytest.FixtureRequest) -> dict[str, ProbeResult]:
    name, user = request.param
    need(name)
    with visible_folder() as folder:
        if user == "this user":
            found = run_probes(mechanism_named(name, folder / "register"), folder=str(folder))
        else:
            found = _results_of_nobody(name, folder)
        left = sorted(path.name for path in folder.iterdir() if path.name != "register")
    assert left == [], "probes clean up after themselves"
    return {result.name: result for result in found}


def _results_of_nobody(name: str, folder: Path) -> list[ProbeResult]:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    python = _python_for_all()
    os.chown(folder, NOBODY, NOBODY)
    done = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, name, str(folder), python, str(NOBODY)],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [ProbeResult(*each) for each in json.loads(done.stdout)]


def _python_for_all() -> str:
    """A Python that others can run: the one of the tests may lie in somebody's home."""
    for path in ("/usr/bin/python3", "/usr/local/bin/python3", os.path.realpath(sys.executable)):
        if (
            os.path.exists(path)
            and subprocess.run([path, "-c", ""], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/").returncode == 0
        ):
            return path
    pytest.skip("there is no Python that other users can run")


def _runs_for_nobody(path: str) -> bool:
    try:
        done = subprocess.run([path, "-c", ""], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", stderr=subprocess.DEVNULL)
    except PermissionError:
        return False
    return done.returncode == 0


@pytest.mark.parametrize("name", [probe.name for probe in PROBES])
def test_the_sandbox_holds(results: dict[str, ProbeResult], name: str) -> None:
    result = results[name]
    if not result.promised:
        pytest.skip(f"not promised: {result.detail or 'held all the same'}")
    assert result.held, result.detail


def test_a_probe_notices_what_is_not_held(tmp_path: Path) -> None:
    """Without any sandbox the probes must find the holes: else they would prove nothing."""
    from toolwright.sandbox.launch import Inside, Launch

    class Nothing:
        name = "nothing"

        def launch(self, policy: object, inside: Inside, **_: object) -> Launch:
            return Launch(tuple(inside.argv), dict(inside.environment), ())

    # What would touch the machine itself is left out: this runs as root in places.
    expected = {
        "write-outside",
        "change-outside",
        "hard-link",
        "planted-link",
        "temporary",
        "metadata",
        "read-secret",
        "read-home",
        "deny-rule",
    }
    expected |= {"moved-folder", "environments", "survivors", "tcp", "udp", "unix-socket", "datagram-pair", "abstract-socket"}
    expected |= {"deny-rule", "set-id", "privileges", "make-protected", "change-protected"}
    with visible_folder() as folder:
        found = run_probes(Nothing(), folder=str(folder), only=expected)
    assert {result.name for result in found if not result.held} == expected
