"""Conversations with published packages. A package that is missing is a failure here, never a skip."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the folder's own support modules


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    from published import without_settings_from_outside  # needs the published package, and only the tests do

    without_settings_from_outside(monkeypatch)


@pytest.fixture(scope="session", autouse=True)
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hundreds of processes are started here: let them compile the package once, wherever it is installed."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(scope="module", autouse=True)
def nothing_left_for_later() -> Iterator[None]:
    """What a module leaves to the garbage collector is its own matter, not that of the next one."""
    yield
    gc.collect()


@pytest.fixture
def anyio_backend() -> str:
    """What is told apart here is the process at the other end; the files that say `BOTH_BACKENDS` run on trio as well."""
    return "asyncio"
