"""Sandboxed commands, judged by what they did to the host."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from support_sandbox import Place, mechanism_named, visible_folder
from toolwright.base.workspace_errors import WorkspaceError
from toolwright.files.boundary import Boundary
from toolwright.files.write import replace as replace_file
from toolwright.processes.temp_files import TemporaryFolder
from toolwright.sandbox.backends.bubblewrap import Bubblewrap, find_bubblewrap
from toolwright.sandbox.errors import SandboxRefused, SandboxUnavailable
from toolwright.sandbox.placeholders import standing
from toolwright.sandbox.policy import FilesystemWishes, NetworkWishes, PermissionPaths, ProtectedNames
from toolwright.types import protected_names

NAMES = ProtectedNames().of_top(is_home=False)
FOLDERS = protected_names.FOLDERS


@pytest.fixture
def folder() -> Iterator[Path]:
    with visible_folder() as path:
        yield path


@pytest.fixture(params=["bubblewrap", "Landlock"])
def place(request: pytest.FixtureRequest, folder: Path) -> Place:
    return Place(folder, mechanism_named(request.param, folder / "register"))


@pytest.fixture
def wrapped(folder: Path) -> Place:
    return Place(folder, mechanism_named("bubblewrap", folder / "register"))


def snapshot(root: Path) -> dict[str, object]:
    """Everything below a folder: kind, mode, and content or target."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content: object = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(root))] = (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), content)
    return found


def prepare(path: Path, state: str) -> None:
    if state == "empty":
        path.touch()
    elif state == "dir":
        path.mkdir()
        (path / "kept").write_text("kept")
    elif state in ("symlink", "dangling"):
        path.symlink_to("elsewhere" if state == "symlink" else "nowhere")


def test_programs_pass_over_the_stand_ins(wrapped: Place) -> None:
    """git lists none, reading one says nothing, and a copy of the folder is made without complaint."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", str(wrapped.ws)], check=True)
    (wrapped.ws / "made").touch()
    said = wrapped.run("git status --short; cat .npmrc .yarnrc.yml; cp -r . /tmp/copy; find . -maxdepth 1 -type f")
    assert said == "?? made\n./made\n"
    (wrapped.ws / "work/.git").mkdir()
    assert wrapped.run("git rev-parse --show-toplevel", directory=wrapped.ws / "work") == f"{wrapped.ws}\n"


def test_a_commit_on_the_host_takes_no_stand_in_along(folder: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    names = [str(folder / name) for name in NAMES if name != ".git"]
    with standing(str(folder), names, register=str(folder.parent / f"{folder.name}-register")):
        said = subprocess.run(["git", "-C", str(folder), "status", "--short"], capture_output=True, text=True, check=True)
    shutil.rmtree(folder.parent / f"{folder.name}-register")
    assert said.stdout == ""


@pytest.mark.parametrize("state", ["absent", "empty", "dir", "symlink", "dangling"])
def test_no_protected_name_can_be_written_whatever_is_there(place: Place, state: str) -> None:
    """All names at once per state; a link cannot be held by bubblewrap, so the command must not start at all."""
    (place.ws / "elsewhere").mkdir()
    for name in NAMES:
        prepare(place.ws / name, state)
    before = snapshot(place.ws)
    attack = "\n".join(
        f"""echo x > {name}; echo x >> {name}/hooks; mkdir -p {name}/sub; echo x > {name}/sub/y; mv work/{name}.new {name}
        rm -rf {name}; ln -s /etc/hostname {name}; mv {name} work/moved; mkdir {name}; (cd {name} && echo x > settings.json)"""
        for name in NAMES
    )
    refusal = pytest.raises(SandboxRefused) if state in ("symlink", "dangling") else nullcontext()
    with refusal:
        place.run(attack)
    assert snapshot(place.ws) == before


def test_nested_protected_names_that_are_there_stay(place: Place) -> None:
    (place.ws / "work/sub/.git/hooks").mkdir(parents=True)
    before = snapshot(place.ws)
    place.run("echo x > work/sub/.git/hooks/pre-commit; rm -rf work/sub/.git; git -C work/sub config core.pager x")
    assert snapshot(place.ws) == before


def test_the_folder_that_a_git_file_names_is_protected(place: Place) -> None:
    (place.ws / "real/hooks").mkdir(parents=True)
    (place.ws / ".git").write_text("gitdir: real\n")
    place.run("echo x > real/hooks/pre-commit; echo x > real/config")
    assert not (place.ws / "real/config").exists()
    assert list((place.ws / "real/hooks").iterdir()) == []


def test_commands_work_in_the_workspace_and_keep_their_temporary_files(place: Place) -> None:
    said = place.run(
        "echo one > work/a; mv work/a work/b; mkdir -p work/x/y; cp work/b work/x/y/c; cat work/x/y/c; echo t > $TMPDIR/t"
    )
    assert said == "one\n"
    assert place.run("cat $TMPDIR/t") == "t\n"
    assert (place.ws / "work/x/y/c").read_text() == "one\n"
    assert not os.path.exists("/tmp/t")


def test_new_names_can_be_made_at_the_top(wrapped: Place) -> None:
    wrapped.run('echo x > new; mkdir folder; echo y > folder/z; python3 -c \'open("made", "w").write("z")\'')
    assert (wrapped.ws / "new").read_text() == "x\n"
    assert {path.name for path in wrapped.ws.iterdir()} == {"new", "folder", "made", "work"}


def test_landlock_makes_new_names_at_the_top_only_where_less_may_be_held(folder: Path) -> None:
    place = Place(folder, mechanism_named("Landlock", folder / "register"))
    place.run("echo x > new")
    assert not (place.ws / "new").exists()
    place.weaker = True
    place.run("echo x > new")
    assert (place.ws / "new").read_text() == "x\n"


def test_a_deny_rule_holds_for_every_way_to_read(place: Place) -> None:
    (place.ws / "work/sub").mkdir()
    (place.ws / "work/sub/.env").write_text("TOKEN=hunter2")
    (place.ws / "work/link").symlink_to("sub/.env")
    (place.ws / ".env").write_text("TOKEN=hunter2")
    place.permissions = PermissionPaths(is_hidden=lambda path: path.endswith("/.env"))
    said = place.run(
        "cat .env work/sub/.env work/link; python3 -c 'print(open(\"work/sub/.env\").read())'; grep -r TOKEN .; "
        "(cat .env &) ; wait; tar cf - . 2>/dev/null | tr -d '\\0'; mv work/sub work/moved; cat work/moved/.env"
    )
    assert "hunter2" not in said
    assert (place.ws / "work/sub/.env").read_text() == "TOKEN=hunter2"


def test_a_deny_rule_for_edits_holds_for_commands(place: Place) -> None:
    (place.ws / "work/src").mkdir()
    (place.ws / "work/src/a").write_text("old")
    place.permissions = PermissionPaths(is_frozen=lambda path: path.endswith("/src"))
    said = place.run("cat work/src/a; echo new > work/src/a; rm -rf work/src; mv work/src work/other; touch work/src/b")
    assert said.startswith("old")
    assert snapshot(place.ws / "work/src") == {"a": (stat.S_IFREG, 0o644, b"old")}


def test_what_rules_and_settings_open_can_be_written(place: Place) -> None:
    (place.base / "outside/build").mkdir()
    (place.ws / ".git").mkdir()
    place.filesystem = FilesystemWishes(allow_write=["./.git"])
    place.permissions = PermissionPaths(opened=[str(place.base / "outside/build")])
    place.run(f"echo x > {place.base}/outside/build/out; echo x > .git/config; echo x > {place.base}/outside/no")
    assert (place.base / "outside/build/out").read_text() == "x\n"
    assert (place.ws / ".git/config").read_text() == "x\n"
    assert not (place.base / "outside/no").exists()


def test_secrets_are_masked_and_what_is_shown_is_not(place: Place) -> None:
    for name in ("home/.ssh/id", "home/.aws/shown/x"):
        (place.base / name).parent.mkdir(parents=True, exist_ok=True)
        (place.base / name).write_text("hunter2")
    (place.base / "home/.netrc").write_text("hunter2")
    place.secrets = [str(place.base / "home" / name) for name in (".ssh", ".netrc", ".aws")]
    place.filesystem = FilesystemWishes(allow_read=[str(place.base / "home/.aws/shown")])
    assert "hunter2" not in place.run("cat ~/.ssh/* ~/.netrc; ls ~/.ssh; cat ~/.aws/*/../x")
    assert place.run("cat ~/.aws/shown/x") == "hunter2"


def test_a_link_that_a_command_planted_is_not_followed_by_a_file_tool(place: Place) -> None:
    place.run(f"ln -s {place.base}/outside work/way")
    assert (place.ws / "work/way").is_symlink()
    boundary = Boundary((str(place.ws),), TemporaryFolder(str(place.base / "state")))
    with pytest.raises(WorkspaceError):
        replace_file(boundary, str(place.ws / "work/way/x"), lambda _: b"x", limit=100)
    assert list((place.base / "outside").iterdir()) == []


def test_a_folder_of_the_policy_is_not_the_folder_a_command_starts_in(place: Place) -> None:
    place.run("echo x > outside-file; cd /; echo x > also", directory=place.base / "outside")
    assert list((place.base / "outside").iterdir()) == []


def test_allowed_domains_are_refused_where_there_is_no_private_network(folder: Path) -> None:
    place = Place(
        folder, mechanism_named("Landlock", folder / "register"), network=NetworkWishes(allowed_domains=["example.com"])
    )
    with pytest.raises(SandboxUnavailable, match="private network"):
        place.run("echo x > work/x")
    assert list((place.ws / "work").iterdir()) == []


def test_the_whole_machine_is_no_workspace(place: Place) -> None:
    place.filesystem = FilesystemWishes(allow_write=["/"])
    with pytest.raises(SandboxRefused, match="Work in a folder"):
        place.run("true")


def test_a_planted_program_is_never_the_sandbox(wrapped: Place) -> None:
    planted = wrapped.ws / "bwrap"
    shutil.copy("/bin/true", planted)
    assert find_bubblewrap([str(wrapped.ws)]) != str(planted)
    place = Place(wrapped.base, Bubblewrap(str(planted), str(wrapped.base / "register")))
    with pytest.raises(SandboxUnavailable, match="cannot be trusted"):
        place.run("true")


def test_an_installed_package_counts_unless_it_lies_where_commands_write(tmp_path: Path) -> None:
    found = find_bubblewrap(["/"])
    assert found is None


def test_commands_end_with_the_process_that_started_them(wrapped: Place) -> None:
    """After a second: bubblewrap asks for this a moment after the command began. Until then the watchdog sees to it."""
    program = """
import subprocess, sys
from pathlib import Path
from support_sandbox import Place, mechanism_named
place = Place(Path(sys.argv[1]), mechanism_named("bubblewrap", sys.argv[1] + "/register"))
command = ["/bin/bash", "-c", "sleep 1; echo up; sleep 987654 & sleep 987654"]
with place.enclosure.wrap(command, directory=str(place.ws), environment={}) as launch:
    subprocess.run(launch.argv, env=launch.environment, pass_fds=launch.keep)
"""
    runtime = subprocess.Popen(
        [sys.executable, "-c", program, str(wrapped.base)],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runtime.stdout is not None
    assert runtime.stdout.readline() == "up\n"
    runtime.kill()
    rest, _ = runtime.communicate(timeout=60)  # comes to its end only when nobody holds the pipe any more
    assert rest == ""


def test_weaker_sandboxes_still_keep_commands_inside(wrapped: Place) -> None:
    wrapped.weaker = True
    wrapped.run(f"echo x > {wrapped.base}/outside/x; echo y > work/y")
    assert list((wrapped.base / "outside").iterdir()) == []
    assert (wrapped.ws / "work/y").read_text() == "y\n"


def test_a_sandbox_for_the_network_alone_leaves_files_open(wrapped: Place) -> None:
    wrapped.filesystem = FilesystemWishes(disabled=True)
    wrapped.run(f"echo x > {wrapped.base}/outside/x")
    assert (wrapped.base / "outside/x").read_text() == "x\n"


def test_a_listed_unix_socket_can_be_reached_and_no_other_in_run(wrapped: Place) -> None:
    import socket

    paths = [str(wrapped.base / name) for name in ("yes", "no")]
    listeners = [socket.socket(socket.AF_UNIX) for _ in paths]
    try:
        for listener, path in zip(listeners, paths, strict=True):
            listener.bind(path)
            listener.listen()
            listener.setblocking(False)
        wrapped.network = NetworkWishes(unix_sockets=paths[:1])
        wrapped.run(f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{paths[0]}\")'")
        listeners[0].accept()[0].close()
    finally:
        for listener in listeners:
            listener.close()
