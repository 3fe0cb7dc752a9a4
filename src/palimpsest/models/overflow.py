"""Telling a request that was too long from every other failure, and reading the numbers in it.

pydantic-ai knows the wordings of some providers; servers behind an OpenAI-compatible address, and
newer wordings, arrive as plain rejections. What an error says is matched against a table, one row
a wording.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
)

from palimpsest.models.thinking import as_mapping

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

Unit: TypeAlias = Literal["tokens", "bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """The provider refused a request as too long.

    Attributes:
        window: context window the error names, tokens; None if it names none.
        request: size of the request the error names, tokens; None if it names none.
        unit: which limit was passed. ``bytes`` is the size of the HTTP body; then no number is
            known.
    """

    window: int | None = None
    request: int | None = None
    unit: Unit = "tokens"


_BAD_REQUEST = 400
_TOO_MANY_REQUESTS = 429

_N = r"(?P<{}>\d[\d,]*)"
_WINDOW, _REQUEST = _N.format("window"), _N.format("request")

_WORDINGS = tuple(
    re.compile(wording, re.IGNORECASE | re.DOTALL)
    for wording in (
        # llama.cpp
        rf"request \({_REQUEST} tokens\) exceeds the available context size \({_WINDOW} tokens\)",
        r"exceeds the available context size",
        # OpenAI and what speaks like it: DeepSeek, OpenRouter, vLLM, SGLang, LiteLLM, Azure
        rf"maximum context length is {_WINDOW} tokens.{{0,80}}?requested (?:about )?{_REQUEST}"
        r" tokens",
        rf"maximum context length is {_WINDOW} tokens.{{0,80}}?resulted in {_REQUEST} tokens",
        rf"maximum context length is {_WINDOW} tokens.{{0,120}}?at least {_REQUEST} input tokens",
        rf"maximum context length is {_WINDOW} tokens.{{0,80}}?request has {_REQUEST} input tokens",
        rf"maximum context length of {_WINDOW} tokens.{{0,80}}?total of {_REQUEST} tokens",
        rf"input length \({_REQUEST}\) exceeds (?:the )?(?:model'?s )?maximum context length"
        rf" \({_WINDOW}\)",
        rf"maximum context length (?:is|of) {_WINDOW} tokens",
        rf"configured limit of {_WINDOW} tokens.{{0,60}}?resulted in {_REQUEST} tokens",
        r"exceeds the context window of this model",
        rf"prompt \((?:total )?length {_REQUEST}\) is (?:longer than the maximum model length of"
        rf"|too long to fit into the model \(context length) {_WINDOW}",
        rf"input \({_REQUEST} tokens\) is longer than the model'?s context length"
        rf" \({_WINDOW} tokens\)",
        # Anthropic, also behind Bedrock and Vertex
        rf"prompt is too long: {_REQUEST} tokens > {_WINDOW} maximum",
        rf"input length and `?max_tokens`? exceed context limit: {_REQUEST} \+ \d+ > {_WINDOW}",
        r"prompt is too long",
        # Google
        rf"input token count \({_REQUEST}\) exceeds the maximum number of tokens allowed"
        rf" \({_WINDOW}\)",
        rf"input token count is {_REQUEST} but model only supports up to {_WINDOW}",
        rf"input token count exceeds the maximum number of tokens allowed \(?{_WINDOW}",
        r"exceeds? the maximum number of tokens allowed",
        # Bedrock
        r"input is too long for (?:the )?requested model",
        r"number of input tokens exceeds maximum length",
        # Mistral
        rf"prompt contains {_REQUEST} tokens.{{0,40}}too large for model with {_WINDOW} maximum",
        # Groq, Cerebras
        rf"current length is {_REQUEST} while limit is {_WINDOW}",
        r"reduce the length of the messages",
        # xAI
        rf"maximum prompt length is {_WINDOW} but the request contains {_REQUEST} tokens",
        # Poolside and others behind OpenRouter
        rf"input length {_REQUEST} exceeds the maximum allowed input length of {_WINDOW} tokens",
        # Ollama
        r"prompt too long; exceeded (?:max )?context length",
        r"input length exceeds the context length",
        # LM Studio
        rf"keep the first {_REQUEST} tokens.{{0,80}}context length of only {_WINDOW} tokens",
        r"greater than the context length",
        rf"reached context length of {_WINDOW} tokens",
        r"context size has been exceeded",
        # Cohere
        rf"tokens in the prompt cannot exceed {_WINDOW} - received {_REQUEST}",
        rf"too many tokens: size limit exceeded by.{{0,120}}the limit is {_WINDOW} tokens",
        r"too many tokens: size limit exceeded",
        # Hugging Face and Together
        rf"must be <= {_WINDOW}\. Given: {_REQUEST} `inputs` tokens",
        # Moonshot, MiniMax, Z.ai, Fireworks, Copilot, DashScope
        rf"exceeded model token limit ?: ?{_WINDOW} \(requested: {_REQUEST}\)",
        rf"exceeded model token limit ?: ?{_WINDOW}",
        r"context window exceeds limit",
        r"prompt exceeds max(?:imum)? (?:context )?length",
        rf"prompt is too long: {_REQUEST}, model maximum context length: {_WINDOW}",
        rf"prompt token count of {_REQUEST} exceeds the limit of {_WINDOW}",
        rf"range of input length should be \[\d+, ?{_WINDOW}\]",
        r"context[ _](?:length|window)[ _]exceeded",
    )
)

_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
        "3051",
    }
)
_TOO_MANY_BYTES = re.compile(
    r"request_too_large|request entity too large|payload too large|string_above_max_length"
    r"|request (?:payload )?(?:size )?exceeds the (?:maximum (?:allowed )?size|limit)",
    re.IGNORECASE,
)
_NO_OVERFLOW = re.compile(
    r"per[ -](?:minute|second|hour|day)|rate[ _-]?limit|too many requests|throttl|quota"
    r"|insufficient credit|credit balance",
    re.IGNORECASE,
)
_OTHER_KINDS = (
    ModelRateLimitError,
    ModelQuotaExceededError,
    ModelOverloadedError,
    ModelAuthenticationError,
    ModelNotFoundError,
)


def classify_overflow(error: Exception) -> Overflow | None:
    """Say whether a failed request was too long for the model.

    Args:
        error: what a pydantic-ai model raised. Of a group, as a fallback model raises it, the
            member with the smallest named window counts.

    Returns:
        None for every other failure, rate limits on tokens and too large output caps included.
    """
    if isinstance(error, ExceptionGroup):
        members = cast("ExceptionGroup[Exception]", error).exceptions
        found = [one for one in map(classify_overflow, members) if one is not None]
        return min(found, key=lambda one: (one.window is None, one.window or 0), default=None)
    if not isinstance(error, ModelAPIError) or isinstance(error, _OTHER_KINDS):
        return None
    return _read(error)


def classify_rejection(body: object, status_code: int = _BAD_REQUEST) -> Overflow | None:
    """Say the same of a failure that a library other than pydantic-ai tells.

    Args:
        body: of the provider's answer, or its text.
        status_code: of the answer.
    """
    if status_code == _TOO_MANY_REQUESTS:
        return None
    said = ModelHTTPError(status_code=status_code, model_name="", body=body)
    return classify_overflow(said)


def silent_overflow(response: ModelResponse, window: int) -> bool:
    """Say whether a reply that came without an error shows that the window was full.

    Either the provider says so, or the answer ended because of its length with the window
    reached, or the input alone fills the window: some servers cut the input in silence.

    Args:
        response: a reply with the provider's usage.
        window: context window, tokens.
    """
    details = response.provider_details or {}
    if details.get("finish_reason") in _CODES:
        return True
    usage = response.usage
    if response.finish_reason == "length":
        return usage.input_tokens + usage.output_tokens >= window
    return usage.input_tokens >= window


def _read(error: ModelAPIError) -> Overflow | None:
    leaves = [*_leaves(error.body)]
    text = "\n".join([*leaves, error.message])
    sizes = [*_named_sizes(error.body)]
    if sizes:
        return sizes[0]
    if _NO_OVERFLOW.search(text):
        return None
    matches = [match for wording in _WORDINGS if (match := wording.search(text))]
    if matches:
        return Overflow(window=_number(matches, "window"), request=_number(matches, "request"))
    named = (
        str(fields.get(name)) for fields in body_objects(error.body) for name in ("code", "type")
    )
    if isinstance(error, ModelContextWindowExceededError) or not _CODES.isdisjoint(named):
        return Overflow()
    too_large = isinstance(error, ModelHTTPError) and error.status_code == 413
    return Overflow(unit="bytes") if too_large or _TOO_MANY_BYTES.search(text) else None


def _number(matches: list[re.Match[str]], name: str) -> int | None:
    """Give the number of the first wording that has it; wordings stand most telling first."""
    for match in matches:
        if number := match.groupdict().get(name):
            return int(number.replace(",", ""))
    return None


def _named_sizes(body: object) -> Iterator[Overflow]:
    """Find the sizes that llama.cpp gives beside its text."""
    for fields in body_objects(body):
        if fields.get("type") == "exceed_context_size_error":
            yield Overflow(
                window=_positive(fields.get("n_ctx")),
                request=_positive(fields.get("n_prompt_tokens")),
            )


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def body_objects(body: object) -> Iterator[Mapping[str, object]]:
    """Give every JSON object of an error's body, the outer first; those in JSON texts, too."""
    match body:
        case Mapping():
            fields = as_mapping(cast("object", body))
            yield fields
            for value in fields.values():
                yield from body_objects(value)
        case list():
            for value in cast("list[object]", body):
                yield from body_objects(value)
        case str() | bytes() if (parsed := _parsed(body)) is not None:
            yield from body_objects(parsed)
        case _:
            return


def _leaves(body: object) -> Iterator[str]:
    """Give every text of a body, without the names of its fields."""
    if isinstance(body, str) and _parsed(body) is None:
        yield body
    for fields in body_objects(body):
        yield from (value for value in fields.values() if isinstance(value, str))


def _parsed(text: str | bytes) -> object | None:
    if text.lstrip()[:1] not in ("{", "[", b"{", b"["):
        return None
    try:
        return cast("object", json.loads(text))
    except ValueError:
        return None
