"""The official MCP conformance suite against our server and our client, in both protocol eras.

`@modelcontextprotocol/conformance` has the scenarios of 2025-11-25 and before, its next version those of 2026-07-28. What does
not apply is named here with its reason; a scenario that is neither is a failure, so a newer suite cannot pass unnoticed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
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
    "caching": "it asks for prompts and resources as well; tools/list and server/discover have their hints (tests/mcp/serving)",
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


@pytest.fixture(scope="module")
def outputs(server: str) -> Iterator[dict[str, Callable[[], str]]]:
    """What each suite wrote. They mostly wait for each other's processes, so they run together."""
    program = f"{sys.executable} {HERE / 'conformance_client.py'}"
    as_client = ["client", "--suite", "all", "--timeout", str(SECONDS * 1000), "--command"]
    as_server = ["server", "--url", server, "--suite", "all"]
    stateless = ["--spec-version", STATELESS]
    runs = {
        "client": [*npm_peers.script(SUITE), *as_client, program],
        "stateless client": [*npm_peers.script(NEXT), *as_client, f"{program} --stateless", *stateless],
        "server": [*npm_peers.script(SUITE), *as_server],
        "stateless server": [*npm_peers.script(NEXT), *as_server, *stateless],
    }
    with ThreadPoolExecutor(len(runs)) as together:
        yield {name: together.submit(run, *command).result for name, command in runs.items()}


def failures(output: str, excused: dict[str, str]) -> set[str]:
    """The scenarios that did not pass and are not excused. A warning alone is no failure."""
    found = re.findall(r"^[✓✗] ([\w/.-]+): (\d+) passed, (\d+) failed", output, re.MULTILINE)
    assert len(found) > 20, output[-3000:]
    bad = {name for name, passed, failed in found if failed != "0" or passed == "0"}
    return {name for name in bad if not name.startswith(tuple(excused))}


@pytest.mark.parametrize("era", ["server", "stateless server"])
def test_our_server_passes_every_scenario_that_applies(outputs: dict[str, Callable[[], str]], era: str) -> None:
    output = outputs[era]()
    assert failures(output, NOT_FOR_SERVER) == set(), output[-5000:]


@pytest.mark.parametrize("era", ["client", "stateless client"])
def test_our_client_passes_every_scenario_that_applies(outputs: dict[str, Callable[[], str]], era: str) -> None:
    output = outputs[era]()
    assert failures(output, NOT_FOR_CLIENT) == set(), output[-5000:]


def test_every_scenario_for_clients_is_run_or_named(outputs: dict[str, Callable[[], str]]) -> None:
    """Not run by either suite's `all`: only what is an extension, and named above."""
    ran = set(re.findall(r"^[✓✗] ([\w/.-]+):", outputs["client"]() + outputs["stateless client"](), re.MULTILINE))
    listed = run(*npm_peers.script(NEXT), "list").partition("Client scenarios")[2].partition("Authorization server")[0]
    known = set(re.findall(r"^  - ([\w/.-]+)", listed, re.MULTILINE))
    assert {name for name in known - ran if not name.startswith(tuple(NOT_FOR_CLIENT))} == set()


def test_what_does_not_apply_is_known_to_the_suites() -> None:
    known = scenarios(SUITE) | scenarios(NEXT)
    named = [*NOT_FOR_SERVER, *NOT_FOR_CLIENT]
    assert [name for name in named if not any(scenario.startswith(name) for scenario in known)] == []


def scenarios(package: str) -> set[str]:
    return set(re.findall(r"^  - ([\w/.-]+)", run(*npm_peers.script(package), "list"), re.MULTILINE))
