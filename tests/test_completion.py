"""What an editor and IPython offer after a name of ours: both ask jedi, which reads the source and runs nothing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import jedi
import pytest

SOURCE = Path(__file__).parents[1] / "src"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jedi.settings, "cache_directory", str(tmp_path))


def script(code: str) -> jedi.Script:
    return jedi.Script(code, project=jedi.Project(SOURCE, smart_sys_path=False, added_sys_path=[str(SOURCE)]))


@pytest.mark.parametrize("package", ["toolwright", "toolwright.types", "toolwright.testing", "toolwright.permissions"])
@pytest.mark.parametrize("code", ["from {} import ", "import {0}\n{0}."])
def test_every_public_name_is_offered(package: str, code: str) -> None:
    offered = {completion.name for completion in script(code.format(package)).complete()}
    assert set(import_module(package).__all__) - offered == set()


@pytest.mark.parametrize(("name", "parameter"), [("ClaudeAgentOptions", "allowed_tools"), ("query", "prompt")])
def test_the_parameters_of_what_was_imported_are_shown(name: str, parameter: str) -> None:
    (signature,) = script(f"from toolwright import {name}\n{name}(").get_signatures()
    assert parameter in [each.name for each in signature.params]
