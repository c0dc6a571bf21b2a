"""Who has trusted which folder: a private file that only a person's own command or flag adds to.

Trust is given to a folder by its real path together with what its settings say: when a pull or an agent changes them, it has
to be given anew. No repository, worktree or parent folder passes trust on.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from typing import Any

from toolwright.base.locked_folder import locked_folder
from toolwright.settings.locations import SettingsLocations, read_text
from toolwright.settings.values import OF_THE_FOLDER, Origin
from toolwright.types import OptionsError

STORE = "toolwright-trust.json"


def fingerprint(files: Iterable[tuple[Origin, str]]) -> str:
    """Of the folder's settings: names and texts. Two that say the same differ in nothing that could run."""
    import hashlib  # loads a library; only folders with settings need it

    digest = hashlib.sha256()
    for path, text in sorted((origin.path, text) for origin, text in files):
        for part in (os.path.basename(os.path.dirname(path)), os.path.basename(path), text):
            encoded = part.encode()
            digest.update(b"%d:" % len(encoded) + encoded)
    return digest.hexdigest()


def folder_files(where: SettingsLocations) -> list[tuple[Origin, str]]:
    """The files of the folder that could make something run, with their texts."""
    return [(origin, text) for origin in where.files(OF_THE_FOLDER) if (text := read_text(origin.path)) is not None]


class TrustStore:
    """The file of trusted folders in the user's configuration."""

    __slots__ = ("_folder", "path")

    def __init__(self, config: str) -> None:
        self._folder = config
        self.path = os.path.join(config, STORE)

    def holds(self, folder: str, mark: str) -> bool:
        """Whether this folder, saying exactly this, was trusted. A store that is broken, or open to others, holds nothing."""
        try:
            return self._read().get(os.path.realpath(folder)) == mark
        except (OSError, ValueError):
            return False

    def grant(self, folder: str, mark: str) -> None:
        self._change(os.path.realpath(folder), mark)

    def revoke(self, folder: str) -> None:
        self._change(os.path.realpath(folder), None)

    def renew(self, folder: str, before: str, after: str) -> None:
        """Carry trust over a change that a person has just made through us."""
        if before != after and self.holds(folder, before):
            self.grant(folder, after)

    def _change(self, folder: str, mark: str | None) -> None:
        try:
            with locked_folder(self._folder, private=True) as place:
                folders = self._read()
                folders.pop(folder, None)
                if mark is not None:
                    folders[folder] = mark
                text = json.dumps({"version": 1, "folders": folders}, indent=2, ensure_ascii=False) + "\n"
                place.replace(STORE, text.encode("utf-8", "surrogateescape"), mode=0o600)
        except (OSError, ValueError) as error:
            raise OptionsError(f"{self.path}: the trust of {folder} could not be kept: {error}") from None

    def _read(self) -> dict[str, str]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return {}
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise ValueError("it is not a file that only its owner can write")
            with open(descriptor, encoding="utf-8", errors="surrogateescape", closefd=False) as file:
                return _folders(json.load(file))
        finally:
            os.close(descriptor)


def _folders(value: Any) -> dict[str, str]:
    folders = value.get("folders") if isinstance(value, dict) else None
    if not isinstance(folders, dict):
        raise ValueError("it does not hold a list of folders")
    return {str(folder): str(mark) for folder, mark in folders.items()}
