"""The thinking budget that a request's payload will carry, read as each adapter will write it.

Only budgets in tokens that the provider counts inside the output cap are of interest. Adaptive
thinking and effort levels name no number, so they add nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from pydantic_ai.profiles.anthropic import ANTHROPIC_THINKING_BUDGET_MAP

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings, ThinkingLevel

# As pydantic-ai's adapters translate the unified setting; a test compares with what they send.
_GEMINI_BUDGETS = {
    "minimal": 128,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}
_COHERE_BUDGETS = {
    "minimal": 512,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 31_000,
    "max": 31_000,
}


def thinking_budget(
    model: Model, settings: ModelSettings, parameters: ModelRequestParameters
) -> int:
    """Give the thinking tokens that the payload asks for inside its output cap.

    Args:
        model: no wrapper and no fallback: the model that speaks to a provider.
        settings: merged with the model's own.
        parameters: of the request; they may carry the unified thinking setting.
    """
    explicit = cast("Mapping[str, object]", settings)
    profile = cast("Mapping[str, object]", model.profile)
    level = _unified_level(explicit, parameters, profile)
    match model.system:
        case "anthropic":
            body = as_mapping(explicit.get("extra_body"))
            config = body.get("thinking") or explicit.get("anthropic_thinking")
            adaptive = profile.get("anthropic_supports_adaptive_thinking")
            return _anthropic_budget(config, level, adaptive=bool(adaptive))
        case "bedrock" if profile.get("bedrock_thinking_variant") == "anthropic":
            fields = as_mapping(explicit.get("bedrock_additional_model_requests_fields"))
            adaptive = profile.get("bedrock_supports_adaptive_thinking")
            return _anthropic_budget(fields.get("thinking"), level, adaptive=bool(adaptive))
        case "google" | "google-cloud":
            return _google_budget(explicit, level, profile)
        case "openrouter":
            body = as_mapping(explicit.get("extra_body"))
            config = explicit.get("openrouter_reasoning") or body.get("reasoning")
            return _count(as_mapping(config).get("max_tokens"))
        case "cohere":
            return _COHERE_BUDGETS.get(level, 0) if isinstance(level, str) else 0
        case _:
            return 0


def as_mapping(value: object) -> Mapping[str, object]:
    """Give a mapping as it is, and an empty one for anything else."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _unified_level(
    settings: Mapping[str, object],
    parameters: ModelRequestParameters,
    profile: Mapping[str, object],
) -> ThinkingLevel | None:
    level = cast("ThinkingLevel | None", settings.get("thinking", parameters.thinking))
    can_think = profile.get("supports_thinking") or profile.get("thinking_always_enabled")
    return level if can_think else None


def _anthropic_budget(config: object, level: ThinkingLevel | None, *, adaptive: bool) -> int:
    if config:
        explicit = as_mapping(config)
        return _count(explicit.get("budget_tokens")) if explicit.get("type") == "enabled" else 0
    if adaptive or level is None or level is False:
        return 0
    return ANTHROPIC_THINKING_BUDGET_MAP[level]


def _google_budget(
    settings: Mapping[str, object], level: ThinkingLevel | None, profile: Mapping[str, object]
) -> int:
    if config := settings.get("google_thinking_config"):
        return _count(as_mapping(config).get("thinking_budget"))
    if profile.get("google_supports_thinking_level", True):
        return 0
    if level is False and profile.get("thinking_always_enabled"):
        return _GEMINI_BUDGETS["minimal"]
    return _GEMINI_BUDGETS.get(level, 0) if isinstance(level, str) else 0


def _count(value: object) -> int:
    """Give a count of tokens; Gemini writes -1 for "as the model likes", which is no budget."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
