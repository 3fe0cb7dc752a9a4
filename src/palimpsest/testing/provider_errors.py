"""Provider failures as they really come out of pydantic-ai: class, status, body and wording."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
)

from palimpsest.models.scripted import OverflowMaker

MODEL_NAME = "scripted"


def openai_overflow(window: int, request: int) -> ModelHTTPError:
    """OpenAI's chat API: both numbers in the text."""
    message = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted "
        f"in {request} tokens. Please reduce the length of the messages."
    )
    return _openai_like(message, ModelContextWindowExceededError, "context_length_exceeded")


def openai_responses_overflow(window: int, request: int) -> ModelHTTPError:
    """OpenAI's responses API: no number."""
    message = (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again."
    )
    return _openai_like(message, ModelContextWindowExceededError, "context_length_exceeded")


def anthropic_overflow(window: int, request: int) -> ModelHTTPError:
    """Anthropic: both numbers in the text."""
    return _anthropic(
        400,
        ModelContextWindowExceededError,
        "invalid_request_error",
        f"prompt is too long: {request} tokens > {window} maximum",
    )


def google_overflow(window: int, request: int) -> ModelHTTPError:
    """Gemini: both numbers in the text."""
    message = (
        f"The input token count ({request}) exceeds the maximum number of tokens allowed "
        f"({window})."
    )
    body = {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    return ModelHTTPError.for_category(
        ModelContextWindowExceededError,
        status_code=400,
        model_name=MODEL_NAME,
        body=body,
        provider_error_code="INVALID_ARGUMENT",
    )


def bedrock_overflow(window: int, request: int) -> ModelHTTPError:
    """Bedrock: no number."""
    body = {
        "Error": {
            "Code": "ValidationException",
            "Message": "Input is too long for requested model.",
        },
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    return ModelHTTPError.for_category(
        ModelContextWindowExceededError,
        status_code=400,
        model_name=MODEL_NAME,
        body=body,
        provider_error_code="ValidationException",
    )


def mistral_overflow(window: int, request: int) -> ModelHTTPError:
    """Mistral: the body is a JSON text, both numbers in its message."""
    message = (
        f"Prompt contains {request} tokens and 0 draft tokens, too large for model with {window} "
        "maximum context length"
    )
    body = json.dumps({"object": "error", "message": message, "code": "3051", "param": None})
    return ModelHTTPError.for_category(
        ModelContextWindowExceededError,
        status_code=400,
        model_name=MODEL_NAME,
        body=body,
        provider_error_code="3051",
    )


def groq_overflow(window: int, request: int) -> ModelHTTPError:
    """Groq: both numbers in the text."""
    message = (
        "Please reduce the length of the messages or completion. "
        f"Current length is {request} while limit is {window}"
    )
    body = {"error": {"message": message, "code": "context_length_exceeded"}}
    return ModelHTTPError.for_category(
        ModelContextWindowExceededError,
        status_code=400,
        model_name=MODEL_NAME,
        body=body,
        provider_error_code="context_length_exceeded",
    )


def xai_overflow(window: int, request: int) -> ModelHTTPError:
    """Grok: the body is a plain text with both numbers."""
    return ModelHTTPError.for_category(
        ModelContextWindowExceededError,
        status_code=400,
        model_name=MODEL_NAME,
        body=f"This model's maximum prompt length is {window} but the request contains "
        f"{request} tokens.",
        provider_error_code="INVALID_ARGUMENT",
    )


def openrouter_overflow(window: int, request: int) -> ModelHTTPError:
    """OpenRouter: both numbers in the text, no code."""
    message = (
        f"This endpoint's maximum context length is {window} tokens. However, you requested about "
        f"{request} tokens ({request} of text input). Please reduce the length of either one."
    )
    return ModelHTTPError.for_category(
        ModelContextWindowExceededError,
        status_code=400,
        model_name=MODEL_NAME,
        body={"message": message, "code": 400},
        provider_error_code="400",
    )


def llama_cpp_overflow(window: int, request: int) -> ModelHTTPError:
    """llama.cpp's server: a plain rejection to pydantic-ai, both numbers as fields."""
    message = (
        f"request ({request} tokens) exceeds the available context size ({window} tokens), "
        "try increasing it"
    )
    return ModelHTTPError.for_category(
        ModelRequestRejectedError,
        status_code=400,
        model_name=MODEL_NAME,
        body={
            "code": 400,
            "message": message,
            "type": "exceed_context_size_error",
            "n_prompt_tokens": request,
            "n_ctx": window,
        },
        provider_error_code="400",
        provider_error_type="exceed_context_size_error",
    )


def ollama_overflow(window: int, request: int) -> ModelHTTPError:
    """Ollama: a plain rejection to pydantic-ai; the number in it is the excess."""
    message = f"prompt too long; exceeded max context length by {request - window} tokens"
    return _openai_like(message, ModelRequestRejectedError, None)


def lm_studio_overflow(window: int, request: int) -> ModelHTTPError:
    """LM Studio: a plain rejection to pydantic-ai, both numbers in the text."""
    return ModelHTTPError.for_category(
        ModelRequestRejectedError,
        status_code=400,
        model_name=MODEL_NAME,
        body=f"Trying to keep the first {request} tokens when context the overflows. However, the "
        f"model is loaded with context length of only {window} tokens, which is not enough.",
    )


OVERFLOWS: Mapping[str, OverflowMaker] = MappingProxyType(
    {
        "anthropic": anthropic_overflow,
        "bedrock": bedrock_overflow,
        "google": google_overflow,
        "groq": groq_overflow,
        "llama.cpp": llama_cpp_overflow,
        "lm-studio": lm_studio_overflow,
        "mistral": mistral_overflow,
        "ollama": ollama_overflow,
        "openai": openai_overflow,
        "openai-responses": openai_responses_overflow,
        "openrouter": openrouter_overflow,
        "xai": xai_overflow,
    }
)
"""Every provider's way to say that a request was too long."""


def rate_limited(retry_after_s: int = 20) -> ModelHTTPError:
    """HTTP 429: too many tokens a minute, which is no overflow."""
    message = (
        "Rate limit reached for requests on tokens per min (TPM): Limit 30000, Used 29000, "
        f"Requested 4000. Please try again in {retry_after_s}s."
    )
    return ModelHTTPError.for_category(
        ModelRateLimitError,
        status_code=429,
        model_name=MODEL_NAME,
        body={"message": message, "type": "tokens", "code": "rate_limit_exceeded"},
        headers={"retry-after": str(retry_after_s)},
        provider_error_code="rate_limit_exceeded",
        provider_error_type="tokens",
    )


def overloaded() -> ModelHTTPError:
    """HTTP 529: Anthropic has no capacity at the moment."""
    return _anthropic(529, ModelOverloadedError, "overloaded_error", "Overloaded")


def quota_exceeded() -> ModelHTTPError:
    """HTTP 429: the account is exhausted; waiting does not help."""
    body = {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota",
        "code": "insufficient_quota",
    }
    return ModelHTTPError.for_category(
        ModelQuotaExceededError,
        status_code=429,
        model_name=MODEL_NAME,
        body=body,
        provider_error_code="insufficient_quota",
        provider_error_type="insufficient_quota",
    )


def authentication_failed() -> ModelHTTPError:
    """HTTP 401: the key is wrong."""
    return _anthropic(401, ModelAuthenticationError, "authentication_error", "invalid x-api-key")


def server_error() -> ModelHTTPError:
    """HTTP 500."""
    return ModelHTTPError.for_category(
        ModelServerError,
        status_code=500,
        model_name=MODEL_NAME,
        body={"message": "The server had an error while processing your request."},
    )


def connection_lost() -> ModelConnectionError:
    """The connection broke while the answer was read."""
    return ModelConnectionError(MODEL_NAME, "Connection error.", phase="read")


def timed_out() -> ModelTimeoutError:
    """The client gave up waiting for the answer."""
    return ModelTimeoutError(MODEL_NAME, "Request timed out.", phase="read")


def _openai_like(
    message: str, category: type[ModelRequestRejectedError], code: str | None
) -> ModelHTTPError:
    return ModelHTTPError.for_category(
        category,
        status_code=400,
        model_name=MODEL_NAME,
        body={
            "message": message,
            "type": "invalid_request_error",
            "param": "messages",
            "code": code,
        },
        provider_error_code=code,
        provider_error_type="invalid_request_error",
    )


def _anthropic(
    status: int,
    category: type[ModelOverloadedError | ModelAuthenticationError | ModelRequestRejectedError],
    kind: str,
    message: str,
) -> ModelHTTPError:
    return ModelHTTPError.for_category(
        category,
        status_code=status,
        model_name=MODEL_NAME,
        body={"type": "error", "error": {"type": kind, "message": message}},
        provider_error_type=kind,
    )
