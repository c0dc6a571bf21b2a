"""A replacement in very many places of a large file: what it takes of memory. Its time on the loop: test_free_loop."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from subprocess import run

import pytest

from toolwright.files.text import UTF8, TextFormat
from toolwright.tools.text_spans import find_spans, occurrences, replace_all, replace_spans

SIZE = 8 << 20
PROGRAM = """
import resource, sys
import anyio
from toolwright.tools.editing import edit_file
from toolwright.workspace import Workspace

class Everywhere:
    old_string, new_string, replace_all = sys.argv[2], "xy", True

async def main():
    workspace = Workspace(sys.argv[1], env={}, state_dir=sys.argv[1] + "/.state")
    line = ("a = b; foo" + sys.argv[3].encode("latin-1").decode("unicode_escape")).encode()
    data = line * (int(sys.argv[4]) // len(line))
    await workspace.replace_file("large", lambda _: data)
    del data
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    edited = await edit_file("large", [Everywhere()], workspace)
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(edited.made[0].count, taken)
    await workspace.close()

anyio.run(main)
"""


@pytest.mark.parametrize(("old", "line_end"), [("o", "\\n"), ("o", "\\r\\n"), ("'", "\\u2019\\n")])
def test_it_takes_few_times_the_file(tmp_path: Path, old: str, line_end: str) -> None:
    program = [sys.executable, "-c", PROGRAM, str(tmp_path), old, line_end, str(SIZE)]
    done = run(program, capture_output=True, text=True, check=True)
    count, taken = map(float, done.stdout.split())
    assert count > SIZE / 16
    assert taken <= 6 * SIZE


def test_line_ends_are_counted_once_for_all_places() -> None:
    data = b"one;\r\n" * 50_000
    began = time.process_time()
    changed = replace_all(data, ";", "\n", UTF8)
    assert changed == b"one\r\n\r\n" * 50_000
    assert time.process_time() - began < 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "cp932"])
@pytest.mark.parametrize("text", ["a", "aa", "aba", "a\n", "\n", "\n\n", "表"])
@pytest.mark.parametrize("new", ["", "x", "yy\n"])
def test_large_and_small_go_the_same_way(monkeypatch: pytest.MonkeyPatch, encoding: str, text: str, new: str) -> None:
    for name in ("_WINDOW", "_PATTERN_WINDOW"):
        monkeypatch.setattr(f"toolwright.tools.text_spans.{name}", 3)
    format_ = TextFormat(encoding)
    for source in ("aaaa" * 9 + "ab" * 9, "aba\nab\n\n\nabababa" * 7, "a表\r\na\n\r\n表a" * 5, ""):
        data = format_.encode(source)
        spans = find_spans(data, text, format_)
        assert replace_all(data, text, new, format_) == replace_spans(data, spans, new, format_)
        found = occurrences(data, text, format_, most=3)
        assert (found.count, list(found.first)) == (len(spans), spans[:3])
        assert not spans or found.end >= spans[-1][1]


@pytest.mark.parametrize("text", ["'", "a'", '"b\n', "'\"\n'"])
def test_quotes_are_found_across_windows(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    data = "a’“b\r\n‘a’\"b\n'”\n’".encode() * 9
    whole = find_spans(data, text, UTF8, any_quotes=True)
    monkeypatch.setattr("toolwright.tools.text_spans._PATTERN_WINDOW", 3)
    assert whole
    assert find_spans(data, text, UTF8, any_quotes=True) == whole
    found = occurrences(data, text, UTF8, most=3, any_quotes=True)
    assert (found.count, list(found.first), found.end) == (len(whole), whole[:3], whole[-1][1])
