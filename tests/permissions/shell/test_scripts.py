"""Scripts of sed that are said to only look, run by sed itself: no file comes to be, no command runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.permissions.shell.scripts import sed_only_looks

PIECES = [
    *("s/a/b/", "s|a|b|g", "s,[,],x,", "s/[/]/x/", "s/\\//x/", "y/a/b/", "/x/", "\\,x,", "1", "$", "1,2", "0~2", "!", "p", "d"),
    *(
        "g",
        "p",
        "I",
        "m",
        "M",
        "q",
        "l",
        "=",
        "n",
        "N",
        "b",
        "t",
        ":a",
        "a\\x",
        "i x",
        "{",
        "}",
        ";",
        "\n",
        " ",
        "#n",
        "-",
        "&",
    ),
    *("w", "w f", "W f", "e", "e touch f", "r in", "/", "[", "]", "^", "\\", "|", ",", "s", "y", "c"),
]


@pytest.mark.skipif(shutil.which("sed") is None, reason="sed is not installed")
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6))
def test_a_script_that_only_looks_changes_nothing(tmp_path: Path, pieces: list[str]) -> None:
    (tmp_path / "in").write_text("touch f\nabc\nx/y\n[]\n")
    for script in ("".join(pieces), ";".join(pieces)):
        if sed_only_looks(script):
            subprocess.run(["sed", "-n", script, "in"], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
            assert (script, os.listdir(tmp_path)) == (script, ["in"])
