from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
)

from palimpsest.testing import provider_errors as errors


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (errors.rate_limited, ModelRateLimitError),
        (errors.overloaded, ModelOverloadedError),
        (errors.quota_exceeded, ModelQuotaExceededError),
        (errors.authentication_failed, ModelAuthenticationError),
        (errors.server_error, ModelServerError),
        (errors.connection_lost, ModelConnectionError),
        (errors.timed_out, ModelTimeoutError),
    ],
)
def test_each_failure_has_its_category(
    make: Callable[[], ModelAPIError], kind: type[ModelAPIError]
) -> None:
    error = make()
    assert isinstance(error, kind)
    assert isinstance(pickle.loads(pickle.dumps(error)), kind)


def test_a_rate_limit_says_when_to_try_again() -> None:
    assert errors.rate_limited(7).retry_after == 7


@pytest.mark.parametrize("provider", errors.OVERFLOWS)
def test_only_local_servers_overflow_without_pydantic_ai_noticing(provider: str) -> None:
    error = errors.OVERFLOWS[provider](10, 20)
    known = isinstance(error, ModelContextWindowExceededError)
    assert known is (provider not in {"llama.cpp", "lm-studio", "ollama"})
    assert isinstance(error, ModelRequestRejectedError)
