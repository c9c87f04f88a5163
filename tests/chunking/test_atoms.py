"""Which lines of a prose block hang together."""

import pytest

from chunking.atoms import is_separator


@pytest.mark.parametrize("line", ["|---|", "---|---", "| :-: | --- | ", "> |--|:-|", " |-|- -|\t"])
def test_a_separator_may_have_colons_margins_and_no_pipe_at_its_ends(line):
    assert is_separator(line)


@pytest.mark.parametrize("line", ["---", "| a | - |", "|---|x", "|:|"])
def test_a_line_with_anything_else_is_none(line):
    assert not is_separator(line)


def test_a_wide_line_that_turns_out_to_be_none_is_read_once():
    assert not is_separator("| " + "-" * 100_000 + " | -- x")
