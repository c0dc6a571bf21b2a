"""What a person reads of a call before they answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.mcp.author.server import InProcessServer
from toolwright.mcp.session.tool_adapter import ServedToolAdapter
from toolwright.permissions import hides_something
from toolwright.permissions.session.approval_text import changed_lines, description, shown, title
from toolwright.tools.base import Tool
from toolwright.tools.registry import builtin_tools, tools_with_a_person

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*builtin_tools(), *tools_with_a_person())}


def shown_command(command: str, **more: Any) -> str:
    return title(TOOLS["Bash"], {"command": command, **more})


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [
        ("\x1b[2K\x1b[1A", r"\x1b[2K\x1b[1A"),
        ("\r", r"\r"),
        ("\b\b", r"\x08\x08"),
        ("\u202e", r"\u202e"),
        ("\u200b", r"\u200b"),
        ("\xa0", r"\xa0"),
        ("\U000e0041", r"\U000e0041"),
        ("\x00", r"\x00"),
        ("\u2028", r"\u2028"),
        ("c\u0443rl", r"c\u0443rl"),
        ("\uff52\uff4d", r"\uff52\uff4d"),
    ],
)
def test_characters_that_hide_something_are_spelled_out(hidden: str, seen: str) -> None:
    assert shown_command(f"echo {hidden} x") == f"Run echo {seen} x"


def test_words_of_one_alphabet_stay_as_they_are() -> None:
    for words in ("git commit -m 'Привет, мир'", "echo naïve Ωμέγα", "echo 日本語", "sed 's/a/b/'\n  then"):
        assert shown(words) == words


def test_a_tail_behind_two_thousand_spaces_is_seen() -> None:
    assert shown_command("ls" + " " * 2000 + "; touch pwned") == "Run ls [2,000 blanks] ; touch pwned"
    assert shown_command("ls" + "\n" * 500 + "touch pwned") == "Run ls [500 line breaks] touch pwned"
    assert shown_command("ls" + " \n" * 300 + "touch pwned") == "Run ls [300 blanks and 300 line breaks] touch pwned"
    assert shown_command("ls" + "\n\t" * 4 + "touch pwned") == "Run ls [3 blanks and 4 line breaks] \ttouch pwned"


def test_ordinary_layout_is_kept() -> None:
    script = "if x; then\n        y\n\n\nfi"
    assert shown_command(script) == f"Run {script}"


def test_a_command_is_shown_with_how_it_would_be_run_and_without_the_models_words() -> None:
    told = shown_command("make", description="Harmless", run_in_background=True, dangerouslyDisableSandbox=True)
    assert told == "Run make\nrun_in_background: true\ndangerouslyDisableSandbox: true"
    assert description({"description": "Harm\u202eless"}) == r"Harm\u202eless"
    assert description({"file_path": "/ws/a\u200b", "content": "x"}) == r"/ws/a\u200b"
    assert description({}) is None


def test_a_long_text_is_not_cut() -> None:
    command = "echo " + "x" * 100_000 + "; touch pwned"
    assert shown_command(command) == f"Run {command}"
    written = title(TOOLS["Write"], {"file_path": "/ws/a", "content": "one\ntwo"})
    assert written == "Write /ws/a\n+ one\n+ two"
    long = "".join(f"{number}\n" for number in range(5000))
    assert len(title(TOOLS["Edit"], {"file_path": "a", "old_string": long, "new_string": "x" + long}).split("\n")) == 10_003


def test_an_edit_is_shown_as_a_change() -> None:
    given = {"file_path": "/ws/a", "old_string": "one\ntwo\nthree", "new_string": "one\n2\nthree\n", "replace_all": True}
    told = title(TOOLS["Edit"], given)
    assert told.split("\n") == ["Edit /ws/a", "  one", "- two", "+ 2", "  three", "+ ", "replace_all: true"]


def test_several_edits_are_shown_one_by_one() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "", "file_path": "/ws/other"}]
    told = title(TOOLS["MultiEdit"], {"file_path": "/ws/a", "edits": edits})
    assert told.split("\n") == ["MultiEdit /ws/a", "edit 1", "- a", "+ b", "edit 2, file_path: /ws/other", "- c"]


def test_a_change_hides_nothing() -> None:
    blank = " " * 60
    assert list(changed_lines(f"x{blank}y", f"x{blank[1:]}\ty")) == ["- x [60 blanks] y", "+ x [60 blanks] y"]
    assert list(changed_lines("a", "a" + "\n" * 500 + "rm -rf ~\u202e")) == ["- a", "+ a [500 line breaks] rm -rf ~\\u202e"]


def test_a_call_of_a_server_shows_every_argument_and_the_servers_name() -> None:
    async def send(to: str, text: str) -> str:
        """Send."""
        return to + text

    server = InProcessServer("mail", tools=[send])
    tool = ServedToolAdapter(server, server.tools[0])
    told = title(tool, {"to": "a@b", "text": "x" * 5000, "extra": {"bcc": ["c@d\u200b"]}})
    assert told.splitlines() == [
        "Call send of the MCP server mail",
        "to: a@b",
        "text: " + "x" * 5000,
        r'extra: {"bcc": ["c@d\u200b"]}',
    ]


def test_a_plan_and_questions_are_shown_as_such() -> None:
    assert title(TOOLS["ExitPlanMode"], {"plan": "# Do it"}) == "Carry out this plan?\n# Do it"
    options = [{"label": "A", "description": "first"}, {"label": "B"}]
    told = title(TOOLS["AskUserQuestion"], {"questions": [{"question": "Which?", "header": "H", "options": options}]})
    assert told == "The model asks:\nWhich?\n  - A: first\n  - B"


@given(st.text(max_size=300))
def test_nothing_shown_hides_anything(text: str) -> None:
    assert not hides_something(shown(text))
    assert " " * 41 not in shown(text)


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), max_size=300))
def test_plain_text_is_shown_word_for_word(text: str) -> None:
    assert shown_command(text) == f"Run {text}"


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS, max_size=3)


@given(st.dictionaries(st.text(max_size=10), VALUES, max_size=4))
def test_any_input_can_be_shown(fields: dict[str, Any]) -> None:
    told = title(TOOLS["Read"], fields)
    assert not hides_something(told)
    assert len(told.split("\n")) >= 1 + len(fields) or any("\n" in name for name in fields)
