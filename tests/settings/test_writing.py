"""Answers that go into settings files: the right file, whole, and nothing else in it changed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from support_settings import Place
from toolwright.base.jsonc import parse_document
from toolwright.base.jsonc_edits import add_texts, remove_texts, set_value
from toolwright.settings.trust import TrustStore, fingerprint, folder_files
from toolwright.settings.writing import write_update
from toolwright.types import OptionsError, PermissionRuleValue, PermissionUpdate

COMMENTED = """\
{
    // what I may do
    "permissions": {
        "allow": [
            "Read", // reading is fine
            "Bash(ls)" /* and this */
        ],
        "deny": []
    },
    "mine": {"a": [1,2]} // not known to anybody
}
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def rules(*texts: str, kind: Any = "addRules", behavior: Any = "allow", to: Any = "localSettings") -> PermissionUpdate:
    values = [PermissionRuleValue(text.partition("(")[0], text.partition("(")[2][:-1] or None) for text in texts]
    return PermissionUpdate(kind, rules=values, behavior=behavior, destination=to)


def test_each_destination_is_its_own_file(place: Place) -> None:
    for to, path in (
        ("userSettings", place.config / "settings.json"),
        ("projectSettings", place.project / ".claude" / "settings.json"),
        ("localSettings", place.project / ".claude" / "settings.local.json"),
    ):
        assert write_update(rules("Bash(npm run *)", to=to), place.where) == str(path)
        assert json.loads(path.read_text()) == {"permissions": {"allow": ["Bash(npm run *)"]}}
    assert (place.config / "settings.json").stat().st_mode & 0o777 == 0o600


def test_what_is_for_the_session_is_written_nowhere(place: Place) -> None:
    for to in (None, "session"):
        assert write_update(rules("Bash", to=to), place.where) is None
    assert list(place.project.iterdir()) == []


def test_comments_layout_and_unknown_keys_stay(place: Place) -> None:
    path = place.write("local", COMMENTED)
    write_update(rules("Bash(npm run *)", "Read"), place.where)
    added = COMMENTED.replace('"Bash(ls)" /* and this */', '"Bash(ls)", /* and this */\n            "Bash(npm run *)"')
    assert path.read_text() == added
    write_update(rules("Bash(npm run *)", kind="removeRules"), place.where)
    assert path.read_text() == COMMENTED


def test_every_kind_of_update(place: Place) -> None:
    path = place.write("local", {"permissions": {"ask": ["Read"], "additionalDirectories": ["/a"]}})
    for update in (
        rules("Edit", "Bash(x)", kind="replaceRules", behavior="ask"),
        rules("WebFetch", behavior="deny"),
        PermissionUpdate("setMode", mode="plan", destination="localSettings"),
        PermissionUpdate("addDirectories", directories=["/b", "/a"], destination="localSettings"),
        PermissionUpdate("removeDirectories", directories=["/a"], destination="localSettings"),
    ):
        write_update(update, place.where)
    assert json.loads(path.read_text()) == {
        "permissions": {
            "ask": ["Edit", "Bash(x)"],
            "additionalDirectories": ["/b"],
            "deny": ["WebFetch"],
            "defaultMode": "plan",
        }
    }


def test_the_file_of_our_own_folder_is_used_where_it_is_there(place: Place) -> None:
    path = place.write("local", {}, folder=".toolwright")
    assert write_update(rules("Bash"), place.where) == str(path)


@pytest.mark.parametrize("text", ["{", '{"permissions": []}', '{"permissions": {"allow": [1]}}', "[]"])
def test_a_broken_file_is_left_alone(text: str, place: Place) -> None:
    path = place.write("local", text)
    with pytest.raises(OptionsError, match=str(path)):
        write_update(rules("Bash"), place.where)
    assert path.read_text() == text


def test_an_empty_file_and_a_byte_order_mark_are_kept_working(place: Place) -> None:
    path = place.write("local", "\ufeff")
    write_update(rules("Bash"), place.where)
    assert path.read_text(encoding="utf-8").startswith("\ufeff{")
    assert json.loads(path.read_text(encoding="utf-8-sig")) == {"permissions": {"allow": ["Bash"]}}


def test_line_ends_stay_what_they_are(place: Place) -> None:
    path = place.write("local", "")
    path.write_bytes(COMMENTED.replace("\n", "\r\n").encode())
    write_update(rules("Bash(make)"), place.where)
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n") == COMMENTED.count("\n") + 1


def test_a_link_in_the_project_is_not_followed(place: Place) -> None:
    outside = place.folder / "outside"
    outside.mkdir()
    (outside / "settings.json").write_text("{}")
    (place.project / ".claude").symlink_to(outside)
    with pytest.raises(OptionsError, match="could not be written"):
        write_update(rules("Bash", to="projectSettings"), place.where)
    (place.project / ".claude").unlink()
    (place.project / ".claude").mkdir()
    (place.project / ".claude" / "settings.json").symlink_to(outside / "settings.json")
    with pytest.raises(OptionsError, match="could not be written"):
        write_update(rules("Bash", to="projectSettings"), place.where)
    assert (outside / "settings.json").read_text() == "{}"


def test_the_users_own_file_may_lie_elsewhere(place: Place) -> None:
    dotfiles = place.folder / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text('{"model": "m"}')
    (place.config / "settings.json").symlink_to(dotfiles / "claude.json")
    write_update(rules("Bash", to="userSettings"), place.where)
    assert (place.config / "settings.json").is_symlink()
    assert json.loads((dotfiles / "claude.json").read_text())["permissions"] == {"allow": ["Bash"]}


def test_a_persons_answer_does_not_cost_the_folder_its_trust(place: Place) -> None:
    place.write("project", {"permissions": {"allow": ["Read"]}})
    TrustStore(str(place.config)).grant(str(place.project), fingerprint(folder_files(place.where)))
    write_update(rules("Bash(make)"), place.where)
    assert {rule.text for rule in place.load().rules} == {"Read", "Bash(make)"}


def test_an_answer_does_not_trust_what_changed_meanwhile(place: Place) -> None:
    place.write("project", {"permissions": {"allow": ["Read"]}})
    TrustStore(str(place.config)).grant(str(place.project), fingerprint(folder_files(place.where)))
    place.write("project", {"permissions": {"allow": ["Bash"]}})
    write_update(rules("Bash(make)"), place.where)
    assert place.load().rules == ()


def test_no_temporary_file_is_left(place: Place) -> None:
    write_update(rules("Bash"), place.where)
    assert os.listdir(place.project / ".claude") == ["settings.local.json"]


WRITER = """
import sys
from toolwright.settings import SettingsLocations
from toolwright.settings.writing import write_update
from toolwright.types import PermissionRuleValue, PermissionUpdate

project, config, who = sys.argv[1:]
for number in range(10):
    rule = PermissionRuleValue(f"mcp__w{who}__t{number}")
    update = PermissionUpdate("addRules", rules=[rule], behavior="allow", destination="localSettings")
    write_update(update, SettingsLocations(project, (config,)))
"""


def test_writers_at_the_same_time_lose_nothing(place: Place) -> None:
    paths = (str(place.project), str(place.config))
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, *paths, str(who)]) for who in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    written = json.loads((place.project / ".claude" / "settings.local.json").read_text())
    assert len(written["permissions"]["allow"]) == 30


# the edits themselves

names = some.sampled_from(["a", "b", "c d", 'q"', "ü"])
documents = some.builds(
    lambda value, indent, comment: (
        json.dumps(value, indent=indent).replace("[", f"[{comment}") if comment else json.dumps(value, indent=indent)
    ),
    some.fixed_dictionaries(
        {}, optional={"p": some.fixed_dictionaries({}, optional={"l": some.lists(names, unique=True)}), "z": names}
    ),
    some.sampled_from([None, 2, 4, "\t"]),
    some.sampled_from(["", "/* x, y */", "// [ note\n"]),
)


@settings(max_examples=200)
@given(documents, some.lists(names, max_size=3), some.lists(names, max_size=3))
def test_edits_say_what_they_should_and_keep_comments(text: str, added: list[str], removed: list[str]) -> None:
    before = parse_document(text).root.plain()
    expected = list(before.get("p", {}).get("l", []))
    expected += [each for each in dict.fromkeys(added) if each not in expected]
    text_after = add_texts(text, ("p", "l"), added)
    after = parse_document(text_after).root.plain()
    assert after.get("p", {}).get("l", []) == expected
    less = remove_texts(text_after, ("p", "l"), removed)
    kept = [each for each in expected if each not in removed]
    assert parse_document(less).root.plain().get("p", {}).get("l", []) == kept
    final = parse_document(set_value(less, ("p", "m"), "plan")).root.plain()
    assert final["p"]["m"] == "plan"
    assert final.get("z") == before.get("z")
    assert less.count("/* x, y */") == text.count("/* x, y */")
    assert less.count("// [ note") == text.count("// [ note")
