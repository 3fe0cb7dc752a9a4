"""Values of any shape."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from palimpsest.core.estimate import compact_json
from palimpsest.core.excerpt import Json
from palimpsest.formats.content import EPOCH, as_arguments, as_count, as_time


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-01T12:00:00.000Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T12:00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        (1_772_366_400, datetime(2026, 3, 1, 12, tzinfo=UTC)),
        (1_772_366_400_000, datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("yesterday", EPOCH),
        (1e300, EPOCH),
        (float("nan"), EPOCH),
        (float("inf"), EPOCH),
        (True, EPOCH),
        (None, EPOCH),
        ([], EPOCH),
    ],
)
def test_times(value: Json, expected: datetime) -> None:
    assert as_time(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (3.9, 3), (-1, 0), (True, 0), ("3", 0), (float("inf"), 0), (None, 0)],
)
def test_counts(value: Json, expected: int) -> None:
    assert as_count(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", "[1]"),
        ("{broken", "{broken"),
        ("[" * 99_999, "[" * 99_999),
        (None, {}),
        ([1], "[1]"),
    ],
)
def test_arguments(value: Json, expected: object) -> None:
    assert as_arguments(value) == expected


def test_compact_json_can_always_be_written() -> None:
    assert compact_json({"a": ["é", 1]}) == '{"a":["é",1]}'
    assert compact_json("\ud800") == '"\\ud800"'
