"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from palimpsest.core.wording import count


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 turns"), (1, "1 turn"), (2, "2 turns"), (1_200, "1,200 turns")]
)
def test_a_noun_agrees_with_its_number(number: int, said: str) -> None:
    assert count(number, "turn") == said
