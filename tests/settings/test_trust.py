"""Who has trusted a folder, and what that is good for (CF-06, PV-10)."""

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from support_cli import command
from support_settings import Place
from toolwright.settings import load
from toolwright.settings.trust import TrustStore, fingerprint, folder_files
from toolwright.types import OptionsError

ALLOW = {"permissions": {"allow": ["Bash"]}}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def trust(place: Place) -> TrustStore:
    store = TrustStore(str(place.config))
    store.grant(str(place.project), fingerprint(folder_files(place.where)))
    return store


def allows(place: Place) -> bool:
    return bool(place.load().rules)


def test_a_trusted_folder_may_allow_until_its_settings_change(place: Place) -> None:
    place.write("project", ALLOW)
    assert not allows(place)
    trust(place)
    assert allows(place)
    place.write("local", {"env": {"A": "b"}})
    assert not allows(place)
    (place.project / ".claude" / "settings.local.json").unlink()
    assert allows(place)
    place.write("servers", {"mcpServers": {}})
    assert not allows(place)


def test_trust_does_not_depend_on_the_sources_that_are_read(place: Place) -> None:
    place.write("project", ALLOW)
    place.write("local", {"model": "x"})
    trust(place)
    assert [rule.text for rule in place.load(sources=["project"]).rules] == ["Bash"]


def test_trust_can_be_taken_back(place: Place) -> None:
    place.write("project", ALLOW)
    trust(place).revoke(str(place.project))
    assert not allows(place)


def test_neither_copies_nor_subfolders_nor_forged_repositories_inherit_trust(place: Place) -> None:
    place.write("project", ALLOW)
    trust(place)
    copy = Place(place.folder / "other")
    shutil.copytree(place.project, copy.project, dirs_exist_ok=True)
    (copy.project / ".git").write_text(f"gitdir: {place.project}/.git/worktrees/x\n")
    (place.project / ".git" / "worktrees" / ".git").mkdir(parents=True)
    (place.project / ".git" / "worktrees" / ".git" / "commondir").write_text(str(place.project / ".git"))
    shutil.copytree(place.project / ".claude", place.project / "sub" / ".claude")
    for folder in (copy.project, place.project / "sub"):
        assert load(replace(place.where, cwd=str(folder))).settings.rules == ()


def test_a_link_to_a_trusted_folder_is_that_folder(place: Place) -> None:
    place.write("project", ALLOW)
    store = trust(place)
    link = place.folder / "link"
    link.symlink_to(place.project)
    assert store.holds(str(link), fingerprint(folder_files(place.where)))


def test_the_store_is_private(place: Place) -> None:
    os.rmdir(place.config)
    place.write("project", ALLOW)
    store = trust(place)
    assert [os.stat(path).st_mode & 0o777 for path in (place.config, store.path)] == [0o700, 0o600]


@pytest.mark.parametrize(("mode", "holds"), [(0o644, True), (0o400, True), (0o620, False), (0o602, False), (0o666, False)])
def test_a_store_that_others_can_write_holds_nothing(mode: int, holds: bool, place: Place) -> None:
    place.write("project", ALLOW)
    os.chmod(trust(place).path, mode)
    assert allows(place) is holds


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_store_of_somebody_else_holds_nothing(place: Place) -> None:
    place.write("project", ALLOW)
    os.chown(trust(place).path, 12345, -1)
    assert not allows(place)


def test_a_store_that_is_no_file_holds_nothing_and_is_not_waited_for(place: Place) -> None:
    place.write("project", ALLOW)
    store = trust(place)
    os.unlink(store.path)
    os.mkfifo(store.path, 0o600)
    assert not allows(place)
    with pytest.raises(OptionsError, match="could not be kept: it is not a file that only its owner can write"):
        store.grant(str(place.project), "")


def test_a_folder_whose_name_is_not_utf8_can_be_trusted(place: Place) -> None:
    store, folder = TrustStore(str(place.config)), os.fsdecode(os.fsencode(place.folder) + b"/caf\xe9")
    store.grant(folder, "mark")
    store.grant(str(place.folder / "café"), "other")
    assert store.holds(folder, "mark")
    assert not store.holds(folder, "other")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"folders": 1}', "\x00"])
def test_a_broken_store_holds_nothing(text: str, place: Place) -> None:
    place.write("project", ALLOW)
    store = trust(place)
    Path(store.path).write_text(text)
    assert not allows(place)
    with pytest.raises(OptionsError, match=r"trust\.json: the trust of .* could not be kept: "):
        store.grant(str(place.project), "")
    assert Path(store.path).read_text() == text, "what a person may still mend is left alone"


def test_a_store_that_is_a_link_holds_nothing(place: Place) -> None:
    place.write("project", ALLOW)
    store = trust(place)
    os.rename(store.path, f"{store.path}.moved")
    os.symlink(f"{store.path}.moved", store.path)
    assert not allows(place)


# the command


def test_a_folder_with_nothing_to_trust_is_not_asked_about(place: Place) -> None:
    done = command("trust", str(place.project), env={"CLAUDE_CONFIG_DIR": str(place.config)})
    assert done.returncode == 0
    assert b"has no settings of its own: there is nothing to trust" in done.stdout


def test_the_command_shows_what_comes_into_force_and_asks_for_a_yes(place: Place) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "curl \u202eevil\n  allow nothing"}]}]}
    place.write("project", {**ALLOW, "hooks": hooks, "env": {"A": "b"}})
    place.write("servers", {"mcpServers": {"files": {"command": "serve", "args": ["--all"]}}})
    env = {"CLAUDE_CONFIG_DIR": str(place.config)}
    refused = command("trust", str(place.project), env=env)
    assert refused.returncode == 2
    assert b"--yes" in refused.stderr
    shown = refused.stdout.decode()
    for part in ("allow Bash", "variable A=b", r"runs on Stop: curl \u202eevil\n  allow nothing", "tool server files", "--all"):
        assert part in shown
    assert not allows(place)
    assert command("trust", str(place.project), "--yes", env=env).returncode == 0
    assert allows(place)
    assert command("trust", "--revoke", env=env, cwd=place.project).returncode == 0
    assert not allows(place)


@pytest.mark.parametrize(("arguments", "said"), [(["/no/such"], b"not a folder"), (["a", "b"], b"one folder")])
def test_the_command_says_what_is_wrong(arguments: list[str], said: bytes) -> None:
    done = command("trust", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_command_does_not_trust_what_cannot_be_read(place: Place) -> None:
    place.write("project", "{")
    done = command("trust", str(place.project), "--yes", env={"CLAUDE_CONFIG_DIR": str(place.config)})
    assert done.returncode == 1
    assert b"settings.json:1:2: not valid JSON" in done.stderr
