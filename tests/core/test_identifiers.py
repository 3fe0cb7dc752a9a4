from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core import identifiers
from palimpsest.core.identifiers import IdentifierUse, IdentifierWeights


def test_weights_follow_use_paths_and_recency() -> None:
    weights = IdentifierWeights()
    weights.add("result", ["seen_once seen_once"])
    weights.add("call", ["a/path.py", "used_name"])
    for _ in range(60):
        weights.add("result", ["nothing"])
    found = weights.heaviest()
    assert [item.text for item in found] == ["a/path.py", "used_name", "seen_once"]
    assert [item.weight for item in found] == pytest.approx(
        [1.5 * 6 * (0.15 + 0.5), 6 * (0.15 + 0.5), 0.15 + 0.5 ** (61 / 60)]
    )


def test_equal_weights_stand_in_the_order_of_their_text() -> None:
    weights = IdentifierWeights()
    weights.add("user", ["b_name_x a_name_x"])
    assert [item.text for item in weights.heaviest()] == ["a_name_x", "b_name_x"]


def test_the_lightest_half_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifiers, "MAX_IDENTIFIERS", 4)
    weights = IdentifierWeights()
    weights.add("call", ["name_1 name_2"])
    weights.add("result", ["name_3 name_4"])
    weights.add("result", ["name_5"])
    assert [item.text for item in weights.heaviest()] == ["name_1", "name_2"]


_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["call", "user", "prose", "result"]),
        st.lists(st.sampled_from(["name_1", "a/b_c.py", "x.yzabc"]), max_size=3),
    ),
    max_size=30,
)


@given(_EVENTS)
def test_the_running_sums_equal_the_definition(
    events: list[tuple[IdentifierUse, list[str]]],
) -> None:
    weights = IdentifierWeights()
    expected: dict[str, float] = {}
    for number, (use, names) in enumerate(events, 1):
        weights.add(use, names)
        for name in set(names):
            factor = 1.5 if "/" in name else 1.0
            recency = 0.15 + 0.5 ** ((len(events) - number) / 60)
            gain = identifiers.USE_WEIGHTS[use] * factor * recency
            expected[name] = expected.get(name, 0) + gain
    found = {item.text: item.weight for item in weights.heaviest()}
    assert found == pytest.approx(expected)
