from hypothesis import given
from hypothesis import strategies as st

from toolwright.mcp.author.docstrings import Docstring, parse_docstring

GOOGLE = """Add two numbers.

    They may be negative.

    Args:
        a (int): The first
            number.
        b: The second: after a colon.

    Returns:
        c: not a parameter
    """
NUMPY = """Add two numbers.

    Parameters
    ----------
    a : int
        The first
        number.
    b, c : int, optional
        The others.

    Returns
    -------
    d : int
        Not a parameter.
    """
SPHINX = """Add two numbers.

    :param a: The first
        number.
    :param int b: The second.
    :returns: The sum.
    """


def test_google_sections() -> None:
    parsed = parse_docstring(GOOGLE)
    assert parsed.summary == "Add two numbers.\n\nThey may be negative."
    assert parsed.parameters == {"a": "The first number.", "b": "The second: after a colon."}


def test_numpy_sections() -> None:
    parsed = parse_docstring(NUMPY)
    assert parsed.summary == "Add two numbers."
    assert parsed.parameters == {"a": "The first number.", "b": "The others.", "c": "The others."}


def test_sphinx_fields() -> None:
    assert parse_docstring(SPHINX) == Docstring("Add two numbers.", {"a": "The first number.", "b": "The second."})


def test_no_docstring_says_nothing() -> None:
    assert parse_docstring(None) == Docstring()
    assert parse_docstring("") == Docstring()


def test_prose_that_only_looks_like_a_section_stays_prose() -> None:
    assert parse_docstring("Takes two parameters\nand adds them.").parameters == {}
    assert parse_docstring("Sum.\n\nParameters\n\nare nice").summary == "Sum.\n\nParameters\n\nare nice"


@given(st.text(alphabet=st.sampled_from("abc:\n- *,()Args"), max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_docstring(text)
    parse_docstring("Sum.\n\nArgs:\n    a: x\n" + text)
