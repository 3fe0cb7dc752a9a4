from __future__ import annotations

from typing import cast

import pytest
from pydantic_ai.messages import InstructionPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.anthropic import AnthropicModelProfile
from pydantic_ai.tools import ToolDefinition

from palimpsest.core.budget import DEFAULT_BYTE_LIMIT, Measure
from palimpsest.core.errors import InvalidSettingError
from palimpsest.core.estimate import text_tokens
from palimpsest.models.limits import (
    Limit,
    LimitChoices,
    LimitSource,
    member_models,
    model_limits,
    request_fixed_measure,
)
from palimpsest.testing import ScriptedModel
from tests.models.wire import Wire, anthropic, google, openai_chat


@pytest.mark.parametrize(
    ("caller", "settings", "profile", "window", "source"),
    [
        (5_000, 6_000, 7_000, 5_000, "caller"),
        (None, 6_000, 7_000, 6_000, "settings"),
        (None, None, 7_000, 7_000, "model_profile"),
        (None, None, None, 128_000, "assumed"),
    ],
)
def test_the_window_has_one_source(
    caller: int | None, settings: int | None, profile: int | None, window: int, source: LimitSource
) -> None:
    limits = model_limits(
        ScriptedModel(window=profile),
        caller=LimitChoices(window=caller),
        settings=LimitChoices(window=settings),
    )
    assert limits.window == Limit(tokens=window, source=source)


def test_the_price_table_is_a_source_of_its_own() -> None:
    limits = model_limits(openai_chat(Wire(), "gpt-4o"))
    assert limits.window == Limit(tokens=128_000, source="price_table")
    assert str(limits.window) == "128,000 tokens (from the price table)"
    known_under_another_name = ScriptedModel(name="openai:gpt-4o", window=64_000)
    assert model_limits(known_under_another_name).window.source == "model_profile"


@pytest.mark.parametrize(
    ("caller", "settings", "profile", "output", "source"),
    [
        (500, 600, 700, 500, "caller"),
        (None, 600, 700, 600, "settings"),
        (None, None, 700, 700, "model_profile"),
        (None, None, None, 2_000, "assumed"),
        (9_000, None, None, 8_000, "model_profile"),
    ],
)
def test_the_largest_answer_has_one_source(
    caller: int | None, settings: int | None, profile: int | None, output: int, source: LimitSource
) -> None:
    traits = AnthropicModelProfile(anthropic_max_output_tokens=profile)
    limits = model_limits(
        ScriptedModel(window=8_000, profile=cast("ModelProfile", traits)),
        caller=LimitChoices(max_output=caller),
        settings=LimitChoices(max_output=settings),
    )
    assert limits.max_output == Limit(tokens=output, source=source)


@pytest.mark.parametrize("name", ["window", "max_output", "byte_limit"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "1000", float("nan"), float("inf")])
def test_chosen_limits_are_positive_integers(name: str, value: object) -> None:
    with pytest.raises(InvalidSettingError, match=f"{name} must be a positive whole number"):
        LimitChoices(**{name: value})  # type: ignore[arg-type]


def test_bytes_depend_on_the_provider() -> None:
    assert model_limits(ScriptedModel()).byte_limit == DEFAULT_BYTE_LIMIT
    assert model_limits(anthropic(Wire(), "claude-haiku-4-5")).byte_limit == DEFAULT_BYTE_LIMIT
    gemini = google(Wire(), "gemini-2.5-pro")
    assert model_limits(gemini).byte_limit == 18_000_000
    assert model_limits(gemini, settings=LimitChoices(byte_limit=7)).byte_limit == 7
    both = {"caller": LimitChoices(byte_limit=5), "settings": LimitChoices(byte_limit=7)}
    assert model_limits(gemini, **both).byte_limit == 5


def test_a_fallback_model_has_the_least_of_its_models_limits() -> None:
    small, large = ScriptedModel(window=8_000), ScriptedModel(window=200_000)
    unknown = ScriptedModel(name="groq:x")
    model = WrapperModel(FallbackModel(large, WrapperModel(small), unknown))
    assert [*member_models(model)] == [large, small, unknown]
    limits = model_limits(model)
    assert limits.window == Limit(tokens=8_000, source="model_profile")
    assert limits.max_output == Limit(tokens=2_000, source="assumed")
    assert limits.byte_limit == 3_600_000


READ = ToolDefinition(
    name="read", description="Read", parameters_json_schema={"type": "object"}, metadata={"x": 1}
)
HIDDEN = ToolDefinition(name="later", parameters_json_schema={}, defer_loading=True)


@pytest.mark.parametrize(
    ("parameters", "instructions", "measure"),
    [
        (ModelRequestParameters(), "", Measure(tokens=0, bytes=0)),
        (ModelRequestParameters(), "abcd", Measure(tokens=17, bytes=4)),
        (ModelRequestParameters(function_tools=[READ]), "", Measure(tokens=34, bytes=69)),
        (ModelRequestParameters(function_tools=[HIDDEN]), "", Measure(tokens=0, bytes=0)),
        (
            ModelRequestParameters(
                output_tools=[READ],
                instruction_parts=[InstructionPart(content="ab"), InstructionPart(content="cd")],
            ),
            None,
            Measure(tokens=34 + 16 + text_tokens("ab\n\ncd"), bytes=75),
        ),
    ],
)
def test_the_fixed_part_is_system_text_and_declared_tools(
    parameters: ModelRequestParameters, instructions: str | None, measure: Measure
) -> None:
    assert request_fixed_measure(parameters, instructions) == measure
