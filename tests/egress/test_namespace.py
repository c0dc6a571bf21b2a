"""Real sandboxed commands in the private network: what they reach and what they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from shutil import which
from typing import Any

import anyio
import pytest

from support_egress import TIMEOUT, Reached, counting_server, names
from toolwright.egress.domains import DomainPolicy
from toolwright.egress.errors import NetworkUnavailable
from toolwright.egress.namespace import PROXY_PORT, make_network
from toolwright.egress.session import Egress, EgressOptions

BWRAP, CURL = which("bwrap"), which("curl")
NOBODY = 65534

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux" or BWRAP is None, reason="bubblewrap is not installed"),
    pytest.mark.skipif(CURL is None, reason="curl is not installed"),
]


def _sandbox(*command: str) -> list[str]:
    namespaces = "--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try --disable-userns"
    lines = "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --die-with-parent --new-session --cap-drop ALL"
    return [str(BWRAP), *lines.split(), *namespaces.split(), "--", *command]


@pytest.fixture
def server() -> Iterator[Reached]:
    with counting_server() as reached:
        yield reached


@pytest.fixture(params=["as we are", "as nobody"])
async def egress(request: pytest.FixtureRequest, server: Reached) -> AsyncIterator[Egress]:
    """A session's way out to allowed.test, which is the counting server."""
    account = None
    if request.param == "as nobody":
        if os.geteuid() != 0:
            pytest.skip("only root can start commands as somebody else")
        account = (NOBODY, NOBODY)
    options = EgressOptions(
        DomainPolicy.parse(["allowed.test"]),
        lookup=names({"allowed.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}),
        private_services=[("allowed.test", server.port), ("other.test", server.port)],
        account=account,
    )
    egress = Egress(options)
    try:
        await egress.start()
    except NetworkUnavailable as error:
        pytest.skip(str(error))
    try:
        yield egress
    finally:
        await egress.close()


def _start(egress: Egress) -> dict[str, Any]:
    """How a command of this session is started."""
    account = egress._options.account
    identity: dict[str, Any] = {} if account is None else {"user": account[0], "group": account[1], "extra_groups": ()}
    environment = {"PATH": "/usr/bin:/bin", **egress.environment}
    return {"pass_fds": egress.descriptors, "env": environment, "cwd": "/", "start_new_session": True, **identity}


async def _run(egress: Egress, *command: str) -> subprocess.CompletedProcess[bytes]:
    with anyio.fail_after(2 * TIMEOUT):
        return await anyio.run_process(egress.entering(_sandbox(*command)), check=False, **_start(egress))


async def _bash(egress: Egress, script: str) -> bytes:
    done = await _run(egress, "/bin/bash", "-c", script)
    return done.stdout + done.stderr


async def test_an_allowed_host_is_reached_from_inside(egress: Egress, server: Reached) -> None:
    done = await _run(egress, "curl", "-sS", f"http://allowed.test:{server.port}/http")
    assert done.stdout == b"hello from /http", done.stderr
    tunnel = await _run(egress, "curl", "-sS", "-p", f"http://allowed.test:{server.port}/tunnel")
    assert tunnel.stdout == b"hello from /tunnel"
    address = f"socks5h://127.0.0.1:{egress.port}"
    socks = await _run(egress, "curl", "-sS", "-x", address, f"http://allowed.test:{server.port}/socks")
    assert socks.stdout == b"hello from /socks"


async def test_nothing_else_is_reached_through_the_proxy(egress: Egress, server: Reached) -> None:
    before = egress.refused
    for url in (
        f"http://other.test:{server.port}/",
        "http://169.254.169.254/latest/meta-data/",
        f"http://[::1]:{server.port}/",
    ):
        done = await _run(egress, "curl", "-sS", "--noproxy", "", url)
        assert done.stdout.startswith(b"Blocked by the toolwright sandbox: host"), done
    assert server.connections == 0
    assert [refusal.target for refusal in egress.refusals_since(before)] == [
        f"other.test:{server.port}",
        "169.254.169.254:80",
        f"[::1]:{server.port}",
    ]


async def test_nothing_is_reached_beside_the_proxy(egress: Egress, server: Reached) -> None:
    """Not the machine's own loopback, not a resolver, not a metadata service, not the world."""
    probes = [
        f"exec 3<>/dev/tcp/127.0.0.1/{server.port} && echo OPEN",
        "exec 3<>/dev/tcp/169.254.169.254/80 && echo OPEN",
        "exec 3<>/dev/tcp/1.1.1.1/443 && echo OPEN",
        "echo -n x >/dev/udp/1.1.1.1/53 && echo OPEN",
        "getent hosts allowed.test && echo OPEN",
        "getent hosts $USER.example.com && echo OPEN",
        "curl -sS --noproxy '*' -m 5 http://169.254.169.254/ && echo OPEN",
    ]
    assert b"OPEN" in await _bash(egress, f"exec 3<>/dev/tcp/127.0.0.1/{egress.port} && echo OPEN")  # the probe can tell
    for probe in probes:
        assert b"OPEN" not in await _bash(egress, probe), probe
    assert server.connections == 0
    assert egress.refused == 0  # nothing of this even came to the proxy


async def test_there_is_only_the_loopback_interface_and_no_capability(egress: Egress) -> None:
    shown = await _bash(egress, "cat /proc/net/dev; grep CapEff /proc/self/status; readlink /proc/self/ns/net")
    interfaces = [line.split(b":")[0].strip() for line in shown.splitlines() if b":" in line and b"|" not in line]
    assert interfaces[0] == b"lo"
    assert b"CapEff:\t0000000000000000" in shown
    assert os.readlink("/proc/self/ns/net").encode() not in shown
    assert shown.count(b"lo:") == 1
    assert b"eth" not in shown


async def test_no_descriptor_of_the_namespaces_is_left_inside(egress: Egress) -> None:
    shown = await _bash(egress, "for each in /proc/$$/fd/*; do readlink $each; done")
    assert b"user:[" not in shown
    assert b"net:[" not in shown
    assert len(shown.splitlines()) <= 4


async def test_commands_of_a_session_reach_each_others_servers(egress: Egress) -> None:
    listen = "import socket; s = socket.create_server(('', 8000)); print('ready', flush=True); s.accept()[0].send(b'hi')"
    if not os.path.exists(python := "/usr/bin/python3"):
        pytest.skip("there is no /usr/bin/python3, which everybody may run, to be the server")
    argv = egress.entering(_sandbox(python, "-I", "-c", listen))
    async with await anyio.open_process(argv, **_start(egress)) as background:
        assert background.stdout is not None
        with anyio.fail_after(TIMEOUT):
            assert await background.stdout.receive() == b"ready\n"
        assert await _bash(egress, "exec 3<>/dev/tcp/127.0.0.1/8000; cat <&3") == b"hi"


async def test_after_the_end_nobody_listens_inside(egress: Egress, server: Reached) -> None:
    script = f"read; (exec 3<>/dev/tcp/127.0.0.1/{egress.port}) || echo CLOSED"
    argv = egress.entering(_sandbox("/bin/bash", "-c", script))
    async with await anyio.open_process(argv, stderr=subprocess.DEVNULL, **_start(egress)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await egress.close()
        await process.stdin.send(b"\n")
        with anyio.fail_after(TIMEOUT):
            assert await process.stdout.receive() == b"CLOSED\n"
    with pytest.raises(NetworkUnavailable, match="has not been started"):
        egress.entering(_sandbox("true"))


def _descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def _children() -> set[str]:
    """The children of every thread of this process."""
    found: set[str] = set()
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{thread}/children") as file:
            found |= set(file.read().split())
    return found


async def test_an_unstarted_way_out_holds_nothing_and_a_closed_one_neither() -> None:
    before, processes = _descriptors(), _children()
    egress = Egress(EgressOptions(DomainPolicy.parse(["allowed.test"])))
    assert not egress.started
    assert _descriptors() <= before
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(egress.start)
    first = egress.descriptors
    await egress.start()
    assert egress.descriptors == first  # one network, however often it is started
    assert len(_descriptors() - before) <= 3
    assert _children() <= processes
    await egress.close()
    await egress.close()
    assert _descriptors() <= before


async def test_a_command_line_without_its_own_empty_network_is_not_taken() -> None:
    network = await make_network()
    with network.listener, pytest.raises(ValueError, match="no --unshare-net"):
        network.entering(["bwrap", "--ro-bind", "/", "/", "--", "echo", "--unshare-net"])
    network.close()


async def test_a_network_that_cannot_be_made_is_said_to_be_missing() -> None:
    with pytest.raises(NetworkUnavailable, match="No private network for commands: "):
        await make_network(port=70_000)


async def test_without_a_private_network_the_proxy_wants_its_token(server: Reached) -> None:
    options = EgressOptions(
        DomainPolicy.parse(["allowed.test"]),
        lookup=names({"allowed.test": ["127.0.0.1"]}),
        private_services=[("allowed.test", server.port)],
        enclosed=False,
    )
    egress = Egress(options)
    await egress.start()
    assert egress.port != PROXY_PORT
    url = f"http://allowed.test:{server.port}/token"
    known = await anyio.run_process([str(CURL), "-sS", url], env=egress.environment)
    assert known.stdout == b"hello from /token"
    unknown = await anyio.run_process([str(CURL), "-sS", "-x", f"http://127.0.0.1:{egress.port}", url], env={})
    assert b"hello" not in unknown.stdout
    assert server.connections == 1
    await egress.close()
