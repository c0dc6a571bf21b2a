"""What commands may read of a home: by list, without what lies beside programs of secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolwright.sandbox.home_places import is_home, places_of_home, readable_of_home


def made(home: Path, *names: str) -> None:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)


def readable(home: Path, name: str) -> bool:
    path = str((home / name).resolve())
    return any(path == place or path.startswith(f"{place}/") for place in readable_of_home(str(home)))


def test_toolchains_and_caches_are_readable_as_far_as_they_are_there(tmp_path: Path) -> None:
    made(tmp_path, ".pyenv/shims/python", ".cargo/bin/cargo", ".m2/repository/a.jar", ".cache/uv/x", ".local/bin/tool")
    assert readable_of_home(str(tmp_path)) == tuple(
        str(tmp_path / name) for name in (".pyenv", ".cache/uv", ".cargo/bin", ".m2/repository", ".local/bin")
    )


@pytest.mark.parametrize(
    ("beside", "secret"),
    [
        (".cargo/bin/cargo", ".cargo/credentials.toml"),
        (".cargo/registry/index", ".cargo/config.toml"),
        (".m2/repository/a.jar", ".m2/settings.xml"),
        (".gradle/caches/modules-2/a.jar", ".gradle/gradle.properties"),
        (".gradle/caches/8.5/fileHashes/x", ".gradle/caches/8.5/cc-keystore/gradle.keystore"),
        (".npm/_cacache/index", ".npm/_logs/debug.log"),
        (".local/share/uv/tools/x", ".local/share/uv/credentials/credentials.toml"),
        (".rye/shims/python", ".rye/credentials"),
        (".nvm/versions/node/v22/bin/node", ".nvm/versions/node/v22/etc/npmrc"),
        (".pyenv/versions/3.12/bin/python", ".pyenv/versions/3.12/pip.conf"),
        ("miniconda3/envs/a/bin/python", "miniconda3/envs/a/.condarc"),
        (".opam/default/bin/ocaml", ".opam/log/build.env"),
        ("go/pkg/mod/example.com/a.go", "go/pkg/mod/cache/vcs/0a/config"),
        (".cabal/store/x", ".cabal/config"),
        (".julia/packages/x", ".julia/servers/pkg/auth.toml"),
        (".cache/huggingface/hub/model", ".cache/huggingface/token"),
        (".dotnet/tools/x", ".dotnet/corefx/cryptography/x509stores/my/key.pfx"),
        (".hex/packages/x", ".hex/hex.config"),
        (".bun/install/cache/x", ".bunfig.toml"),
        (".pub-cache/hosted/x", ".pub-cache/credentials.json"),
    ],
)
def test_secrets_beside_programs_are_not_readable(tmp_path: Path, beside: str, secret: str) -> None:
    made(tmp_path, beside, secret)
    assert readable(tmp_path, beside)
    assert not readable(tmp_path, secret)


def test_caches_of_downloads_can_be_read_but_are_nothing_for_a_sandbox(tmp_path: Path) -> None:
    made(tmp_path, ".npm/_cacache/x", ".cache/pip/x", ".cargo/bin/cargo")
    assert readable(tmp_path, ".npm/_cacache/x")
    assert [place.at for place in places_of_home(str(tmp_path), caches=False)] == [str(tmp_path / ".cargo/bin")]


def test_a_place_that_is_a_link_is_named_where_it_is_looked_for_and_where_it_is(tmp_path: Path) -> None:
    home = tmp_path / "home"
    made(tmp_path, "elsewhere/bin/python", "home/file")
    (home / ".pyenv").symlink_to(tmp_path / "elsewhere")
    (place,) = places_of_home(str(home))
    assert (place.at, place.real) == (str(home / ".pyenv"), str(tmp_path / "elsewhere"))


def test_links_in_a_place_that_is_named_part_by_part_stay_links(tmp_path: Path) -> None:
    made(tmp_path, ".pyenv/versions/3.12.1/bin/python", ".pyenv/versions/3.12.1/pip.conf")
    (tmp_path / ".pyenv/versions/3.12").symlink_to("3.12.1")
    links = {place.at: place.link for place in places_of_home(str(tmp_path)) if place.link}
    assert links == {str(tmp_path / ".pyenv/versions/3.12"): "3.12.1"}
    assert str(tmp_path / ".pyenv/versions/3.12") not in readable_of_home(str(tmp_path))


def test_a_link_to_the_home_itself_lets_nothing_in(tmp_path: Path) -> None:
    (tmp_path / "bin").symlink_to(".")
    (tmp_path / ".pyenv").symlink_to("/")
    assert readable_of_home(str(tmp_path)) == ()


@pytest.mark.parametrize("home", ["/", "/usr", "/usr/sbin", "/etc", "/nonexistent", "/home", "/var", "", "/dev/null"])
def test_a_folder_of_the_system_is_no_home(home: str) -> None:
    assert not is_home(home)
    assert readable_of_home(home) == ()
