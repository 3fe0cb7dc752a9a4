from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.estimate import text_tokens
from palimpsest.core.trimming import trim_to, trimmed_text


@pytest.mark.parametrize(
    ("text", "head", "tail", "shown"),
    [
        ("abcdef", 2, 2, "ab\n[2 characters omitted from this view]\nef"),
        ("abcdef", 2, 0, "ab\n[4 characters omitted from this view]\n"),
        ("abcdef", 0, 0, "\n[6 characters omitted from this view]\n"),
        ("abcdef", 3, 3, "abcdef"),
        ("abcdef", 9, 9, "abcdef"),
        ("", 0, 0, ""),
        ("x" * 1234, 0, 0, "\n[1,234 characters omitted from this view]\n"),
    ],
)
def test_head_notice_and_tail(text: str, head: int, tail: int, shown: str) -> None:
    assert trimmed_text(text, head, tail) == shown


@given(st.text(max_size=400), st.integers(20, 120))
def test_the_shown_text_stays_within_the_tokens_and_uses_them(text: str, tokens: int) -> None:
    trim = trim_to(text, tokens)
    assert trim.text == trimmed_text(text, trim.head_characters, trim.tail_characters)
    assert trim.head_characters == trim.tail_characters
    assert text_tokens(trim.text) <= tokens or trim.head_characters == 0
    side = trim.head_characters + 1
    if 2 * side < len(text):
        assert text_tokens(trimmed_text(text, side, side)) > tokens


def test_a_limit_below_the_notice_shows_the_notice_alone() -> None:
    trim = trim_to("x" * 5000, 1)
    assert trim.text == "\n[5,000 characters omitted from this view]\n"
