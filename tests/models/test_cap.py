from __future__ import annotations

from typing import Any, cast

import pytest
from pydantic_ai import direct
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings

from palimpsest.core.errors import InvalidSettingError
from palimpsest.models.cap import CappedRequest, cap_request
from palimpsest.models.limits import LimitChoices, model_limits
from palimpsest.models.overflow import Overflow, classify_overflow
from palimpsest.models.thinking import thinking_budget
from palimpsest.testing import ScriptedModel
from tests.models.wire import (
    ModelMaker,
    Wire,
    anthropic,
    google,
    openai_chat,
    openai_responses,
    openrouter,
)

CHOSEN = LimitChoices(window=200_000, max_output=64_000)
NO_PARAMETERS = ModelRequestParameters()


def settings_of(**fields: object) -> ModelSettings:
    return cast("ModelSettings", fields)


def capped(
    model: Model,
    settings: ModelSettings | None = None,
    parameters: ModelRequestParameters = NO_PARAMETERS,
) -> CappedRequest:
    return cap_request(model, settings, parameters, model_limits(model, caller=CHOSEN))


async def sent(model: Model, settings: ModelSettings) -> ModelAPIError:
    with pytest.raises(ModelAPIError) as caught:
        await direct.model_request(
            model, [ModelRequest.user_text_prompt("hi")], model_settings=settings
        )
    return caught.value


def cap_on(body: dict[str, Any]) -> list[object]:
    config = body.get("generationConfig", {})
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    return [body[name] for name in names if name in body] + [
        config[name] for name in ("maxOutputTokens",) if name in config
    ]


MAKERS: list[tuple[ModelMaker, str]] = [
    (openai_chat, "gpt-5"),
    (openai_responses, "gpt-5"),
    (openrouter, "anthropic/claude-haiku-4-5"),
    (anthropic, "claude-haiku-4-5"),
    (google, "gemini-2.5-flash"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("maker", "name"), MAKERS)
@pytest.mark.parametrize(
    ("asked", "on_wire"), [(None, 64_000), (1_000, 1_000), (64_000, 64_000), (90_000, 64_000)]
)
async def test_the_cap_is_explicit_on_the_wire_and_never_above_the_reserve(
    maker: ModelMaker, name: str, asked: int | None, on_wire: int
) -> None:
    wire = Wire()
    model = maker(wire, name, None)
    request = capped(model, None if asked is None else ModelSettings(max_tokens=asked))
    assert request.budget.reserved_output == on_wire
    await sent(model, request.settings)
    assert [cap_on(body) for body in wire.sent] == [[on_wire]]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("maker", "name", "body"),
    [
        (openai_chat, "gpt-5", {"max_tokens": 5_000}),
        (openai_chat, "gpt-5", {"max_completion_tokens": 5_000}),
        (openai_responses, "gpt-5", {"max_output_tokens": 5_000}),
        (anthropic, "claude-haiku-4-5", {"max_tokens": 5_000}),
    ],
)
async def test_a_cap_in_the_raw_body_raises_the_reserve_and_stands_alone(
    maker: ModelMaker, name: str, body: dict[str, object]
) -> None:
    wire = Wire()
    model = maker(wire, name, settings_of(extra_body=body))
    request = capped(model)
    assert request.budget.reserved_output == 5_000
    if maker is not anthropic:  # its adapter always sends one; the raw body replaces it
        assert "max_tokens" not in request.settings
    await sent(model, request.settings)
    assert [cap_on(one) for one in wire.sent] == [[5_000]]


@pytest.mark.parametrize(
    ("settings", "reserve"),
    [
        (settings_of(max_tokens=1_000, extra_body={"max_tokens": 3_000}), 3_000),
        (settings_of(max_tokens=3_000, extra_body={"max_tokens": 1_000}), 3_000),
        (settings_of(max_tokens=1_000, extra_body={"max_tokens": None}), 64_000),
        (
            settings_of(
                max_tokens=1_000, bedrock_additional_model_requests_fields={"maxTokens": 2_000}
            ),
            2_000,
        ),
        (settings_of(max_tokens=1_000, extra_body="no mapping"), 1_000),
        (settings_of(max_tokens=None), 64_000),
    ],
)
def test_an_override_only_raises(settings: ModelSettings, reserve: int) -> None:
    request = capped(ScriptedModel(), settings)
    assert request.budget.reserved_output == reserve
    assert request.settings.get("max_tokens") in (settings.get("max_tokens"), reserve)


@pytest.mark.parametrize(
    "settings",
    [
        settings_of(max_tokens=0),
        settings_of(max_tokens=True),
        settings_of(max_tokens="many"),
        settings_of(extra_body={"max_completion_tokens": 1.5}),
        settings_of(extra_body={"max_tokens": 64_001}),
    ],
)
def test_an_impossible_cap_is_refused(settings: ModelSettings) -> None:
    with pytest.raises(InvalidSettingError, match="max_"):
        capped(ScriptedModel(), settings)


def test_settings_of_the_caller_are_not_changed() -> None:
    settings = ModelSettings(temperature=0)
    request = capped(ScriptedModel(), settings)
    assert settings == {"temperature": 0}
    assert request.settings == {"temperature": 0, "max_tokens": 64_000}


def test_a_model_whose_api_takes_no_cap_reserves_its_largest_answer() -> None:
    traits = OpenAIModelProfile(openai_unsupported_model_settings=["max_tokens"])
    model = ScriptedModel(profile=cast("ModelProfile", traits))
    request = capped(model, ModelSettings(temperature=0))
    assert request.budget.reserved_output == 64_000
    assert request.settings == {"temperature": 0}


class Uncapped(ScriptedModel):
    unsupported_settings = frozenset({"max_tokens"})


def test_a_fallback_model_reserves_the_most_any_of_its_models_needs() -> None:
    thinking = settings_of(anthropic_thinking={"type": "enabled", "budget_tokens": 9_000})
    model = FallbackModel(
        ScriptedModel(), WrapperModel(ScriptedModel(name="anthropic:x", settings=thinking))
    )
    request = capped(model, ModelSettings(max_tokens=1_000))
    assert (request.budget.reserved_output, request.thinking) == (10_000, 9_000)
    assert request.settings == {"max_tokens": 1_000}
    own_cap = FallbackModel(ScriptedModel(settings=ModelSettings(max_tokens=9)), ScriptedModel())
    assert capped(own_cap).settings == {}
    assert capped(own_cap).budget.reserved_output == 64_000
    assert capped(Uncapped()).budget.reserved_output == 64_000


THINKING: list[tuple[ModelMaker, str, ModelSettings, int]] = [
    (anthropic, "claude-haiku-4-5", settings_of(thinking=True), 10_000),
    (anthropic, "claude-haiku-4-5", settings_of(thinking="high"), 16_384),
    (anthropic, "claude-haiku-4-5", settings_of(thinking=False), 0),
    (anthropic, "claude-haiku-4-5", settings_of(), 0),
    (
        anthropic,
        "claude-haiku-4-5",
        settings_of(thinking="low", anthropic_thinking={"type": "enabled", "budget_tokens": 5_000}),
        5_000,
    ),
    (
        anthropic,
        "claude-haiku-4-5",
        settings_of(extra_body={"thinking": {"type": "enabled", "budget_tokens": 7_000}}),
        7_000,
    ),
    (anthropic, "claude-opus-4-6", settings_of(thinking="high"), 0),
    (anthropic, "claude-opus-4-6", settings_of(anthropic_thinking={"type": "adaptive"}), 0),
    (google, "gemini-2.5-flash", settings_of(thinking="minimal"), 128),
    (google, "gemini-2.5-flash", settings_of(thinking="low"), 2_048),
    (google, "gemini-2.5-flash", settings_of(thinking="medium"), 8_192),
    (google, "gemini-2.5-flash", settings_of(thinking="high"), 24_576),
    (google, "gemini-2.5-flash", settings_of(thinking="max"), 24_576),
    (google, "gemini-2.5-flash", settings_of(thinking=True), 0),
    (google, "gemini-2.5-flash", settings_of(thinking=False), 0),
    (google, "gemini-2.5-pro", settings_of(thinking=False), 128),
    (google, "gemini-3-pro-preview", settings_of(thinking="high"), 0),
    (google, "gemini-2.5-pro", settings_of(google_thinking_config={"thinking_budget": 900}), 900),
    (google, "gemini-2.5-pro", settings_of(google_thinking_config={"thinking_budget": -1}), 0),
    (
        openrouter,
        "anthropic/claude-haiku-4-5",
        settings_of(openrouter_reasoning={"max_tokens": 3_000}),
        3_000,
    ),
    (
        openrouter,
        "anthropic/claude-haiku-4-5",
        settings_of(extra_body={"reasoning": {"max_tokens": 3_100}}),
        3_100,
    ),
    (openrouter, "anthropic/claude-haiku-4-5", settings_of(thinking="high"), 0),
    (openai_chat, "gpt-5", settings_of(thinking="high"), 0),
    (openai_responses, "gpt-5", settings_of(openai_reasoning_effort="high"), 0),
]


def budget_on(body: dict[str, Any]) -> int:
    """Read the thinking budget off the wire, whatever the dialect."""
    config = body.get("generationConfig", {}).get("thinkingConfig", {})
    budgets: tuple[int | None, ...] = (
        body.get("thinking", {}).get("budget_tokens"),
        body.get("reasoning", {}).get("max_tokens"),
        config.get("thinkingBudget", config.get("thinking_budget")),
    )
    return max([0, *(budget for budget in budgets if budget is not None)])


@pytest.mark.anyio
@pytest.mark.parametrize(("maker", "name", "settings", "budget"), THINKING)
@pytest.mark.parametrize("own", [False, True], ids=["of the request", "of the model"])
async def test_the_thinking_budget_is_what_the_adapter_sends(
    maker: ModelMaker, name: str, settings: ModelSettings, budget: int, own: bool
) -> None:
    wire = Wire()
    model = maker(wire, name, settings if own else None)
    asked = settings_of(**({} if own else settings), max_tokens=30_000)
    request = capped(model, asked)
    assert request.thinking == budget
    assert request.budget.reserved_output == min(64_000, 30_000 + budget)
    await sent(model, request.settings)
    assert [budget_on(body) for body in wire.sent] == [budget]


@pytest.mark.parametrize(
    ("name", "profile", "settings", "budget"),
    [
        (
            "bedrock:claude",
            {"bedrock_thinking_variant": "anthropic", "supports_thinking": True},
            settings_of(thinking="low"),
            2_048,
        ),
        (
            "bedrock:claude",
            {"bedrock_thinking_variant": "anthropic"},
            settings_of(
                bedrock_additional_model_requests_fields={
                    "thinking": {"type": "enabled", "budget_tokens": 4_000}
                }
            ),
            4_000,
        ),
        (
            "bedrock:claude",
            {
                "bedrock_thinking_variant": "anthropic",
                "bedrock_supports_adaptive_thinking": True,
                "supports_thinking": True,
            },
            settings_of(thinking=True),
            0,
        ),
        ("bedrock:nova", {"supports_thinking": True}, settings_of(thinking="low"), 0),
        ("cohere:c", {"supports_thinking": True}, settings_of(thinking="medium"), 8_192),
        ("cohere:c", {"supports_thinking": True}, settings_of(thinking=True), 0),
        ("cohere:c", {}, settings_of(thinking="medium"), 0),
        ("anthropic:c", {"supports_thinking": True}, settings_of(thinking=None), 0),
    ],
)
def test_providers_whose_packages_are_not_at_hand(
    name: str, profile: dict[str, object], settings: ModelSettings, budget: int
) -> None:
    model = ScriptedModel(name=name, profile=cast("ModelProfile", profile))
    assert thinking_budget(model, settings, NO_PARAMETERS) == budget


def test_a_thinking_level_may_come_with_the_parameters() -> None:
    model = ScriptedModel(name="cohere:c", profile=ModelProfile(supports_thinking=True))
    parameters = ModelRequestParameters(thinking="low")
    assert thinking_budget(model, ModelSettings(), parameters) == 2_048
    assert thinking_budget(model, ModelSettings(thinking=False), parameters) == 0


GEMINI = "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("maker", "name", "body", "expected"),
    [
        (
            openai_chat,
            "gpt-4o",
            {
                "error": {
                    "message": "This model's maximum context length is 128000 tokens. However, "
                    "your messages resulted in 130000 tokens.",
                    "code": "context_length_exceeded",
                }
            },
            Overflow(window=128_000, request=130_000),
        ),
        (
            openai_chat,
            "local",
            {
                "error": {
                    "code": 400,
                    "message": "request (2579 tokens) exceeds the available context size",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": 2579,
                    "n_ctx": 2048,
                }
            },
            Overflow(window=2048, request=2579),
        ),
        (
            openai_responses,
            "gpt-5",
            {"error": {"message": "Your input exceeds the context window of this model."}},
            Overflow(),
        ),
        (
            anthropic,
            "claude-haiku-4-5",
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "prompt is too long: 213462 tokens > 200000 maximum",
                },
            },
            Overflow(window=200_000, request=213_462),
        ),
        (
            google,
            "gemini-2.5-flash",
            {"error": {"code": 400, "message": GEMINI, "status": "INVALID_ARGUMENT"}},
            Overflow(window=1_048_575, request=1_196_265),
        ),
        (openai_chat, "gpt-4o", {"error": {"message": "no such tool"}}, None),
    ],
)
async def test_overflow_is_recognised_through_real_adapters(
    maker: ModelMaker, name: str, body: object, expected: Overflow | None
) -> None:
    model = maker(Wire(400, body), name, None)
    error = await sent(model, ModelSettings(max_tokens=100))
    assert classify_overflow(error) == expected
