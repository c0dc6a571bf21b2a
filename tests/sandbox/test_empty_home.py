"""Of a home full of secrets a sandboxed command reads none: with each mechanism, as root and as another user."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_home import NEEDED, SECRETS, plant
from support_sandbox import NOBODY, Place, mechanism_named, visible_folder
from toolwright.sandbox.backends.landlock import Landlocked
from toolwright.sandbox.backends.seatbelt import profile
from toolwright.sandbox.policy import FilesystemWishes, NetworkWishes, SandboxPolicy, sandbox_rules
from toolwright.sandbox.resolve_policy import survey

USERS = ("this user", "another user")
READ_ALL = (
    'cd ~; while read -r name; do cat "$name"; done < "$WS/names"; grep -rs . ~; find ~ -type f -exec cat {} +; tar cf - ~'
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with visible_folder() as path:
        yield path


class Held:
    """A workspace beside a planted home, for a mechanism and a user."""

    def __init__(self, folder: Path, name: str, user: str) -> None:
        if user == "another user" and os.geteuid() != 0:
            pytest.skip("only root can become another user")
        self.uid = NOBODY if user == "another user" else os.geteuid()
        self.token = secrets.token_hex(12)
        mechanism = mechanism_named(name, folder / "register")
        if name == "Landlock" and self.uid != os.geteuid():
            mechanism = Landlocked(interpreter="/usr/bin/python3")
        self.place = Place(folder, mechanism)
        self.home = folder / "home"
        plant(self.home, self.token, owner=self.uid)
        (self.place.ws / "names").write_text("".join(f"{name}\n" for name in (*SECRETS, *NEEDED)))
        for path in (self.place.ws, self.place.ws / "work", folder / "private", *(folder / "private").iterdir()):
            os.chown(path, self.uid, self.uid)

    def start(self, command: str) -> Iterator[subprocess.Popen[str]]:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "WS": str(self.place.ws), "LC_ALL": "C.UTF-8"}
        argv = ["/bin/bash", "--norc", "-c", command]
        identity = {"user": self.uid, "group": self.uid, "extra_groups": []} if self.uid != os.geteuid() else {}
        with self.place.enclosure.wrap(argv, directory=str(self.place.ws), environment=environment) as launch:
            yield subprocess.Popen(
                launch.argv,
                env=launch.environment,
                pass_fds=launch.keep,
                cwd=self.place.ws,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                **identity,  # type: ignore[call-overload]  # none at all for ourselves
            )

    def run(self, command: str) -> str:
        said = ""
        for process in self.start(command):
            said = process.communicate(timeout=120)[0]
        return said

    def leaked(self, said: str) -> list[str]:
        return [line for line in said.splitlines() if self.token in line]


@pytest.fixture(params=[(name, user) for name in ("bubblewrap", "Landlock") for user in USERS], ids="-".join)
def held(folder: Path, request: pytest.FixtureRequest) -> Held:
    return Held(folder, *request.param)


def test_there_are_enough_secrets_to_show_something() -> None:
    assert len(set(SECRETS)) == len(SECRETS) >= 250


def test_no_secret_of_a_home_can_be_read_and_what_work_needs_can(held: Held) -> None:
    said = held.run(READ_ALL)
    assert held.leaked(said) == []
    assert [name for name in NEEDED if f"fine {name}\n" not in said] == []


def test_a_secret_that_a_program_replaces_while_a_command_runs_stays_out_of_its_sight(held: Held) -> None:
    said = ""
    for process in held.start(f"touch work/ready; until [ -e work/go ]; do sleep 0.02; done; {READ_ALL}"):
        deadline = time.monotonic() + 60
        while not (held.place.ws / "work/ready").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for name in SECRETS:
            new = held.home / f"{name}.new"
            new.write_text(f"{held.token} {name}, new\n")
            os.chown(new, held.uid, held.uid)
            os.rename(new, held.home / name)
        (held.place.ws / "work/go").touch()
        said = process.communicate(timeout=120)[0]
    assert held.leaked(said) == []
    assert "fine .cargo/bin/cargo" in said


def test_nothing_is_written_to_a_home(held: Held) -> None:
    before = sorted(str(path) for path in held.home.rglob("*"))
    held.run("touch ~/new; mkdir ~/.ssh ~/.local/x; echo x > ~/.local/bin/tool; echo x >> ~/.bashrc; rm -rf ~/.cargo ~/.ssh")
    assert sorted(str(path) for path in held.home.rglob("*")) == before
    assert (held.home / ".local/bin/tool").read_text() == "fine .local/bin/tool\n"
    assert held.token in (held.home / ".bashrc").read_text()


def test_git_knows_who_commits_but_no_credentials(held: Held) -> None:
    (held.home / ".gitconfig").write_text(f"[user]\n name = Ada\n[http]\n extraHeader = {held.token}\n")
    (held.home / ".config/git/config").write_text("")
    said = held.run(
        "git config user.name; git config --list; git init -q work/r && cd work/r && git status --short && echo done"
    )
    assert said.startswith("Ada\n")
    assert said.endswith("done\n")
    assert held.leaked(said) == []


@pytest.mark.parametrize("name", ["bubblewrap", "Landlock"])
def test_working_folders_and_what_settings_add_are_there(folder: Path, name: str) -> None:
    place = Place(folder, mechanism_named(name, folder / "register"))
    home = folder / "home"
    plant(home, "hunter2")
    project = home / "projects/app"
    for path in (project / "src", home / "data", home / "out"):
        path.mkdir(parents=True)
    (home / "data/x").write_text("data")
    rules = sandbox_rules(
        str(project),
        [],
        home=str(home),
        secrets=(),
        filesystem=FilesystemWishes(allow_read=["~/data", "~/.gitconfig"], allow_write=["~/out"]),
        network=NetworkWishes(),
    )
    enclosure = place.enclosure
    enclosure._rules = lambda: rules
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    command = (
        "cat ~/data/x; echo a > src/a; echo b > ~/out/b; cat ~/.gitconfig; cat ~/.ssh/* ~/notes.txt ../../.netrc; ls ~/.aws"
    )
    with enclosure.wrap(["/bin/bash", "-c", command], directory=str(project), environment=environment) as launch:
        done = subprocess.run(
            launch.argv, env=launch.environment, pass_fds=launch.keep, cwd=project, capture_output=True, text=True, timeout=60
        )
    assert done.stdout.startswith("data")
    assert done.stdout.count("hunter2") == 1  # in the file that the settings name
    assert (project / "src/a").read_text() + (home / "out/b").read_text() == "a\nb\n"


def home_policy(home: Path, ws: Path) -> SandboxPolicy:
    rules = sandbox_rules(str(ws), [], home=str(home), secrets=(), filesystem=FilesystemWishes(), network=NetworkWishes())
    return survey(rules)


def test_a_home_that_is_itself_the_working_folder_is_not_emptied(tmp_path: Path) -> None:
    assert home_policy(tmp_path, tmp_path).homes == ()
    (tmp_path / "home/project").mkdir(parents=True)
    assert [home.path for home in home_policy(tmp_path / "home", tmp_path / "home/project").homes] == [str(tmp_path / "home")]
    assert home_policy(tmp_path / "home", tmp_path).homes == ()


def test_a_place_that_is_a_link_can_be_reached_where_it_is_looked_for(folder: Path) -> None:
    place = Place(folder, mechanism_named("bubblewrap", folder / "register"))
    home = folder / "home"
    for path in (folder / "opt/pyenv/bin", home / "dotfiles/local/bin", home / ".nvm"):
        path.mkdir(parents=True)
        (path / "tool").write_text(f"{path.name}\n")
    (home / ".pyenv").symlink_to(folder / "opt/pyenv")
    (home / ".local").symlink_to("dotfiles/local")
    (home / "dotfiles/secret").write_text("hunter2")
    assert place.run("cat ~/.pyenv/bin/tool ~/.local/bin/tool ~/.nvm/tool; cat ~/dotfiles/secret 2>&1") == (
        f"bin\nbin\n.nvm\ncat: {home}/dotfiles/secret: No such file or directory\n"
    )


def test_a_deny_rule_holds_behind_such_a_link(folder: Path) -> None:
    place = Place(folder, mechanism_named("bubblewrap", folder / "register"))
    (folder / "opt/pyenv").mkdir(parents=True)
    (folder / "opt/pyenv/secret").write_text("hunter2")
    (folder / "home/.pyenv").symlink_to(folder / "opt/pyenv")
    place.filesystem = FilesystemWishes(deny_read=[str(folder / "opt/pyenv/secret")])
    assert "hunter2" not in place.run(f"cat ~/.pyenv/secret {folder}/opt/pyenv/secret")


def test_the_home_of_the_user_that_commands_run_as_is_what_they_see(tmp_path: Path) -> None:
    for name in ("mine", "theirs", "ws"):
        (tmp_path / name / ".local/bin").mkdir(parents=True)
    rules = sandbox_rules(
        str(tmp_path / "ws"),
        [],
        home=str(tmp_path / "mine"),
        commands_home=str(tmp_path / "theirs"),
        secrets=(),
        filesystem=FilesystemWishes(),
        network=NetworkWishes(),
    )
    homes = {home.path: [place.at for place in home.places] for home in survey(rules).homes}
    assert homes == {str(tmp_path / "theirs"): [str(tmp_path / "theirs/.local/bin")], str(tmp_path / "mine"): []}


def test_a_seatbelt_profile_shows_of_a_home_only_what_is_listed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in (".local/bin", "project"):
        (home / name).mkdir(parents=True)
    text = profile(home_policy(home, home / "project"), str(tmp_path / "private"))
    denied, passed, shown = (
        f'(deny file-read* (subpath "{home}"))',
        f'(allow file-read-metadata (literal "{home}") (literal "{home}/.local"))',
        f'(allow file-read* (subpath "{home}/.local/bin") (subpath "{home}/project"))',
    )
    assert text.index(denied) < text.index(passed) < text.index(shown)
