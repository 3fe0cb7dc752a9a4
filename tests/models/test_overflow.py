from __future__ import annotations

import json

import pytest
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage

from palimpsest.models.overflow import Overflow, classify_overflow, silent_overflow
from palimpsest.testing import provider_errors
from palimpsest.testing.provider_errors import OVERFLOWS


def rejected(body: object, status: int = 400) -> ModelHTTPError:
    """What pydantic-ai makes of a 400 whose wording it does not know."""
    return ModelHTTPError.for_category(
        ModelRequestRejectedError, status_code=status, model_name="m", body=body
    )


# (provider, wording, window, request)
WORDINGS: list[tuple[str, str, int | None, int | None]] = [
    (
        "openai, older",
        "This model's maximum context length is 4097 tokens, however you requested 4231 tokens "
        "(3975 in your prompt; 256 for the completion). Please reduce your prompt; or completion "
        "length.",
        4097,
        4231,
    ),
    (
        "openai",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "130512 tokens (129000 in the messages, 1512 in the functions). Please reduce the length "
        "of the messages or functions.",
        128_000,
        130_512,
    ),
    (
        "openai, configured limit",
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
        "290001 tokens. Please reduce the length of the messages.",
        272_000,
        290_001,
    ),
    (
        "openai responses",
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
        None,
        None,
    ),
    ("anthropic", "prompt is too long: 213462 tokens > 200000 maximum", 200_000, 213_462),
    (
        "anthropic, with the cap",
        "input length and `max_tokens` exceed context limit: 199485 + 20000 > 200000, decrease "
        "input length or `max_tokens` and try again",
        200_000,
        199_485,
    ),
    (
        "anthropic behind bedrock",
        "The model returned the following errors: prompt is too long: 200049 tokens > 200000 "
        "maximum",
        200_000,
        200_049,
    ),
    ("bedrock", "Input is too long for requested model.", None, None),
    (
        "bedrock nova",
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the "
        "input to try again.",
        None,
        None,
    ),
    (
        "bedrock llama",
        "This model's maximum context length is 8192 tokens. Please reduce the length of the "
        "prompt",
        8192,
        None,
    ),
    (
        "gemini",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        1_048_575,
        1_196_265,
    ),
    (
        "gemini, one number",
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        1_048_576,
        None,
    ),
    (
        "vertex",
        "Unable to submit request because the input token count is 1100000 but model only "
        "supports up to 1048576. Reduce the input token count and try again.",
        1_048_576,
        1_100_000,
    ),
    (
        "mistral",
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        32_768,
        65_673,
    ),
    (
        "groq, cerebras",
        "Please reduce the length of the messages or completion. Current length is 140000 while "
        "limit is 131072",
        131_072,
        140_000,
    ),
    ("groq", "Please reduce the length of the messages or completion.", None, None),
    (
        "xai",
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        131_072,
        136_973,
    ),
    (
        "openrouter",
        "This endpoint's maximum context length is 32768 tokens. However, you requested about "
        "42832 tokens (42832 of text input). Please reduce the length of either one.",
        32_768,
        42_832,
    ),
    (
        "poolside behind openrouter",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        131_040,
        131_393,
    ),
    (
        "vllm",
        "This model's maximum context length is 262144 tokens. However, you requested 0 output "
        "tokens and your prompt contains at least 262145 input tokens, for a total of at least "
        "262145 tokens.",
        262_144,
        262_145,
    ),
    (
        "vllm, prompt and cap",
        "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context "
        "length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
        4096,
        2104,
    ),
    (
        "vllm, decoder",
        "The decoder prompt (length 163840) is longer than the maximum model length of 131072. "
        "Make sure that `max_model_len` is no smaller than the number of text tokens.",
        131_072,
        163_840,
    ),
    (
        "vllm, older",
        "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
        4096,
        25_938,
    ),
    (
        "sglang, together",
        "The input (400013 tokens) is longer than the model's context length (262144 tokens).",
        262_144,
        400_013,
    ),
    (
        "litellm",
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You "
        "requested a total of 140000 tokens: 136000 tokens from the input messages and 4000 "
        "tokens for the completion.",
        131_072,
        140_000,
    ),
    (
        "in parentheses",
        "Input length (265330) exceeds model's maximum context length (262144).",
        262_144,
        265_330,
    ),
    ("ollama", "prompt too long; exceeded max context length by 4 tokens", None, None),
    ("ollama runner", "the input length exceeds the context length", None, None),
    (
        "llama.cpp, text only",
        "request (2579 tokens) exceeds the available context size (2048 tokens), try increasing it",
        2048,
        2579,
    ),
    (
        "llama.cpp, older",
        "the request exceeds the available context size. try increasing the context size or "
        "enable context shift",
        None,
        None,
    ),
    (
        "lm studio",
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is "
        "loaded with context length of only 32768 tokens, which is not enough.",
        32_768,
        111_490,
    ),
    (
        "lm studio, older",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        None,
        None,
    ),
    (
        "lm studio, mid-generation",
        "Reached context length of 4096 tokens with model X, but this model does not currently "
        "support mid-generation context overflow",
        4096,
        None,
    ),
    ("lm studio mlx", "Context size has been exceeded.", None, None),
    (
        "cohere",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. "
        "Try using a shorter prompt, or enabling prompt truncating.",
        4081,
        4292,
    ),
    (
        "cohere, newer",
        "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. "
        "The limit is 131072 tokens for this model.",
        131_072,
        None,
    ),
    (
        "hugging face",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 "
        "`inputs` tokens and 60 `max_new_tokens`",
        2048,
        3474,
    ),
    ("kimi", "Your request exceeded model token limit : 131072", 131_072, None),
    (
        "kimi code",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 274543)",
        262_144,
        274_543,
    ),
    ("minimax", "invalid params, context window exceeds limit (2013)", None, None),
    ("z.ai", "Prompt exceeds max length", None, None),
    (
        "fireworks",
        "The prompt is too long: 140,000, model maximum context length: 131,072",
        131_072,
        140_000,
    ),
    ("copilot", "prompt token count of 130001 exceeds the limit of 128000", 128_000, 130_001),
    ("dashscope", "Range of input length should be [1, 129024]", 129_024, None),
]


@pytest.mark.parametrize(
    ("text", "window", "request_tokens"),
    [row[1:] for row in WORDINGS],
    ids=[row[0] for row in WORDINGS],
)
@pytest.mark.parametrize(
    "shape",
    [
        lambda text: {"message": text, "code": 400},
        lambda text: {"error": {"message": text, "type": "BadRequestError"}},
        lambda text: text,
        lambda text: json.dumps({"object": "error", "message": text}),
        lambda text: {"message": "Provider returned error", "metadata": {"raw": [text]}},
    ],
    ids=["flat", "nested", "text", "json text", "wrapped"],
)
def test_every_wording_is_known_in_every_shape_of_body(
    shape: object, text: str, window: int | None, request_tokens: int | None
) -> None:
    assert callable(shape)
    error = rejected(shape(text))
    assert classify_overflow(error) == Overflow(window=window, request=request_tokens)


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_the_status_does_not_matter(status: int) -> None:
    error = ModelHTTPError(status, "m", {"message": WORDINGS[0][1]})
    assert classify_overflow(error) == Overflow(window=4097, request=4231)


def test_a_message_without_a_body_is_read() -> None:
    error = ModelAPIError("m", "prompt is too long: 5 tokens > 4 maximum", in_stream=True)
    assert classify_overflow(error) == Overflow(window=4, request=5)


NUMBERS = {
    "bedrock": Overflow(),
    "openai-responses": Overflow(),
    "ollama": Overflow(),
}


@pytest.mark.parametrize("provider", OVERFLOWS)
def test_the_errors_of_the_scripted_model_are_known(provider: str) -> None:
    error = OVERFLOWS[provider](2048, 2579)
    expected = NUMBERS.get(provider, Overflow(window=2048, request=2579))
    assert classify_overflow(error) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"code": "context_length_exceeded", "message": "no"},
        {"error": {"type": "model_context_window_exceeded"}},
        '{"code": 3051}',
        {"type": "exceed_context_size_error", "n_ctx": 0, "n_prompt_tokens": "many"},
        b'[{"code": "model_max_prompt_tokens_exceeded"}]',
    ],
)
def test_a_code_alone_is_enough(body: object) -> None:
    assert classify_overflow(rejected(body)) == Overflow()


def test_pydantic_ai_is_believed_without_any_known_wording() -> None:
    assert classify_overflow(ModelContextWindowExceededError("m", "nope")) == Overflow()


@pytest.mark.parametrize(
    "error",
    [
        rejected(
            {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
            413,
        ),
        rejected("Request payload size exceeds the limit: 20971520 bytes."),
        rejected({"code": "string_above_max_length", "message": "Invalid 'input'"}),
        rejected("<html>413 Request Entity Too Large</html>"),
        rejected(None, 413),
    ],
)
def test_too_many_bytes_are_an_overflow_of_bytes(error: ModelHTTPError) -> None:
    assert classify_overflow(error) == Overflow(unit="bytes")


@pytest.mark.parametrize(
    "error",
    [
        provider_errors.rate_limited(),
        provider_errors.overloaded(),
        provider_errors.quota_exceeded(),
        provider_errors.authentication_failed(),
        provider_errors.server_error(),
        provider_errors.connection_lost(),
        provider_errors.timed_out(),
        # Groq refuses by a limit per minute with status 413.
        rejected(
            "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested "
            "7012, please reduce your message size and try again.",
            413,
        ),
        rejected("ThrottlingException: Too many tokens, please wait before trying again."),
        rejected("max_tokens is too large: 32768. This model supports at most 16384 completion"),
        rejected(
            "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for x"
        ),
        rejected("`max_tokens` must be less than or equal to `8192`"),
        rejected("max_tokens=5000 cannot be greater than max_model_len=max_total_tokens=4096"),
        rejected("maxOutputTokens value of 100000 but the supported range is from 1 to 65537"),
        rejected("You exceeded your current quota of input tokens"),
        rejected("tool_use ids were found without tool_result blocks"),
        rejected("{not json"),
        rejected({"code": True, "n_ctx": 4}),
        UnexpectedModelBehavior("Model token limit exceeded before any response was generated"),
        ValueError("prompt is too long: 5 tokens > 4 maximum"),
    ],
)
def test_near_misses_are_no_overflow(error: Exception) -> None:
    assert classify_overflow(error) is None


def test_of_a_group_the_smallest_named_window_counts() -> None:
    group = FallbackExceptionGroup(
        "all failed",
        [
            provider_errors.rate_limited(),
            OVERFLOWS["bedrock"](1, 2),
            OVERFLOWS["anthropic"](200_000, 250_000),
            OVERFLOWS["openai"](128_000, 250_000),
        ],
    )
    assert classify_overflow(group) == Overflow(window=128_000, request=250_000)
    assert classify_overflow(FallbackExceptionGroup("x", [provider_errors.overloaded()])) is None


@pytest.mark.parametrize(
    ("finish", "input_tokens", "output_tokens", "expected"),
    [
        ("length", 1_800, 248, True),
        ("length", 1_800, 247, False),
        ("length", 2_048, 0, True),
        ("stop", 2_047, 1, False),
        ("stop", 2_048, 0, True),
        (None, 3_000, 5, True),
        ("stop", 0, 0, False),
    ],
)
def test_a_full_window_shows_in_usage(
    finish: str | None, input_tokens: int, output_tokens: int, expected: bool
) -> None:
    response = ModelResponse(
        parts=[TextPart(content="x")],
        usage=RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens),
        finish_reason=finish,  # type: ignore[arg-type]
    )
    assert silent_overflow(response, 2_048) is expected


def test_a_provider_may_say_that_the_window_is_full() -> None:
    details = {"finish_reason": "model_context_window_exceeded"}
    response = ModelResponse(parts=[], finish_reason="length", provider_details=details)
    assert silent_overflow(response, 200_000)
