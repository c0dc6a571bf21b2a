"""Conversations with published packages. A package that is missing is a failure here, never a skip."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the folder's own support modules

OTHERS = ("ANTHROPIC_", "CLAUDE", "OPENAI_", "TOOLWRIGHT_")


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the person running the tests has set for models, keys and proxies must not reach them."""
    for name in list(os.environ):
        if name.startswith(OTHERS) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def anyio_backend() -> str:
    """What is told apart here is the process at the other end; the files that say `BOTH_BACKENDS` run on trio as well."""
    return "asyncio"
