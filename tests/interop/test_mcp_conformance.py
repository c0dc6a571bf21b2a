"""The official MCP conformance suite against our server and our client, in both protocol eras.

`@modelcontextprotocol/conformance` has the scenarios of 2025-11-25 and before, its next version those of 2026-07-28. What does
not apply is named here with its reason; a scenario that is neither is a failure, so a newer suite cannot pass unnoticed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
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
    "http-custom-headers": "our client does not repeat arguments as headers (x-mcp-header)",
    "http-invalid-tool-headers": "our client does not read x-mcp-header",
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


def outcomes(output: str) -> dict[str, bool]:
    """The lines of a summary: scenario → whether it passed."""
    return {name: mark == "✓" for mark, name in re.findall(r"^([✓✗]) ([\w/.-]+):", output, re.MULTILINE)}


def check_server(found: dict[str, bool], output: str) -> None:
    assert len(found) > 20, output[-3000:]
    failed = {name for name, passed in found.items() if not passed}
    assert failed - NOT_FOR_SERVER.keys() == set(), output[-3000:]


def test_our_server_passes_every_scenario_that_applies(server: str) -> None:
    output = run(*npm_peers.script(SUITE), "server", "--url", server, "--suite", "all")
    check_server(outcomes(output), output)


def test_our_server_passes_every_scenario_of_the_stateless_era_that_applies(server: str) -> None:
    output = run(*npm_peers.script(NEXT), "server", "--url", server, "--suite", "all", "--spec-version", STATELESS)
    check_server(outcomes(output), output)


def test_what_does_not_apply_is_known_to_the_suites(server: str) -> None:
    known = scenarios(SUITE) | scenarios(NEXT)
    named = [*NOT_FOR_SERVER, *NOT_FOR_CLIENT]
    assert [name for name in named if not any(scenario.startswith(name) for scenario in known)] == []


def scenarios(package: str) -> set[str]:
    return set(re.findall(r"^  - ([\w/.-]+)", run(*npm_peers.script(package), "list"), re.MULTILINE))


CLIENT = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"]
OLD_LOGINS = ["metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "scope-retry-limit"]
OLD_LOGINS += ["scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined", "pre-registration"]
OLD_LOGINS += ["token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none"]
LOGINS = ["metadata-default", "resource-mismatch", "offline-access-scope", "offline-access-not-supported", "iss-supported"]
LOGINS += ["iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized"]
LOGINS += ["metadata-issuer-mismatch"]
STATELESS_CLIENT = [
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
]


def test_every_scenario_for_clients_is_run_or_named() -> None:
    listed = run(*npm_peers.script(NEXT), "list").partition("Client scenarios")[2].partition("Authorization server")[0]
    known = set(re.findall(r"^  - ([\w/.-]+)", listed, re.MULTILINE))
    run_here = {*CLIENT, *STATELESS_CLIENT, *(f"auth/{name}" for name in (*OLD_LOGINS, *LOGINS))}
    assert {name for name in known if not name.startswith(tuple(NOT_FOR_CLIENT))} == run_here


@pytest.mark.parametrize(
    ("package", "version", "scenario"),
    [(SUITE, None, name) for name in CLIENT]
    + [(NEXT, STATELESS, name) for name in STATELESS_CLIENT]
    + [(SUITE, None, f"auth/{name}") for name in OLD_LOGINS]
    + [(NEXT, STATELESS, f"auth/{name}") for name in LOGINS],
)
def test_our_client_passes(package: str, version: str | None, scenario: str) -> None:
    program = f"{sys.executable} {HERE / 'conformance_client.py'}{' --stateless' if version else ''}"
    more = ["--spec-version", version] if version else []
    output = run(
        *npm_peers.script(package), "client", "--command", program, "--scenario", scenario, "--timeout", "120000", *more
    )
    counts = re.findall(r"Passed: (\d+)/(\d+), 0 failed", output)
    assert counts, output[-3000:]
    assert counts[0][0] == counts[0][1], output[-3000:]
