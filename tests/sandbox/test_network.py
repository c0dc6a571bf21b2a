"""Sandboxed commands with allowed domains: the whole way, from a command in its sandbox through the proxy to a server."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from shutil import which

import pytest

from support_egress import Reached, counting_server, names
from support_sandbox import mechanism_named, visible_folder
from toolwright.egress.domains import DomainPolicy
from toolwright.egress.errors import NetworkUnavailable
from toolwright.egress.session import Egress, EgressOptions
from toolwright.sandbox.policy import FilesystemWishes, NetworkWishes, SandboxRules, sandbox_rules
from toolwright.workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(which("curl") is None, reason="curl is not installed")]


@pytest.fixture
def server() -> Iterator[Reached]:
    with counting_server() as reached:
        yield reached


@pytest.fixture
async def workspace(server: Reached) -> AsyncIterator[Workspace]:
    options = EgressOptions(
        DomainPolicy.parse(["allowed.test"]),
        lookup=names({"allowed.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}),
        private_services=[("allowed.test", server.port), ("other.test", server.port)],
    )
    egress = Egress(options)
    with visible_folder() as folder:
        (folder / "ws").mkdir()
        session = Workspace(str(folder / "ws"), env={}, state_dir=str(folder / "state"))

        def rules() -> SandboxRules:
            wishes = NetworkWishes(allowed_domains=["allowed.test"])
            return sandbox_rules(session.home, [], home="/nowhere", secrets=(), filesystem=FilesystemWishes(), network=wishes)

        session.commands.enclose(mechanism_named("bubblewrap", folder / "register"), rules, way_out=egress)
        try:
            yield session
        except NetworkUnavailable as error:
            pytest.skip(str(error))
        finally:
            await session.close()
            await egress.close()


async def test_only_allowed_hosts_are_reached(workspace: Workspace, server: Reached) -> None:
    port = server.port
    allowed = await workspace.commands.run(f"curl -sS http://allowed.test:{port}/x", timeout=60)
    assert allowed.output.text == "hello from /x"
    reached = server.connections
    for command in (
        f"curl -sS http://other.test:{port}/",
        f"curl -sS --noproxy '*' http://127.0.0.1:{port}/",
        f"exec 3<>/dev/tcp/127.0.0.1/{port}",
        "getent hosts allowed.test",
    ):
        result = await workspace.commands.run(command, timeout=60)
        assert "hello" not in result.output.text
    assert server.connections == reached


async def test_refused_hosts_are_named_for_the_command_that_asked_for_them(workspace: Workspace, server: Reached) -> None:
    command = f"curl -sS http://other.test:{server.port}/ -o /dev/null; exit 0"
    result = await workspace.commands.run(command, timeout=60)
    assert len(result.notices) == 1
    assert "refused connections" in result.notices[0]
    assert f"host other.test (port {server.port}) is not allowed" in result.notices[0]
    assert (await workspace.commands.run("true", timeout=60)).notices == ()
    shell = await workspace.commands.start(command)
    assert await shell.wait(60)
    assert "other.test" in shell.notices[0]


async def test_files_are_held_just_the_same_in_that_network(workspace: Workspace, tmp_path: Path) -> None:
    outside = Path(workspace.home).parent
    result = await workspace.commands.run(
        f"echo x > {outside}/x; echo x > .mcp.json; grep -E 'CapEff|Seccomp:|NoNew' /proc/self/status; "
        "unshare -U true; cat /proc/1/environ | tr '\\0' '\\n' | grep -c PROXY; echo ok > made",
        timeout=60,
    )
    assert sorted(os.listdir(outside)) == ["register", "state", "ws"]
    assert os.listdir(workspace.home) == ["made"]
    assert "CapEff:\t0000000000000000" in result.output.text
    assert "Seccomp:\t2" in result.output.text
