"""All settings of a session, read once when it starts: which files, in which order, how far trusted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from msgspec import Struct

from toolwright.settings.locations import SettingsLocations, read_text
from toolwright.settings.trust import TrustStore, fingerprint, folder_files
from toolwright.settings.values import OF_THE_FOLDER, PRECEDENCE, Origin, Settings
from toolwright.types import OptionsError

SOURCES = ("user", "project", "local")


class LoadedSettings(Struct, frozen=True):
    """What all settings say together, and whether the folder is trusted (looked up when asked)."""

    settings: Settings
    is_trusted: Callable[[], bool]


class FolderTrust(Struct, frozen=True):
    """Whether the folder is trusted, looked up when asked: most sessions never ask."""

    where: SettingsLocations
    files: list[tuple[Origin, str]] | None
    """Its settings files, if all of them have been read."""
    explicitly: bool

    def __call__(self) -> bool:
        return self.explicitly or TrustStore(self.where.config[0]).holds(self.where.cwd, self._fingerprint())

    def _fingerprint(self) -> str:
        return fingerprint(self.files if self.files is not None else folder_files(self.where))


def load(
    where: SettingsLocations,
    *,
    inline: str | None = None,
    of_parent: str | None = None,
    sources: Sequence[str] | None = None,
    trusted: bool = False,
) -> LoadedSettings:
    """Read everything. `sources` None means all; managed and inline settings are always read. Raises `OptionsError`.

    `of_parent` is a policy that the program which starts us hands over (JSON text). The machine's own, if there is one, stands
    in its place.
    """
    wanted = {"managed", *(SOURCES if sources is None else sources)}
    files = [(origin, text) for origin in where.files(wanted) if (text := read_text(origin.path)) is not None]
    of_folder = [(origin, text) for origin, text in files if origin.scope in OF_THE_FOLDER]

    is_trusted = FolderTrust(where, of_folder if wanted >= OF_THE_FOLDER else None, trusted)
    if of_parent and not any(origin.scope == "managed" for origin, _ in files):
        files.append((Origin("managed", "managed settings of the starting program"), of_parent))
    if not files and not inline:
        return LoadedSettings(NOTHING, is_trusted)
    from toolwright.settings.together import together  # how settings are read: for sessions that have some

    texts = sorted([*files, *([_inline(inline, where.cwd)] if inline else ())], key=_rank)
    return LoadedSettings(together(texts, trusted=not of_folder or is_trusted()), is_trusted)


NOTHING = Settings()


def _rank(pair: tuple[Origin, str]) -> int:
    return PRECEDENCE.index(pair[0].scope)


def _inline(given: str, cwd: str) -> tuple[Origin, str]:
    if given.lstrip("\ufeff \t\r\n").startswith("{"):
        return Origin("inline", "settings"), given
    path = os.path.join(cwd, os.path.expanduser(given))
    text = read_text(path)
    if text is None:
        raise OptionsError(f"settings: cannot read {given!r}: there is no such file (it is neither a path nor JSON)"[:500])
    return Origin("inline", path, base=os.path.realpath(os.path.dirname(path))), text
