"""Rules that forbid a path through a link are about where it leads, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolwright.permissions import RuleSet, SessionFolders, denies_reading, with_real_paths
from toolwright.permissions.calls import UnknownFiles


class Links(UnknownFiles):
    """Folders that are links, by name."""

    def __init__(self, links: dict[str, str]) -> None:
        self._links = links

    def spellings(self, path: str) -> tuple[str, ...]:
        for link, target in self._links.items():
            if f"{path}/".startswith(f"{link}/"):
                return (target + path[len(link) :], path)
        return (path,)


LINKS = Links({"/home/ada": "/data/ada", "/var/run": "/run", "/ws/link": "/srv/odd[1]", "/app": "/opt/app"})
PLACE = SessionFolders("/ws", ("/more",), "/home/ada", LINKS)


@pytest.mark.parametrize(
    ("rule", "denied", "allowed"),
    [
        ("Read(~/.ssh/**)", "/data/ada/.ssh/id", "/data/ada/x"),
        ("Read(~/.netrc)", "/data/ada/.netrc", "/data/ada/.netrc2"),
        ("Read(~/*.pem)", "/data/ada/a.pem", "/data/ada/a.txt"),
        ("Read(//var/run/secrets/**)", "/run/secrets/key", "/run/other"),
        ("Read(//var/run)", "/run/x", "/runner"),
        ("Read(link/**)", "/srv/odd[1]/x", "/srv/odd1/x"),
        ("Read(./link)", "/srv/odd[1]", "/srv/odd[1]x"),
        ("Read(link)", "/srv/odd[1]/x", "/srv/x"),
        ("Read(/link/a.txt)", "/srv/odd[1]/a.txt", "/srv/odd[1]/b.txt"),
    ],
)
def test_a_deny_rule_counts_for_where_it_leads(rule: str, denied: str, allowed: str) -> None:
    rules = RuleSet.parse(deny=[rule])
    led = with_real_paths(rules, PLACE)
    assert denies_reading(denied, rules=rules, place=PLACE) is None
    assert denies_reading(denied, rules=led, place=PLACE) is not None
    assert denies_reading(allowed, rules=led, place=PLACE) is None


def test_rules_of_a_settings_file_start_at_its_folder() -> None:
    rules = RuleSet.parse(deny=["Read(/secret/**)"], base="/app")
    assert denies_reading("/opt/app/secret/x", rules=with_real_paths(rules, PLACE), place=PLACE) is not None


@pytest.mark.parametrize("rule", ["Read(//etc/**)", "Read(**/.env)", "Read", "Bash(rm:*)", "Read(*)"])
def test_rules_without_a_link_stay_the_same_object(rule: str) -> None:
    rules = RuleSet.parse(deny=[rule])
    assert with_real_paths(rules, PLACE) is rules


def test_an_allow_rule_is_taken_as_written() -> None:
    rules = RuleSet.parse(allow=["Read(~/notes/**)", "Read(//var/run/**)"])
    assert with_real_paths(rules, PLACE) is rules


@pytest.mark.parametrize("name", ["*", "a\nb", "\\", " "])
def test_odd_names_do_no_harm(name: str, tmp_path: Path) -> None:
    def lead(make: Callable[[str], str]) -> RuleSet:
        return with_real_paths(RuleSet.parse(deny=["Read(//l/x)"]), SessionFolders("/ws", files=Links({"/l": make(name)})))

    led = lead(lambda odd: f"/odd/{odd}/deep")
    found = denies_reading(f"/odd/{name}/deep/x", rules=led, place=PLACE)
    assert found is not None
    assert denies_reading("/odd/other/deep/x", rules=led, place=PLACE) is None
