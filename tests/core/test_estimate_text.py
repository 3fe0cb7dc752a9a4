from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.estimate import text_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("é", 1),
        ("aé", 2),
        ("中文", 4),
        ("😀", 2),
        ("€", 2),
        ("abcdé", 2),
        ("“quoted” – text", 9),
        ("日本語とEnglish", 10),
        ("\u2028", 2),
        ("naïve café", 4),
        ("🏳️\u200d🌈", 8),
        ("\ud800", 2),
        ("a\udfffé", 4),
    ],
)
def test_text_tokens(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


_ANY = st.text(alphabet=st.characters(codec=None))


@given(_ANY)
def test_text_tokens_is_the_sum_of_its_rule(text: str) -> None:
    quarters = 0
    for character in text:
        size = len(character.encode("utf-8", "surrogatepass"))
        quarters += 1 if size == 1 else 4 * -(-size // 2)
    assert text_tokens(text) == -(-quarters // 4)


@given(_ANY, _ANY)
def test_a_whole_costs_no_more_than_its_parts_and_no_less_than_each(one: str, two: str) -> None:
    whole = text_tokens(one + two)
    assert max(text_tokens(one), text_tokens(two)) <= whole <= text_tokens(one) + text_tokens(two)
