"""Allow and deny rules, and one question per unknown host."""

from __future__ import annotations

import anyio
import pytest

from toolwright.egress.domains import DomainGate, DomainPolicy, DomainRule
from toolwright.egress.errors import BadDomainRule, BadHost, HostBlocked

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("rule", "host", "covered"),
    [
        ("example.com", "example.com", True),
        ("EXAMPLE.com.", "example.com", True),
        ("example.com", "www.example.com", False),
        ("example.com", "example.com.evil.test", False),
        ("example.com", "notexample.com", False),
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "notexample.com", False),
        ("*.example.com", "www.example.com.evil.test", False),
        ("bücher.example", "xn--bcher-kva.example", True),
        ("*.bücher.example", "www.xn--bcher-kva.example", True),
        ("1.1.1.1", "1.1.1.1", True),
        ("[2606:4700::1]", "2606:4700::1", True),
        ("2606:4700::1", "2606:4700::1", True),
    ],
)
def test_a_rule_covers_what_it_says_and_nothing_else(rule: str, host: str, covered: bool) -> None:
    assert DomainRule.parse(rule, allows=True).covers(host, 443) is covered


def test_a_rule_may_name_a_port() -> None:
    rule = DomainRule.parse("example.com:443", allows=True)
    assert rule.covers("example.com", 443)
    assert not rule.covers("example.com", 22)


@pytest.mark.parametrize(
    "rule",
    [
        "*",
        "*.*",
        "*.com",
        "**.example.com",
        "a.*.com",
        "exa*mple.com",
        "",
        " ",
        "http://example.com",
        "example.com/path",
        "*.1.1.1",
        "*.127.0.0.1",
        "a b.com",
        "example.com:99999",
        "a\x00.com",
        "user@example.com",
        "*example.com",
        "127.1",
        "‥.com",
    ],
)
def test_an_allow_rule_that_is_too_wide_or_unreadable_is_refused(rule: str) -> None:
    with pytest.raises(BadDomainRule, match="cannot be used"):
        DomainRule.parse(rule, allows=True)


@pytest.mark.parametrize("rule", ["", "http://example.com", "a.*.com", "a\0.com"])
def test_an_unreadable_deny_rule_is_refused_too_and_never_ignored(rule: str) -> None:
    with pytest.raises(BadDomainRule):
        DomainPolicy.parse(["example.com"], [rule])


def test_deny_wins_and_may_be_as_wide_as_it_likes() -> None:
    policy = DomainPolicy.parse(["a.example.com", "*.example.com"], ["a.example.com", "*.net"])
    assert policy.verdict("a.example.com", 443) == "deny"
    assert policy.verdict("b.example.com", 443) == "allow"
    assert policy.verdict("x.net", 443) == "deny"
    assert DomainPolicy.parse(["a.example.com"], ["*"]).verdict("a.example.com", 443) == "deny"


def test_an_empty_allowlist_denies_everything() -> None:
    assert DomainPolicy.parse().verdict("example.com", 443) == "deny"
    assert DomainPolicy.parse([], ["evil.test"]).verdict("example.com", 443) == "deny"


def test_with_an_empty_allowlist_one_may_choose_to_be_asked() -> None:
    assert DomainPolicy.parse([], ["evil.test"], asks_if_empty=True).verdict("example.com", 443) == "ask"
    assert DomainPolicy.parse([], ["evil.test"], asks_if_empty=True).verdict("evil.test", 443) == "deny"
    assert DomainPolicy.parse([], strict=True, asks_if_empty=True).verdict("example.com", 443) == "deny"


def test_an_unknown_host_is_asked_about_unless_the_list_is_strict() -> None:
    assert DomainPolicy.parse(["a.example"]).verdict("b.example", 443) == "ask"
    assert DomainPolicy.parse(["a.example"], strict=True).verdict("b.example", 443) == "deny"


class Asked:
    """An answer to every question, and the questions."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.questions: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> bool:
        self.questions.append((host, port))
        await anyio.lowlevel.checkpoint()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]  # what a careless caller might give


def _gate(ask: Asked | None, **more: float) -> DomainGate:
    return DomainGate(DomainPolicy.parse(["a.example"], ["denied.example"]), ask=ask, **more)


async def test_an_allowed_host_is_never_asked_about() -> None:
    ask = Asked(False)
    await _gate(ask).admit("A.Example.", 443)
    assert ask.questions == []


async def test_a_yes_is_remembered_for_the_host() -> None:
    ask = Asked(True)
    gate = _gate(ask)
    for port in (443, 443, 80):
        await gate.admit("b.example", port)
    assert ask.questions == [("b.example", 443)]


async def test_a_no_is_remembered_too() -> None:
    ask = Asked(False)
    gate = _gate(ask)
    for _ in range(2):
        with pytest.raises(HostBlocked, match="the user was asked and did not allow it"):
            await gate.admit("b.example", 443)
    assert ask.questions == [("b.example", 443)]


@pytest.mark.parametrize("answer", [None, 1, "yes", "allow", RuntimeError("broken")])
async def test_whatever_is_not_true_is_a_no(answer: object) -> None:
    with pytest.raises(HostBlocked):
        await _gate(Asked(answer)).admit("b.example", 443)


async def test_a_denied_host_is_not_asked_about() -> None:
    ask = Asked(True)
    with pytest.raises(HostBlocked):
        await _gate(ask).admit("denied.example", 443)
    assert ask.questions == []


async def test_without_anybody_to_ask_an_unknown_host_is_denied() -> None:
    with pytest.raises(HostBlocked, match="not among the allowed domains"):
        await _gate(None).admit("b.example", 443)


async def test_a_host_that_is_none_is_not_asked_about() -> None:
    ask = Asked(True)
    with pytest.raises(BadHost):
        await _gate(ask).admit("evil.test\0.a.example", 443)
    assert ask.questions == []


async def test_a_question_that_hangs_is_a_no() -> None:
    async def hang(host: str, port: int) -> bool:
        await anyio.sleep_forever()
        return True

    gate = DomainGate(DomainPolicy.parse(["a.example"]), ask=hang, ask_seconds=0.01)
    with pytest.raises(HostBlocked):
        await gate.admit("b.example", 443)


async def test_questions_about_one_host_at_the_same_time_are_one_question() -> None:
    ask = Asked(True)
    gate = _gate(ask)
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(gate.admit, "b.example", 443)
    assert ask.questions == [("b.example", 443)]


async def test_if_the_one_who_asked_is_gone_another_asks() -> None:
    asked: list[str] = []
    first_asked = anyio.Event()

    async def ask(host: str, port: int) -> bool:
        asked.append(host)
        if len(asked) == 1:
            first_asked.set()
            await anyio.sleep_forever()
        return True

    gate = DomainGate(DomainPolicy.parse(["a.example"]), ask=ask)
    leader = anyio.CancelScope()

    async def lead() -> None:
        with leader:
            await gate.admit("b.example", 443)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(lead)
            await first_asked.wait()
            group.start_soon(gate.admit, "b.example", 443)
            await anyio.wait_all_tasks_blocked()
            leader.cancel()
    assert asked == ["b.example", "b.example"]
