"""Where a command runs, held against bash itself: `cd` moves, and what stands around it says whether it does."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_permissions import KNOWN_FILES
from toolwright.permissions import CommandLine, SessionFolders, read_command
from toolwright.permissions.shell.command_paths import Paths

MOVES = [
    *("cd a", "cd a/b", "cd ..", "cd ../a", "cd a b", "cd none", "cd", "cd ~", "cd ~/c", "cd ''", "cd -", "cd .", "cd $X"),
    *("cd -P a", "cd -L a", "cd -- a", "cd -P -- a", "cd -e a", "cd -- -", "cd -a", "cd +a", "cd +1", "cd h*", "cd {a,b}"),
    *("pushd a", "pushd", "pushd a; pushd", "pushd a; pushd b; pushd +1", "pushd -n a", "popd", "pushd a; cd b; popd"),
    *(
        "command cd a",
        "command -p cd a",
        "builtin cd a",
        "command -- cd a",
        "timeout 5 cd a",
        "nohup cd a",
        "\\cd a",
        "'cd' a",
        "/bin/cd a",
    ),
    *("cd a < none", "cd a > /dev/null", "X=1 cd a", "true", "false", "exit", "exit 0", "exit 1 2", "exit 1 < none", "exit x"),
    *("cd a && exit 1 2", "cd a && exit < none", "cd a || exit", "cd a; cd b", "cd a; cd ..", "eval cd a", "eval 'cd a'"),
    *(". ./moves", "source ./moves", "bash -c 'cd a'", "exec < /dev/null", "command -v cd", "time cd a", "! cd a", "(cd a)"),
]
AROUND = [
    *(
        "{}; @",
        "{} && @; @",
        "{} || @; @",
        "! {}; @",
        "! {} && @; @",
        "! {} || @; @",
        "{{ {}; @; }}; @",
        "({}; @); @",
        "{} & wait; @",
    ),
    *("{} | @; @", "true | {}; @", "true |& {} && @", "@ | {{ {}; @; }}; @", "echo $({}; @); @", "x=$({}); @", "cat <({}); @"),
    *("true && {}; @", "false && {}; @", "true || {}; @", "false || {}; @", "true && {} && @ || @; @", "{} || {} && @; @"),
    *("if {}; then @; else @; fi; @", "if true; then {}; fi; @", "if false; then :; else {}; @; fi; @"),
    *("if false; then {}; fi; @", "if false; then :; elif {}; then @; else @; fi; @", "if true; then :; else {}; fi; @"),
    *("if true; then cd b; else {}; fi; @", "if {}; then cd b; fi; @", "cd b; if cd ..; then {}; else @; fi; @"),
    *("case x in x) {};; esac; @", "case y in x) {};; esac; @", "case x in x) {};; *) cd b;; esac; @"),
    *("case y in x) {};; *) cd b;; esac; @", "case x in x) {};& y) @;; esac; @", "case x in x) {};;& y$(@)) ;; *) @;; esac; @"),
    *("for i in 1 2; do @; {}; @; done; @", "for i in; do {}; done; @", "while {}; do @; break; done; @", "time {}; @"),
    *(
        "until {}; do @; break; done; @",
        "{{ {}; }} > /dev/null; @",
        '{}; export "x$(@)"; @',
        "{{ {}; }} < none; @",
        "cd b && {{ {}; }} < none; @",
        "if true; then {}; @; fi < none || @; @",
        "case x in x) {};;& y) ;; *) @;; esac; @",
        "bash -c '{} ; @'; @",
    ),
    *("cd a; {}; @", "cd a && {}; @", "cd a || {}; @", "{}; cd b; @", "{} && cd ..; @", "[[ a ]] && {}; @", "cd a; {} || @"),
]


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    start = tmp_path_factory.mktemp("folders").resolve() / "start"
    for folder in ("a/a", "a/b", "b/a", "b/b", "home/c", "../a"):
        (start / folder).mkdir(parents=True)
    (start / "moves").write_text("cd a\n")
    return start


def marked(template: str) -> str:
    pieces = template.split("@")
    return "".join(f"{piece}mark {number}" for number, piece in enumerate(pieces[:-1])) + pieces[-1]


def by_bash(scripts: Iterable[str], start: Path) -> list[list[tuple[str, str]]]:
    """Of each script the marks that are reached, and where."""
    said = 'mark() { printf "%s %s\\n" "$1" "$PWD" >&3; }; export -f mark; X=a; exec 3>&1 >/dev/null 2>&1 </dev/null\n'
    each = "".join(f"echo script >&3; (eval {shlex.quote(script)})\n" for script in scripts)
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", said + each],
        cwd=start,
        env={"HOME": f"{start}/home", "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    return [
        [(mark, folder) for mark, _, folder in (line.partition(" ") for line in lines.splitlines())]
        for lines in done.stdout.decode().split("script\n")[1:]
    ]


def reckoned(line: CommandLine, start: Path) -> dict[str, tuple[str, ...] | None]:
    """Of each mark the folders it may be reached in."""
    paths = Paths(str(start), SessionFolders(str(start), (), f"{start}/home", KNOWN_FILES))
    return {part.words[1].text: paths.folders(part) for part in line.parts if part.name == "mark"}


def check(scripts: list[str], start: Path) -> None:
    for script, reached in zip(scripts, by_bash(scripts, start), strict=True):
        line = read_command(script)
        if line.unparsed or line.doubts or line.opaque:
            continue
        folders = reckoned(line, start)
        for mark, folder in reached:
            known = folders[mark]
            assert known is None or folder in known, (script, mark)


SOME_MOVES = ["cd a", "cd none", "cd a; cd b", "exit", "cd a && exit < none", "cd a || exit", "command cd a", "pushd a; popd"]


@pytest.mark.parametrize("around", AROUND)
def test_a_command_runs_in_one_of_the_folders_that_were_reckoned(around: str, start: Path) -> None:
    check([marked(around.format(*[move] * 2)) for move in SOME_MOVES], start)


@pytest.mark.parametrize("around", ["{}; @", "cd a; {} && @ || @"])
def test_every_way_to_move_leads_to_one_of_the_folders_that_were_reckoned(around: str, start: Path) -> None:
    check([marked(around.format(move)) for move in MOVES], start)


@st.composite
def nested(draw: st.DrawFn) -> str:
    script = draw(st.sampled_from(MOVES))
    for around in draw(st.lists(st.sampled_from(AROUND), min_size=2, max_size=3)):
        script = around.format(script, draw(st.sampled_from(MOVES)))
    return marked(script)


@settings(max_examples=15, deadline=None)
@given(scripts=st.lists(nested(), min_size=4, max_size=4))
def test_moves_in_one_another_lead_to_one_of_the_folders_that_were_reckoned(scripts: list[str], start: Path) -> None:
    check(scripts, start)


@pytest.mark.parametrize(
    ("script", "folders"),
    [
        *(("cd a", "a ."), ("cd a && @", "a"), ("cd a || @", "."), ("! cd a && @", "."), ("cd a &", "."), ("(cd a)", ".")),
        *(("cd && @", "home"), ("cd -- && @", "home"), ("cd ~/c && @", "home/c"), ("cd '' && @", "."), ("cd a | cat", ".")),
        *((f"cd {option} a && @", "a") for option in ("-P", "-L", "--", "-P -L --")),
        *(("pushd a && @", "a"), ("command cd a && @", "a ."), ("command -v cd && @", "."), ("exec < a && @", ".")),
        *(("cd a || exit", "a"), ("cd a || exit 1", "a"), ("cd a || exit 1 2", "a ."), ("cd a && cd b && @", "a/b")),
        *(("case x in x) cd a;; *) @;; esac", "."), ("case x in x) cd a;; *) cd b;; esac", "a b ."), ("time", ".")),
        *(("if cd a; then cd b; fi", "a b a/b ."), ("for i in 1; do cat $i || exit; done", "."), ("trap - EXIT", ".")),
    ],
)
def test_the_folder_is_known_where_it_can_be(script: str, folders: str, start: Path) -> None:
    line = read_command(marked(script if "@" in script else f"{script}\n@"))
    assert set(reckoned(line, start)["0"] or ()) == {str((start / folder).resolve()) for folder in folders.split()}


@pytest.mark.parametrize(
    "move",
    [*(move for move in MOVES if "popd" in move or "$" in move), "eval 'cd a'", "source ./moves", ". ./moves", "cd a\n" * 40],
)
def test_the_folder_is_not_known_behind_what_cannot_be_followed(move: str, start: Path) -> None:
    assert reckoned(read_command(f"{move}\nmark 0"), start) == {"0": None}
