from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolwright.sandbox.errors import SandboxRefused
from toolwright.sandbox.policy import (
    FilesystemWishes,
    NetworkWishes,
    PermissionPaths,
    ProtectedNames,
    SandboxPolicy,
    SandboxRules,
    absolute,
    sandbox_rules,
)
from toolwright.sandbox.resolve_policy import survey
from toolwright.sandbox.secret_places import is_env_file, secret_places


def rules_for(
    ws: Path,
    *,
    secrets: tuple[str, ...] = (),
    filesystem: FilesystemWishes = FilesystemWishes(),  # noqa: B008
    permissions: PermissionPaths = PermissionPaths(),  # noqa: B008
    home: str = "/nowhere",
) -> SandboxRules:
    return sandbox_rules(
        str(ws), [], home=home, secrets=secrets, filesystem=filesystem, network=NetworkWishes(), permissions=permissions
    )


def policy_of(ws: Path, **how: object) -> SandboxPolicy:
    return survey(rules_for(ws, **how))  # type: ignore[arg-type]  # the same keywords


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("/abs/x", "/abs/x"),
        ("//abs/x", "/abs/x"),
        ("~/x", "/home/me/x"),
        ("~", "/home/me"),
        ("./x", "/ws/x"),
        ("x", "/ws/x"),
        ("../y", "/y"),
        ("build/**", "/ws/build"),
        ("/**", "/"),
    ],
)
def test_paths_are_read_as_settings_write_them(written: str, expected: str) -> None:
    assert absolute(written, cwd="/ws", home="/home/me") == expected


def test_domains_mean_the_proxy_and_nothing_means_no_network() -> None:
    def network(wishes: NetworkWishes) -> str:
        return sandbox_rules("/", [], home="/", secrets=(), filesystem=FilesystemWishes(), network=wishes).network

    assert network(NetworkWishes()) == "none"
    assert network(NetworkWishes(allowed_domains=["example.com"])) == "proxied"
    assert network(NetworkWishes(has_proxy=True)) == "proxied"


def test_protected_names_are_found_at_the_top_and_below(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a/b/.vscode").mkdir(parents=True)
    (tmp_path / "a/.ENVRC").touch()
    (tmp_path / "node_modules/x/.idea").mkdir(parents=True)
    policy = policy_of(tmp_path)
    assert set(policy.protected) == {f"{tmp_path}/.git", f"{tmp_path}/a/b/.vscode", f"{tmp_path}/a/.ENVRC"}
    assert f"{tmp_path}/.claude" in policy.absent
    assert f"{tmp_path}/.git" not in policy.absent
    assert f"{tmp_path}/.bashrc" not in policy.absent  # no program looks for it in a project


def test_names_of_lesser_weight_stay_as_they_are_but_may_be_made(tmp_path: Path) -> None:
    (tmp_path / ".hg").mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "a/.Rprofile").touch()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    policy = policy_of(tmp_path)
    assert set(policy.protected) == {f"{tmp_path}/.hg", f"{tmp_path}/a/.Rprofile"}
    assert f"{tmp_path}/.gdbinit" not in policy.absent


def test_each_name_that_must_not_be_made_takes_a_mount_so_there_are_few() -> None:
    assert len(ProtectedNames().of_top(is_home=False)) <= 48


def test_a_home_is_kept_free_of_start_up_files_too(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, home=str(tmp_path))
    assert f"{tmp_path}/.bashrc" in policy.absent
    assert f"{tmp_path}/.config" in policy.absent  # .config/git cannot be made while this cannot


def test_what_somebody_opened_is_not_protected(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    policy = policy_of(tmp_path, filesystem=FilesystemWishes(allow_write=["./.git"]))
    assert policy.protected == ()
    assert f"{tmp_path}/.git" in policy.writable


def test_worktrees_inside_a_protected_folder_stay_open(tmp_path: Path) -> None:
    (tmp_path / ".claude/worktrees/x").mkdir(parents=True)
    policy = policy_of(tmp_path)
    assert f"{tmp_path}/.claude" in policy.protected
    assert f"{tmp_path}/.claude/worktrees" in policy.writable


def test_a_git_file_protects_the_folder_it_names_and_the_common_one(tmp_path: Path) -> None:
    for folder in ("real/wt", "shared"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".git").write_text("gitdir: real/wt\n")
    (tmp_path / "real/wt/commondir").write_text("../../shared\n")
    assert set(policy_of(tmp_path).protected) == {f"{tmp_path}/.git", f"{tmp_path}/real/wt", f"{tmp_path}/shared"}


@pytest.mark.parametrize("target", ["missing", "elsewhere"])
def test_a_protected_name_that_is_a_link_is_refused_in_words(tmp_path: Path, target: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".git").symlink_to(target)
    with pytest.raises(SandboxRefused, match=r"\.git is a protected name, but a .*link.*allowWrite"):
        policy_of(tmp_path)


def test_deny_rules_become_paths_and_a_denied_folder_is_not_walked(tmp_path: Path) -> None:
    (tmp_path / "a/secret/deep").mkdir(parents=True)
    (tmp_path / "a/.env").touch()
    (tmp_path / "outside-link").symlink_to(tmp_path / "a/.env")
    seen: list[str] = []

    def is_hidden(path: str) -> bool:
        seen.append(path)
        return path.endswith(("/.env", "/secret"))

    policy = policy_of(tmp_path, permissions=PermissionPaths(is_hidden=is_hidden))
    assert set(policy.hidden) == {f"{tmp_path}/a/.env", f"{tmp_path}/a/secret"}
    assert f"{tmp_path}/a/secret/deep" not in seen
    assert policy.pinned == (f"{tmp_path}/a",)


def test_a_denied_link_hides_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "real").touch()
    (tmp_path / "ws/.env").symlink_to(tmp_path / "real")
    policy = policy_of(tmp_path / "ws", permissions=PermissionPaths(is_hidden=lambda path: path.endswith(".env")))
    assert policy.hidden == (f"{tmp_path}/real",)


def test_more_names_than_can_be_judged_are_refused(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"d{number}").mkdir()
    rules = rules_for(tmp_path, permissions=PermissionPaths(is_hidden=lambda path: False))
    assert survey(rules, most_entries=20).hidden == ()
    with pytest.raises(SandboxRefused, match="more than 19 names"):
        survey(rules, most_entries=19)


def test_secrets_give_way_to_the_workspace_and_to_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "home/.ssh").mkdir(parents=True)
    (tmp_path / "home/.netrc").touch()
    (tmp_path / "home/.aws").mkdir()
    secrets = tuple(str(tmp_path / "home" / name) for name in (".ssh", ".netrc", ".aws", ".missing"))
    policy = policy_of(tmp_path / "home/.aws", secrets=secrets)
    assert policy.hidden == (f"{tmp_path}/home/.ssh",)
    assert policy.emptied == (f"{tmp_path}/home/.netrc",)


def test_secret_places_know_other_homes_and_what_variables_name(tmp_path: Path) -> None:
    places = secret_places("/home/me", {"KUBECONFIG": "/k/one:/k/two", "AWS_CONFIG_FILE": "relative"})
    assert {"/home/me/.ssh", "/home/me/.aws", "/root", "/k/one", "/k/two", "/etc/shadow"} <= set(places)
    assert "/root" not in secret_places("/root", {})


@pytest.mark.parametrize(("name", "is_one"), [(".env", True), (".env.local", True), (".env.example", False), ("x.env", False)])
def test_env_files_are_told_from_examples(name: str, is_one: bool) -> None:
    assert is_env_file(f"/ws/{name}") is is_one


def test_frozen_paths_hold_also_before_they_exist(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    policy = policy_of(tmp_path, filesystem=FilesystemWishes(deny_write=["./src", "./later/deep"]))
    assert f"{tmp_path}/src" in policy.frozen
    assert f"{tmp_path}/later" in policy.absent


def test_an_unreadable_folder_does_not_stop_the_survey(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o000)
    assert policy_of(tmp_path).writable == (os.path.realpath(tmp_path),)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("CLAUDE.md", True),
        ("agents.md", True),
        ("GEMINI.md", True),
        (".cursorrules", True),
        (".gdbinit", True),
        ("Makefile", False),
    ],
)
def test_memory_files_and_what_programs_obey_are_protected(name: str, is_one: bool) -> None:
    assert ProtectedNames().covers(name) is is_one


def test_whatever_is_kept_from_being_made_is_protected_by_its_name() -> None:
    names = ProtectedNames()
    assert [name for name in names.of_top(is_home=False) if not names.covers(name)] == []


def test_a_secret_that_the_user_could_not_open_needs_no_cover(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "secret").touch()
    policy = policy_of(tmp_path / "ws", secrets=(str(tmp_path / "secret"),))
    assert policy.emptied == (f"{tmp_path}/secret",)
    if os.geteuid() != 0:
        (tmp_path / "secret").chmod(0o000)
        assert policy_of(tmp_path / "ws", secrets=(str(tmp_path / "secret"),)).emptied == ()
