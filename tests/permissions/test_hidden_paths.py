from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.permissions import RuleSet, SessionFolders, denies_reading, hidden_paths

RULES = [
    "Read(**/.env)",
    "Read(secret/**)",
    "Read(//etc/*.conf)",
    "Read(~/.ssh)",
    "Read(/top)",
    "Read(key)",
    "Read(a/b/c)",
    "Read",
]
NAMES = st.sampled_from(
    ["ws", "other", "home", "etc", "secret", ".env", "x.conf", ".ssh", "top", "key", "a", "b", "c", ".", "..", ""]
)
PLACE = SessionFolders("/ws", ("/ws", "/other"), "/home")


@given(st.lists(st.sampled_from(RULES), max_size=4), st.lists(NAMES, max_size=5))
def test_many_paths_are_judged_like_one(rules: list[str], names: list[str]) -> None:
    given_rules = RuleSet.parse(deny=rules)
    path = "/" + "/".join(names)
    hidden = hidden_paths(rules=given_rules, place=PLACE)
    assert (hidden is not None and hidden(path)) == (denies_reading(path, rules=given_rules, place=PLACE) is not None)


PATHS = [
    *("/ws/.env", "/ws/a/.env", "/other/.env", "/etc/.env", "/ws/secret/x", "/ws/secret", "/ws/a/secret/x", "/etc/x.conf"),
    *("/etc/x", "/home/.ssh/key", "/home/.ssh", "/ws/top", "/ws/a/top", "/ws/key", "/key", "/ws/a/b/c", "/ws/b/c", "/ws"),
]


@pytest.mark.parametrize("rules", list(combinations(RULES[:-1], 3)), ids=" ".join)
def test_rules_together_hide_what_each_of_them_hides(rules: tuple[str, ...]) -> None:
    every, each = RuleSet.parse(deny=rules), [RuleSet.parse(deny=[rule]) for rule in rules]
    for path in PATHS:
        alone = [str(rule) for one in each if (rule := denies_reading(path, rules=one, place=PLACE)) is not None]
        together = denies_reading(path, rules=every, place=PLACE)
        assert (together is not None) == bool(alone)
        assert together is None or str(together) in alone


@pytest.mark.parametrize("rule", ["Read(/**)", "Read(./**)", "Read(**)", "Read(/top)", "Read(~/**)", "Read(//ws)", "Read"])
@pytest.mark.parametrize(
    "path", ["/ws", "/ws/top", "/xx/top", "/xxxx/top", "/other", "/other/a", "/home", "/home/.ssh", "/", "/wsx"]
)
def test_the_ends_of_folders_are_judged_alike(rule: str, path: str) -> None:
    rules = RuleSet.parse(deny=[rule])
    hidden = hidden_paths(rules=rules, place=PLACE)
    assert (hidden is not None and hidden(path)) == (denies_reading(path, rules=rules, place=PLACE) is not None)


def test_a_rule_for_all_in_a_folder_is_about_the_folder_too() -> None:
    hidden = hidden_paths(rules=RuleSet.parse(deny=["Read(//ws/**)"]), place=PLACE)
    assert hidden is not None
    assert [hidden(path) for path in ("/ws", "/ws/a", "/wsx", "/xx/ws/a")] == [True, True, False, False]


@pytest.mark.parametrize("path", ["/ws//secret", "/ws/./secret", "/ws/a/../secret", "//ws/secret", "/ws/secret/."])
def test_no_other_spelling_shows_a_hidden_path(path: str) -> None:
    hidden = hidden_paths(rules=RuleSet.parse(deny=["Read(//ws/secret)"]), place=PLACE)
    assert hidden is not None
    assert hidden(path)
    assert not hidden(path.replace("secret", "open"))


def test_without_rules_about_reading_nothing_has_to_be_asked() -> None:
    assert hidden_paths(rules=RuleSet.parse(deny=["Bash", "Edit(x)"]), place=PLACE) is None
