"""One word per idea: banned synonyms stay out of names, and no class name has two meanings."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "toolwright"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
ROWS = re.findall(r"^\| ([^|]+) \| [^|]+ \|([^|]*)\|$", GLOSSARY, re.MULTILINE)[1:]
BANNED = {word.strip(" `…_").lower() for _, banned in ROWS for word in banned.split(",") if word.strip()}
SHARED = {
    "Turn": "a whole answer of a scripted model is public under this name",
    "ToolCall": "a tool call of the model server is public under this name",
    "Program": "the kernel's structure of a filter, where a process of its own needs it too",
}
"""Class names that two classes may have, and why."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if "sample_project" not in path.parts:
            yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def words(name: str) -> set[str]:
    """The words of a name in either spelling: `ReadTracker` and `read_tracker` have two."""
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))


def classes(tree: ast.Module) -> list[str]:
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def constants(tree: ast.Module) -> list[str]:
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_the_glossary_is_read() -> None:
    assert len(ROWS) > 25
    assert {"enclosure", "patience", "most", "largest", "whereabouts"} <= BANNED


def test_no_banned_word_is_used() -> None:
    for path, tree in modules():
        names = [path.rpartition("/")[2].removesuffix(".py"), *classes(tree), *constants(tree)]
        assert [name for name in names if words(name) & BANNED] == [], path


def test_no_class_name_has_two_meanings() -> None:
    found = defaultdict(list)
    for path, tree in modules():
        for name in classes(tree):
            found[name].append(path)
    assert {name: paths for name, paths in found.items() if len(paths) > 1 and name not in SHARED} == {}
    assert [name for name in SHARED if len(found[name]) < 2] == []
