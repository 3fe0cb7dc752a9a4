"""What a person reads when a provider does not answer."""

from __future__ import annotations

import json

import pytest
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRateLimitError,
    ModelRequestTimeout,
)

from palimpsest.models.provider_failure import MOST_SAID_CHARACTERS, provider_failure
from palimpsest.testing.provider_errors import (
    anthropic_overflow,
    authentication_failed,
    connection_lost,
    overloaded,
    quota_exceeded,
    rate_limited,
    server_error,
    timed_out,
)

NOT_FOUND = ModelHTTPError.for_category(ModelNotFoundError, status_code=404, model_name="scripted")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (authentication_failed(), "authentication", ["credentials", '"invalid x-api-key"', "key"]),
        (NOT_FOUND, "model_not_found", ["not found", "name"]),
        (anthropic_overflow(1_000, 2_000), "overflow", ["too long", "preserved"]),
        (quota_exceeded(), "quota", ["quota", "billing"]),
        (rate_limited(20), "rate_limit", ["too many requests", "in 20 s"]),
        (ModelRateLimitError("scripted", "slow down"), "rate_limit", ["too many", "a minute"]),
        (timed_out(), "timeout", ["in time"]),
        (ModelRequestTimeout("scripted", 3), "timeout", ["in time"]),
        (connection_lost(), "unreachable", ["reached", "network"]),
        (overloaded(), "unavailable", ["just now", '"Overloaded"']),
        (server_error(), "unavailable", ["just now", "while processing"]),
        (ModelHTTPError(418, "scripted"), "failed", ["HTTP status 418"]),
        (ModelAPIError("scripted", "broke\nhere."), "failed", ["failed: broke here. Try"]),
    ],
)
def test_every_kind_of_failure_is_one_sentence_and_a_code(
    error: ModelAPIError, code: str, words: list[str]
) -> None:
    failure = provider_failure(error)
    assert failure.code == f"provider_{code}"
    assert failure.sentence.startswith("scripted ")
    assert [word for word in words if word not in failure.sentence] == []
    assert "status_code" not in failure.sentence
    assert "\n" not in failure.sentence


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "a"}, '"a"'),
        ({"error": {"message": "b\n c."}}, '"b c"'),
        (json.dumps({"error": [{"message": "d"}]}), '"d"'),
        ({"message": "", "error": {"message": "e"}}, '"e"'),
        ({"message": "x" * 10_000}, f'"{"x" * MOST_SAID_CHARACTERS}…"'),
        ({"message": ["no text"]}, None),
        ("<html>502</html>", None),
        (None, None),
    ],
)
def test_the_providers_own_words_are_quoted_whatever_their_shape(
    body: object, said: str | None
) -> None:
    sentence = provider_failure(ModelHTTPError(500, "scripted", body)).sentence
    assert ("The provider says" in sentence) == (said is not None)
    assert said is None or said in sentence
