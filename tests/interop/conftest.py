"""Conversations with published packages. A package that is missing is a failure here, never a skip."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the folder's own support modules


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    from published import without_settings_from_outside  # can be found only now

    without_settings_from_outside(monkeypatch)


@pytest.fixture
def anyio_backend() -> str:
    """What is told apart here is the process at the other end; the files that say `BOTH_BACKENDS` run on trio as well."""
    return "asyncio"
