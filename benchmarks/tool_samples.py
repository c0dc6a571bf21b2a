"""Files and trees that the tools are measured on. The same every time."""

from __future__ import annotations

import os
import random
from pathlib import Path

LINES = 2000
HOLE = 5 * 1024**3
TAIL_LINES = 1000
_WORDS = "import return class value index error TODO self string number result async await while yield match".split()  # noqa: SIM905


def source_lines(count: int, *, seed: int = 0) -> str:
    choose = random.Random(seed)
    return "".join(f"    {' '.join(choose.choices(_WORDS, k=choose.randint(2, 9)))}\n" for _ in range(count))


def numbered_file(path: Path, words: str = "many others") -> Path:
    path.write_text("".join(f"line {number} of a file like {words}\n" for number in range(LINES)))
    return path


def source_tree(root: Path, files: int) -> Path:
    """Files as in a project: some 50 in a folder, of very different lengths; one in a hundred holds a rare word."""
    texts = [source_lines(20 * (seed % 17 + 1), seed=seed) for seed in range(50)]
    for number in range(files):
        folder = root / f"package{number // 500}" / f"part{number // 50}"
        if number % 50 == 0:
            folder.mkdir(parents=True)
        rare = "# a rare needle\n" if number % 100 == 7 else ""
        (folder / f"module{number}.py").write_text(texts[number % len(texts)] + rare)
    return root


def flat_tree(root: Path, files: int) -> Path:
    """Very many empty files, a thousand in a folder."""
    for folder in range(files // 1000):
        path = root / f"folder{folder}"
        path.mkdir(parents=True)
        descriptor = os.open(path, os.O_RDONLY)
        for number in range(1000):
            os.close(os.open(f"file{number}.txt", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=descriptor))
        os.close(descriptor)
        (path / "file0.txt").write_text("needle\n")
    return root


def sparse_file(path: Path) -> Path:
    """Lines, five gigabytes of nothing, lines."""
    lines = numbered_file(path).read_bytes()
    with open(path, "r+b") as file:
        file.seek(HOLE)
        file.write(b"\n" + lines[: len(lines) // 2])
    return path
