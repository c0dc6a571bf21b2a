"""Every async test runs on asyncio and on trio; property tests have no deadline, because machines are busy."""

import pytest
from hypothesis import settings

settings.register_profile("unhurried", deadline=None, max_examples=60)
settings.load_profile("unhurried")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["Landlock", "bubblewrap"])
def mechanism(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What holds the cage in this test; skipped where it cannot."""
    from toolwright.sandbox.cage import selection  # only tests of the cage need it

    name: str = request.param
    monkeypatch.setenv(selection.VARIABLE, name.lower())
    if selection.cage_mechanism() is None:
        pytest.skip(f"{name} cannot hold the cage on this machine")
    return name
