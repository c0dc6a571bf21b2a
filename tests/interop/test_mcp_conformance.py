"""The official MCP conformance suite against our server and our client, in both protocol eras.

`@modelcontextprotocol/conformance` has the scenarios of 2025-11-25 and before, its next version those of 2026-07-28. What does
not apply is named here with its reason; a scenario that is neither is a failure, so a newer suite cannot pass unnoticed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import npm_peers
import pytest

HERE = Path(__file__).parent
SUITE, NEXT = "@modelcontextprotocol/conformance", "conformance-next"
STATELESS = "2026-07-28"
SECONDS = 600

NO_RESOURCES = "our server offers tools; it has no resources"
NO_PROMPTS = "our server offers tools; it has no prompts"
NOT_FOR_SERVER = {
    "completion-complete": "there is nothing to complete: our server has neither prompts nor resource templates",
    "resources-list": NO_RESOURCES,
    "resources-read-text": NO_RESOURCES,
    "resources-read-binary": NO_RESOURCES,
    "resources-templates-read": NO_RESOURCES,
    "resources-subscribe": NO_RESOURCES,
    "resources-unsubscribe": NO_RESOURCES,
    "prompts-list": NO_PROMPTS,
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
    "caching": "it asks for prompts and resources as well; tools/list and server/discover have their hints (tests/mcp/server)",
    "http-custom-header-server-validation": "no tool of ours asks for a header of its own (x-mcp-header)",
    "input-required-result-non-tool-request": NO_PROMPTS,
    "server-sse-polling": "it finds nothing to test: our answers are no streams that can be taken up again",
}
NOT_FOR_CLIENT = {
    "auth/scope-step-up": "a call that needs more rights fails; the person logs in again (toolwright mcp login)",
    "auth/2025-03-26-": "an older login without the server's own word on where to log in, and without PKCE metadata",
    "auth/authorization-server-migration": "each login begins anew, and registers anew; there is nothing to migrate",
    "auth/client-credentials-": "an extension: a login without a person",
    "auth/cross-app-access-": "an extension: a login without a person",
    "auth/enterprise-managed-": "an extension: a login without a person",
    "auth/dpop": "an extension: tokens tied to a key",
    "auth/wif-": "an extension: a login without a person",
    "sep-2640-": "skills from servers are an extension that we do not have",
}


@pytest.fixture
def no_settings_from_outside() -> None:
    """The programs here read no settings, and the published SDK is not needed."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a server of ours with the tools that the suite calls."""
    command = [sys.executable, str(HERE / "conformance_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
        assert process.wait(60) == 0


def run(*arguments: str) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=SECONDS, check=False)
    return re.sub(r"\x1b\[\d*m", "", done.stdout + done.stderr)


# the server: the suites run their scenarios one after the other


@pytest.mark.parametrize("suite", [(SUITE,), (NEXT, "--spec-version", STATELESS)], ids=["2025-11-25", STATELESS])
def test_our_server_passes_every_scenario_that_applies(server: str, suite: tuple[str, ...]) -> None:
    package, *version = suite
    output = run(*npm_peers.script(package), "server", "--url", server, "--suite", "all", *version)
    found = re.findall(r"^[✓✗] ([\w/.-]+): (\d+) passed, (\d+) failed", output, re.MULTILINE)
    assert len(found) > 20, output[-3000:]
    bad = {name for name, passed, failed in found if failed != "0" or passed == "0"}
    assert {name for name in bad if not name.startswith(tuple(NOT_FOR_SERVER))} == set(), output[-5000:]


# the client: each scenario by itself, two at a time; all at once, as the suites would, take more than two cores have


@pytest.mark.parametrize(("package", "version"), [(SUITE, "2025-11-25"), (NEXT, STATELESS)])
def test_our_client_passes_every_scenario_that_applies(package: str, version: str) -> None:
    names = [name for name in client_scenarios(package, version) if not name.startswith(tuple(NOT_FOR_CLIENT))]
    assert len(names) > 15
    with ThreadPoolExecutor(2) as together:
        problems = dict(zip(names, together.map(lambda name: problem(package, version, name), names), strict=True))
    assert {name: text for name, text in problems.items() if text} == {}


def problem(package: str, version: str, scenario: str) -> str:
    """What is wrong, if anything. The suite's own patience is short, so a scenario may be tried again."""
    output = ""
    for _ in range(3):
        output = run_client(package, version, scenario)
        counts = re.findall(r"Passed: (\d+)/(\d+), 0 failed", output)
        if counts and counts[0][0] == counts[0][1]:
            return ""
    return output[-3000:]


def run_client(package: str, version: str, scenario: str) -> str:
    stateless = version == STATELESS
    program = f"{sys.executable} {HERE / 'conformance_client.py'}{' --stateless' if stateless else ''}"
    more = ["--spec-version", version] if stateless else []
    return run(*npm_peers.script(package), "client", "--command", program, "--scenario", scenario, "--timeout", "120000", *more)


def client_scenarios(package: str, version: str) -> list[str]:
    listed = run(*npm_peers.script(package), "list").partition("Client scenarios")[2].partition("Authorization server")[0]
    known: list[tuple[str, str]] = re.findall(r"^  - ([\w/.-]+) \[([\w,.-]+)\]", listed, re.MULTILINE)
    return [name for name, versions in known if version in versions.split(",")]


def test_what_does_not_apply_is_known_to_the_suites() -> None:
    known = scenarios(SUITE) | scenarios(NEXT)
    named = [*NOT_FOR_SERVER, *NOT_FOR_CLIENT]
    assert [name for name in named if not any(scenario.startswith(name) for scenario in known)] == []


def scenarios(package: str) -> set[str]:
    return set(re.findall(r"^  - ([\w/.-]+)", run(*npm_peers.script(package), "list"), re.MULTILINE))
