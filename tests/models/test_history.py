from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from palimpsest.models.history import CHUNK, History
from tests.formats.messages import user

ALL = [user(f"message {number}") for number in range(600)]


def originals(start: int, stop: int) -> list[ModelMessage]:
    return list(ALL[start:stop])


bounds = st.none() | st.integers(-650, 650)


@given(st.integers(0, 600), bounds, bounds, st.sampled_from([None, 1, 2, -1]))
def test_a_slice_is_that_of_a_list(
    first: int, start: int | None, stop: int | None, step: int | None
) -> None:
    history = History(ALL[first:], first=first, originals=originals)
    assert history[start:stop:step] == ALL[start:stop:step]


@given(st.integers(0, 600), st.integers(-600, 599))
def test_an_index_is_that_of_a_list(first: int, index: int) -> None:
    assert History(ALL[first:], first=first, originals=originals)[index] == ALL[index]


def test_it_can_hold_less_and_more() -> None:
    history = History(ALL, originals=originals)
    less = history.holding(400, shown=[7, 399])
    less.append(user("new"))
    assert (less.first, len(less), len(history)) == (400, 601, 600)
    assert list(less) == [*ALL, user("new")]
    assert less[7] is ALL[7]
    more = less.holding(100)
    assert more.first == 100
    assert list(more) == list(less)


def test_what_is_held_is_not_read() -> None:
    reads: list[tuple[int, int]] = []

    def noted(start: int, stop: int) -> list[ModelMessage]:
        reads.append((start, stop))
        return originals(start, stop)

    history = History(ALL, originals=noted).holding(500, shown=[4])
    assert history[4] == ALL[4] and history[500:] == ALL[500:] and history[:0] == []
    assert reads == []
    assert history[3] == ALL[3]
    assert list(history.read(490, 510)) == ALL[490:510]
    assert reads == [(3, 4), (490, 500)]
    reads.clear()
    assert list(history) == ALL
    assert all(stop - start <= CHUNK for start, stop in reads)
    with pytest.raises(IndexError):
        assert history[600]
