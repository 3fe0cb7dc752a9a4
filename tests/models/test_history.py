from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from palimpsest.models.history import History
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


def test_what_is_stored_can_be_let_go_and_held_again() -> None:
    history = History(ALL, originals=originals)
    early = history.snapshot()
    history.append(user("new"))
    history.forget_before(400)
    history.forget_before(300)
    assert len(history) == 601 and len(history._held) == 201
    assert list(history) == [*ALL, user("new")]
    history.hold_from(100)
    history.hold_from(200)
    assert len(history._held) == 501
    assert list(early) == ALL


def test_without_a_store_nothing_is_let_go() -> None:
    history = History(ALL)
    history.forget_before(400)
    assert history[0] is ALL[0]


def test_few_single_messages_are_remembered() -> None:
    reads: list[int] = []

    def counted(start: int, stop: int) -> list[ModelMessage]:
        reads.append(start)
        return originals(start, stop)

    history = History(ALL[500:], first=500, originals=counted)
    for _ in range(3):
        assert history[4] == ALL[4]
    assert reads == [4]
    for index in range(200):
        assert history[index] == ALL[index]
    assert len(history._remembered) <= 64
    with pytest.raises(IndexError):
        assert history[600]
