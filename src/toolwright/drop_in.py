"""toolwright under the names of the published SDK, for programs and tracers that say `import claude_agent_sdk`.

    import toolwright
    toolwright.install_as_claude_agent_sdk()      # before anything imports claude_agent_sdk

    python -m toolwright.drop_in program.py …     # or without touching the program

Only this process is changed, and nothing on disk. The classes are the same objects as ours under either name.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from email.message import Message
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder, PackageNotFoundError
from importlib.util import module_from_spec
from os import PathLike
from types import ModuleType
from typing import Any

from toolwright._version import COMPATIBLE_SDK_VERSION

NAME = "claude_agent_sdk"
SUBMODULES = {
    "types": "toolwright.types",
    "client": "toolwright.client.client",
    "query": "toolwright.client.query",
    "_errors": "toolwright.types.errors",
    "testing": "toolwright.testing",
    "_internal.message_parser": "toolwright.protocol.parse",
}
"""The original's modules, and ours that hold the same names."""

USAGE = "usage: python -m toolwright.drop_in program.py [argument …]   or: … -m module [argument …]"


def install_as_claude_agent_sdk() -> None:
    """Put this package under the name `claude_agent_sdk`, for the whole process. A second call does nothing.

    Raises RuntimeError if another package was imported under that name before: its classes are already in use.
    """
    present = sys.modules.get(NAME)
    if present is not None:
        if getattr(present, "__toolwright__", False):
            return
        raise RuntimeError(
            f"{NAME} is imported already, from {getattr(present, '__file__', 'somewhere else')}. "
            "Call install_as_claude_agent_sdk() before anything imports it, or run python -m toolwright.drop_in program.py."
        )
    package = _package(NAME)
    _fill(package)
    sys.modules[NAME] = package
    for name, ours in SUBMODULES.items():
        _place(name, import_module(ours))
    version = _package(f"{NAME}._version")
    version.__dict__["__version__"] = COMPATIBLE_SDK_VERSION
    _place("_version", version)
    sys.meta_path.insert(0, _Metadata())


def _package(name: str) -> ModuleType:
    return module_from_spec(ModuleSpec(name, None, is_package=True))


def _fill(package: ModuleType) -> None:
    ours = import_module("toolwright")
    names = [name for name in ours.__all__ if name not in ("__version__", "install_as_claude_agent_sdk")]
    package.__dict__.update({name: getattr(ours, name) for name in names})
    package.__dict__.update(
        __all__=[*names, "__version__"], __version__=COMPATIBLE_SDK_VERSION, __doc__=ours.__doc__, __toolwright__=True
    )


def _place(name: str, module: ModuleType) -> None:
    """As `claude_agent_sdk.name`; a folder above it is made. A function of the same name (query) stays what the name means."""
    above, _, last = f"{NAME}.{name}".rpartition(".")
    if above not in sys.modules:
        _place(above.removeprefix(f"{NAME}."), _package(above))
    sys.modules[f"{above}.{last}"] = module
    vars(sys.modules[above]).setdefault(last, module)


class _Release(Distribution):
    """What the installed release is called: tracers look it up before they begin."""

    def read_text(self, filename: str) -> str | None:
        head = Message()
        head["Metadata-Version"], head["Name"], head["Version"] = "2.1", "claude-agent-sdk", COMPATIBLE_SDK_VERSION
        return head.as_string() if filename == "METADATA" else None

    def locate_file(self, path: str | PathLike[str]) -> Any:
        raise PackageNotFoundError(f"claude-agent-sdk is toolwright here; it has no file {os.fspath(path)}")


class _Metadata(DistributionFinder):
    """Answers `importlib.metadata.version("claude-agent-sdk")`; finds no modules."""

    def find_spec(self, *_: object, **__: object) -> None:
        return None

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008 — the signature of the base
    ) -> Iterator[Distribution]:
        if context.name is None or context.name.lower().replace("_", "-") == "claude-agent-sdk":
            yield _Release()


def main(arguments: Sequence[str]) -> int:
    """Run a program (or, with -m, a module) that imports the original's names."""
    by_name, rest = (True, arguments[1:]) if arguments[:1] == ["-m"] else (False, arguments)
    if not rest or (rest[0].startswith("-") and not by_name):
        print(USAGE, file=sys.stderr)
        return 0 if rest and rest[0] in ("-h", "--help") else 2
    if not by_name and not os.path.exists(rest[0]):
        print(f"toolwright.drop_in: there is no file {rest[0]}", file=sys.stderr)
        return 2
    install_as_claude_agent_sdk()
    sys.argv = list(rest)
    sys.path[0] = os.getcwd() if by_name else os.path.dirname(os.path.abspath(rest[0]))
    if by_name:
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
