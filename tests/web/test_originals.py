from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart

from palimpsest.core.records import ViewState
from palimpsest.web.originals import Reading, originals

EARLY = datetime.min  # noqa: DTZ901 - the kind that is stored without a zone
LATE = datetime.max  # noqa: DTZ901


@pytest.mark.parametrize(
    "at",
    [
        EARLY,
        LATE,
        *(
            moment.replace(tzinfo=timezone(timedelta(hours=hours)))
            for moment in (EARLY, LATE)
            for hours in (-14, 0, 14)
        ),
    ],
)
def test_a_time_at_the_end_of_the_calendar_is_a_number(at: datetime) -> None:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[], timestamp=at),
        ModelResponse(parts=[TextPart("x")], timestamp=at),
    ]
    for shown in originals(messages, 0, Reading(state=ViewState())):
        assert isinstance(shown.timestamp, int)


def test_a_time_is_milliseconds_since_the_epoch() -> None:
    message = ModelRequest(parts=[], timestamp=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    (shown,) = originals([message], 0, Reading(state=ViewState()))
    assert shown.timestamp == 1000
