"""Which files settings are read from, what their rules are relative to, and files that cannot be read."""

import os
from pathlib import Path

import pytest

from support_settings import Place
from toolwright.settings import SettingsLocations
from toolwright.settings.locations import MAX_SIZE
from toolwright.types import OptionsError

SCOPES = {"managed", "local", "project", "user"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_files_come_the_highest_first_and_rules_are_relative_to_real_folders(tmp_path: Path) -> None:
    for name in ("real/.claude", "real/.toolwright", "managed", "home", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "real" / ".mcp.json").touch()
    (tmp_path / "cwd").symlink_to("real")
    (tmp_path / "first").symlink_to("home")
    cwd, managed, first, second = (str(tmp_path / name) for name in ("cwd", "managed", "first", "other"))
    where = SettingsLocations(cwd, (first, second, str(tmp_path / "no")), (managed, str(tmp_path / "none")))
    real = str(tmp_path / "real")
    assert [(origin.scope, origin.path, origin.base) for origin in where.files(SCOPES)] == [
        ("managed", f"{managed}/managed-settings.json", managed),
        ("local", f"{cwd}/.toolwright/settings.local.json", real),
        ("local", f"{cwd}/.claude/settings.local.json", real),
        ("project", f"{cwd}/.toolwright/settings.json", real),
        ("project", f"{cwd}/.claude/settings.json", real),
        ("project", f"{cwd}/.mcp.json", real),
        ("user", f"{second}/settings.json", second),
        ("user", f"{first}/settings.json", str(tmp_path / "home")),
    ]
    assert {origin.scope for origin in where.files({"user", "managed"})} == {"user", "managed"}


@pytest.mark.parametrize("spelling", ["given/mine.json", "{folder}/workspace/given/mine.json", "~/mine.json"])
def test_settings_may_be_given_by_the_path_of_a_file(spelling: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place.project / "given"
    folder.mkdir()
    (folder / "mine.json").write_text('{"permissions": {"deny": ["Read(./secret)"]}}')
    monkeypatch.setenv("HOME", str(folder))
    (rule,) = place.load(inline=spelling.format(folder=place.folder)).rules
    assert (rule.source.scope, rule.source.base) == ("inline", str(folder))
    assert os.path.samefile(rule.source.path, folder / "mine.json")


@pytest.mark.parametrize("before", ["", "\ufeff", " \t\r\n"])
def test_what_begins_with_a_brace_is_settings_and_not_a_path(before: str, place: Place) -> None:
    assert place.load(inline=before + '{"model": "x"}').model == "x"


def test_a_path_that_is_not_there_is_told_as_it_was_given(place: Place) -> None:
    with pytest.raises(
        OptionsError, match=r"cannot read 'no/such\.json': there is no such file \(it is neither a path nor JSON\)"
    ):
        place.load(inline="no/such.json")


def test_settings_may_be_as_large_as_a_megabyte_and_no_larger(place: Place) -> None:
    text = '{"model": "x"}'
    place.write("user", text + " " * (MAX_SIZE - len(text)))
    assert place.load().model == "x"
    place.write("user", text + " " * (MAX_SIZE + 1 - len(text)))
    with pytest.raises(OptionsError, match=rf"settings\.json: cannot read the settings: it is larger than {MAX_SIZE} bytes\."):
        place.load()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.write_bytes(b'{"model": "\xe9"}'), r"it is not UTF-8 \(byte 11\)"),
        (os.mkfifo, "it is not a regular file"),
        (Path.mkdir, "it is not a regular file"),
        (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_read_stops_the_session_and_says_why(make: object, why: str, place: Place) -> None:
    assert callable(make)
    make(place.config / "settings.json")
    with pytest.raises(OptionsError, match=rf"config/settings\.json: cannot read the settings: {why}\. They may forbid"):
        place.load()
