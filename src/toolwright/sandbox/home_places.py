"""What commands may read of a person's home: toolchains, their downloads and plain preferences. Everything else is absent.

The list is data and says what is let in; a secret needs no mention here. Where a program keeps its secrets beside its
programs, only the folders of programs are listed, and what lies deeper still is listed as left out. Nothing is written here,
and nothing is started.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache

from toolwright.sandbox.policy import HomePlace, is_within

_PYTHON = """.pyenv .virtualenvs .local/share/virtualenvs .local/lib .local/pipx .local/share/pipx .local/share/uv/python
    .local/share/uv/tools .local/share/pdm/venvs .local/share/hatch/env .local/share/hatch/pythons .rye/shims .rye/py .rye/self
    .rye/tools .rye/uv .cache/uv .cache/pypoetry/virtualenvs miniconda3 anaconda3 miniforge3 mambaforge micromamba
    .conda/envs .conda/pkgs .pixi/bin .pixi/envs Library/Python"""
_NODE = """.nvm .nodenv .volta .fnm .local/share/fnm .n n .npm-global .npm-packages .npm/_npx .yarn/bin
    .yarn/berry/cache .config/yarn/global .local/share/pnpm .pnpm-store .bun/bin .bun/install .deno/bin Library/pnpm"""
_RUST_AND_GO = ".rustup .cargo/bin .cargo/registry .cargo/git .cargo/env go/bin go/pkg .goenv .gvm sdk"
_JVM = """.sdkman .jenv .jabba .jdks .m2/repository .m2/wrapper .gradle/wrapper .gradle/caches .gradle/jdks .gradle/native
    .ivy2/cache .ivy2/local .sbt/boot .sbt/1.0/plugins .konan .local/share/coursier Android/Sdk Library/Android/sdk"""
_OTHER_LANGUAGES = """.rbenv .rvm .gem/ruby .local/share/gem .juliaup .julia/juliaup .julia/packages .julia/artifacts
    .julia/compiled .julia/registries .julia/environments .ghcup .cabal/bin .cabal/packages .cabal/store
    .stack/programs .stack/snapshots .stack/pantry .opam .dotnet/dotnet .dotnet/host .dotnet/packs .dotnet/sdk .dotnet/shared
    .dotnet/tools .nuget/packages .pub-cache/bin .pub-cache/hosted .pub-cache/global_packages fvm/versions
    .composer/vendor .config/composer/vendor .phpenv
    .plenv .perlbrew perl5 .luarocks/bin .luarocks/lib .luarocks/share .mix/archives .mix/elixir .hex/packages .elan .swiftly
    .foundry/bin .nimble/bin .nimble/pkgs .nimble/pkgs2 .zvm"""
_OF_ANY_KIND = """.asdf .local/share/mise/installs .local/share/mise/shims .local/share/mise/plugins .local/bin bin .nix-profile
    .local/state/nix/profiles .linuxbrew .krew .tfenv .tgenv .terraform.d/plugins .terraform.d/plugin-cache .fzf .terminfo"""
_CACHES = """.npm/_cacache .cache/pip .cache/pdm .cache/pre-commit .cache/go-build .cache/ccache .ccache .cache/yarn
    .cache/pnpm .cache/node .cache/deno .cache/bazelisk .cache/coursier .cache/composer/files .cache/zig .cache/ms-playwright
    .cache/puppeteer .cache/Cypress .cache/selenium .cache/electron .cache/huggingface/hub .cache/torch .cache/dune
    Library/Caches/pip Library/Caches/uv Library/Caches/pypoetry Library/Caches/go-build Library/Caches/ms-playwright"""
_PREFERENCES = """.config/git/ignore .config/git/attributes .gitignore_global .gitignore .gitattributes .editorconfig .asdfrc
    .tool-versions .python-version .node-version .nvmrc .ruby-version .java-version"""
_PLACES = tuple(" ".join((_PYTHON, _NODE, _RUST_AND_GO, _JVM, _OTHER_LANGUAGES, _OF_ANY_KIND, _PREFERENCES)).split())
_PLACES_AND_CACHES = (*_PLACES, *_CACHES.split())
_LEFT_OUT = """.opam/log go/pkg/mod/cache/vcs .gradle/caches/*/cc-keystore .sdkman/tmp .sdkman/var
    .nvm/versions/node/*/etc/npmrc .nodenv/versions/*/etc/npmrc .volta/tools/image/node/*/etc/npmrc .npm-global/etc/npmrc
    .npm-packages/etc/npmrc .asdf/installs/nodejs/*/etc/npmrc .local/share/mise/installs/node/*/etc/npmrc n/etc/npmrc
    .local/share/fnm/node-versions/*/installation/etc/npmrc .fnm/node-versions/*/installation/etc/npmrc
    .pyenv/versions/*/pip.conf .virtualenvs/*/pip.conf .local/share/virtualenvs/*/pip.conf
    .cache/pypoetry/virtualenvs/*/pip.conf .local/pipx/logs .local/share/pipx/logs .conda/envs/*/pip.conf
    .composer/vendor/auth.json
    miniconda3/pip.conf miniconda3/.condarc miniconda3/envs/*/pip.conf miniconda3/envs/*/.condarc
    anaconda3/pip.conf anaconda3/.condarc anaconda3/envs/*/pip.conf anaconda3/envs/*/.condarc
    miniforge3/pip.conf miniforge3/.condarc miniforge3/envs/*/pip.conf miniforge3/envs/*/.condarc
    mambaforge/pip.conf mambaforge/.condarc mambaforge/envs/*/pip.conf mambaforge/envs/*/.condarc
    micromamba/.condarc micromamba/envs/*/pip.conf""".split()  # noqa: SIM905 — a word list reads better
"""Secrets that such a place may hold: logs with variables, settings of package managers with tokens, clones with passwords."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/boot", "/dev", "/proc", "/sys")
_NO_HOMES = ("/", "/home", "/Users", "/mnt", "/media", "/nix", "/opt", "/private", "/run", "/srv", "/tmp", "/var", "/var/tmp")

_Pattern = tuple[str, ...]


def is_home(home: str) -> bool:
    """Whether `home`, a real path, is a person's folder, not one that the whole system needs (`HOME=/` of a daemon)."""
    is_system = home in _NO_HOMES or any(is_within(home, folder) for folder in _SYSTEM)
    return home.startswith("/") and not is_system and os.path.isdir(home)


def readable_of_home(home: str) -> tuple[str, ...]:
    """The real paths of what commands may read in a home, as far as it is there."""
    return tuple(dict.fromkeys(place.real for place in places_of_home(home) if not place.link))


def places_of_home(home: str, *, caches: bool = True) -> tuple[HomePlace, ...]:
    """What commands may read in a home, as far as it is there.

    Without `caches` of downloads: programs take hardly one that they cannot write to, and a sandbox gives them another.
    """
    home = os.path.realpath(home) if home else ""
    if not is_home(home):
        return ()
    top = _names(home)
    places = [
        place
        for name in (_PLACES_AND_CACHES if caches else _PLACES)
        if name.partition("/")[0] in top
        for place in _kept(home, name)
    ]
    return (*places, *_own_interpreter(home, places))


def _kept(home: str, name: str) -> Iterator[HomePlace]:
    path = f"{home}/{name}"
    if not os.access(path, os.R_OK):
        return
    real = os.path.realpath(path)
    if not is_within(home, real):  # a link to the home itself, or above it, would let all of it in
        yield from _without(path, real, _left_out(name))


@lru_cache(maxsize=512)
def _left_out(name: str) -> tuple[_Pattern, ...]:
    start = f"{name}/"
    return tuple(tuple(each[len(start) :].split("/")) for each in _LEFT_OUT if each.startswith(start))


def _own_interpreter(home: str, places: Sequence[HomePlace]) -> Iterator[HomePlace]:
    """The Python that runs us, and its virtual environment: it is most likely the one that commands find first."""
    for prefix in dict.fromkeys(os.path.realpath(each) for each in (sys.prefix, sys.base_prefix)):
        is_new = is_within(prefix, home) and prefix != home and not any(is_within(prefix, place.real) for place in places)
        if is_new:
            yield from _without(prefix, prefix, (("pip.conf",),))


def _without(at: str, real: str, patterns: Sequence[_Pattern]) -> Iterator[HomePlace]:
    """A place as a whole, or name by name where something in it is left out."""
    there = [pattern for pattern in patterns if _is_there(real, pattern)]
    if not there:
        yield HomePlace(at, real)
        return
    for name in sorted(_names(real)):
        inner = [pattern[1:] for pattern in there if pattern[0] in ("*", name)]
        if () in inner:
            continue
        path = f"{real}/{name}"
        if os.path.islink(path):
            yield HomePlace(f"{at}/{name}", path, os.readlink(path))
        else:
            yield from _without(f"{at}/{name}", path, inner)


def _is_there(folder: str, pattern: _Pattern) -> bool:
    if not pattern:
        return True
    if pattern[0] != "*":
        path = f"{folder}/{pattern[0]}"
        return os.path.lexists(path) and _is_there(path, pattern[1:])
    return any(_is_there(f"{folder}/{name}", pattern[1:]) for name in _names(folder))


def _names(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()
