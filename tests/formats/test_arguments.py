from __future__ import annotations

import pytest

from palimpsest.core.excerpt import Json
from palimpsest.formats.arguments import parse_arguments


@pytest.mark.parametrize(
    ("stored", "parsed"),
    [
        (None, {}),
        ("", {}),
        ({"path": "a.py"}, {"path": "a.py"}),
        (
            '{"path": "a.py", "deep": [null, {"x": true}]}',
            {"path": "a.py", "deep": [None, {"x": True}]},
        ),
        ("[1, 2]", [1, 2]),
        ('"text"', "text"),
        ("{broken", "{broken"),
        ("make all", "make all"),
        ('{"a": "\ud800"}', '{"a": "\ud800"}'),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_arguments_are_json_or_the_text_itself(stored: str | None, parsed: Json) -> None:
    assert parse_arguments(stored) == parsed
