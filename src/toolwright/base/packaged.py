"""Finds the programs that were installed with us as Python packages: ripgrep, shfmt, bubblewrap.

Never on PATH, and never by a package that lies in the working directory or beside the script that was started, where anyone
could plant one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackagePath


def packaged_program(package: str, *names: str) -> str | None:
    """Returns the absolute path of the program that `package` brings; None if there is none that can be run."""
    for file in _files_of(package):
        if file.name in names:
            for path in _places_of(file):
                if os.access(path, os.X_OK) and file.size in (None, os.stat(path).st_size):
                    return path
    return None


def _files_of(package: str) -> list[PackagePath]:
    found = next(iter(Distribution.discover(name=package, path=package_folders())), None)
    return [] if found is None else found.files or []


def _places_of(file: PackagePath) -> Iterator[str]:
    """Where it may lie: `pip install --target` puts programs beside the packages and notes another place."""
    yield os.path.realpath(str(file.dist.locate_file(f"bin/{file.name}")))
    yield os.path.realpath(str(file.locate()))


def package_folders() -> list[str]:
    """Returns the folders that packages were installed to: those of `sys.path`, but for the working directory or the script's
    own, and in any case the one that a package we depend on was loaded from."""
    import msgspec

    own = os.path.dirname(os.path.dirname(os.path.abspath(msgspec.__file__)))
    untrusted = _folder_of_script()
    return list(dict.fromkeys((own, *(path for path in sys.path if os.path.isabs(path) and not _is_same(path, untrusted)))))


def _folder_of_script() -> tuple[str, ...]:
    first = () if sys.flags.safe_path or not sys.path else (sys.path[0],)
    try:
        return (*first, os.getcwd())
    except FileNotFoundError:  # the working directory is gone
        return first


def _is_same(path: str, others: tuple[str, ...]) -> bool:
    return any(os.path.realpath(path) == os.path.realpath(other) for other in others)
