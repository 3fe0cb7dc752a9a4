"""What a provider's failure comes to, for a person: one sentence and a stable code."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
)

from palimpsest.models.overflow import body_objects

MOST_SAID_CHARACTERS = 300
"""Of the provider's own words, that a sentence quotes at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFailure:
    """Why a provider did not answer.

    Attributes:
        code: stable, begins with ``provider_``.
        sentence: what happened, the provider's own words if it gave any, and what to do; one line.
    """

    code: str
    sentence: str


def provider_failure(error: ModelAPIError) -> ProviderFailure:
    """Put what a pydantic-ai model raised into words."""
    kind, happened, advice = _kind(error)
    said = _said(error.body)
    quoted = f' The provider says: "{said}".' if said else ""
    return ProviderFailure(
        code=f"provider_{kind}", sentence=f"{error.model_name} {happened}.{quoted} {advice}"
    )


def _kind(error: ModelAPIError) -> tuple[str, str, str]:
    """Give the kind of a failure, what happened, and what to do; the closest class wins."""
    match error:
        case ModelAuthenticationError():
            return (
                "authentication",
                "did not accept the credentials",
                "Check the API key, and that it may use this model.",
            )
        case ModelNotFoundError():
            return (
                "model_not_found",
                "was not found",
                "Check the model's name and the provider's address.",
            )
        case ModelContextWindowExceededError():
            return (
                "overflow",
                "found the request too long",
                "The history is preserved; a model with a larger window would fit.",
            )
        case ModelQuotaExceededError():
            return (
                "quota",
                "did not answer because the account's quota or credit is used up",
                "Waiting does not help; see the provider's billing page.",
            )
        case ModelRateLimitError(retry_after=wait_s):
            wait = "a minute" if wait_s is None else f"{wait_s:g} s"
            return "rate_limit", "got too many requests", f"Try again in {wait}."
        case ModelTimeoutError() | ModelRequestTimeout():
            return "timeout", "did not answer in time", "Try again, or allow it more time."
        case ModelConnectionError():
            return (
                "unreachable",
                "could not be reached, or the connection broke",
                "Check the network and the provider's address, and try again.",
            )
        case ModelUnavailableError() | ModelServerError():
            return "unavailable", "cannot answer just now", "Try again in a while."
        case ModelRequestRejectedError():
            return "rejected", "rejected the request", "Sent again unchanged it fails again."
        case ModelHTTPError(status_code=status):
            return "failed", f"answered with HTTP status {status}", "Try again."
        case _:
            return "failed", f"failed: {_one_line(error.message).rstrip('.')}", "Try again."


def _said(body: object) -> str:
    """Give the first message in an error's body, whatever the provider's shape."""
    for fields in body_objects(body):
        message = fields.get("message")
        if isinstance(message, str) and message.strip():
            return _one_line(message).rstrip(".")
    return ""


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_SAID_CHARACTERS else f"{line[:MOST_SAID_CHARACTERS]}…"
