"""Counting refusals, and telling them."""

from toolwright.egress.traffic import Traffic, in_words


def test_refusals_are_told_once_each_and_none_is_cut_without_saying_so() -> None:
    traffic = Traffic()
    assert in_words(traffic.refusals_since(0)) is None
    for number in (*range(12), 0, 1):
        traffic.note_refusal(f"host{number}.test:443", f"host{number}.test is not allowed")
    words = in_words(traffic.refusals_since(0)) or ""
    assert words.startswith("While this command ran, the sandbox refused connections:\n- host0.test is not allowed\n")
    assert words.count("not allowed") == 10
    assert "- and 2 more" in words
    assert [refusal.target for refusal in traffic.refusals_since(13)] == ["host1.test:443"]


def test_only_the_latest_refusals_are_kept_but_all_are_counted() -> None:
    traffic = Traffic()
    for _ in range(500):
        traffic.note_refusal("a", "b")
    assert traffic.refused == 500
    assert [refusal.number for refusal in traffic.refusals_since(0)] == list(range(301, 501))
