"""Keys of model servers in a file of the user's that nobody else can read (0600), by the server that each was given for."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping

from toolwright.base.locked_folder import locked_folder
from toolwright.models.registry import kept_key_name

NAME = "model-keys.json"


class KeptKeys(Mapping[str, str]):
    """The keys that `toolwright login` kept, by `kept_key_name`. Read when one is looked for, not before."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @property
    def path(self) -> str:
        return os.path.join(self._folder, NAME)

    def __getitem__(self, name: str) -> str:
        if "://" not in name:  # a variable of the environment
            raise KeyError(name)
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def put(self, server: str, key: str | None) -> None:
        """Keep the key of a server, or with None forget it. Raises `OSError`."""
        with locked_folder(self._folder, private=True) as folder:
            kept = self._read()
            kept.pop(kept_key_name(server), None)
            if key is not None:
                kept[kept_key_name(server)] = key
            folder.replace(NAME, json.dumps(kept, indent=1).encode(), mode=0o600)

    def _read(self) -> dict[str, str]:
        """A file that somebody else could read or could have written holds no keys."""
        try:
            with open(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid != os.geteuid():
                    return {}
                read = json.loads(file.read(1024 * 1024))
        except (OSError, ValueError):
            return {}
        return {name: key for name, key in read.items() if isinstance(key, str)} if isinstance(read, dict) else {}
