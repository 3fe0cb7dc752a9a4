"""The output cap of one request, fixed just before sending, and the budget that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pydantic_ai.settings import ModelSettings, merge_model_settings

from palimpsest.core.budget import Budget, output_reserve, require_positive_integer
from palimpsest.core.errors import InvalidSettingError
from palimpsest.models.limits import member_models
from palimpsest.models.thinking import as_mapping, thinking_budget

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters

    from palimpsest.models.limits import ModelLimits

# Names under which a request's raw body can carry a cap, whatever the dialect.
_CAP_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class CappedRequest:
    """A request's settings with its cap made explicit, and the budget it has.

    Attributes:
        settings: to send in place of the caller's.
        budget: limits of the request; its reserve holds the answer and the thinking.
        thinking: tokens of thinking inside the reserve.
    """

    settings: ModelSettings
    budget: Budget
    thinking: int


def cap_request(
    model: Model,
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    limits: ModelLimits,
) -> CappedRequest:
    """Fix the cap of a request and reserve what its answer may take.

    A cap that stands in the raw body (``extra_body``, Bedrock's additional fields) is what the
    provider obeys: it raises the reserve, and then none is set beside it. A model whose API takes
    no cap reserves its largest answer. A fallback model reserves the most that one of its models
    would.

    Args:
        model: the one that will be asked, wrappers included.
        settings: of the request; the model's own stand behind them.
        parameters: of the request.
        limits: of the model.

    Raises:
        InvalidSettingError: a cap is no positive integer, or one in the raw body is above the
            model's largest answer.
    """
    max_output = limits.max_output.tokens
    needs = [_need(member, settings, parameters, max_output) for member in member_models(model)]
    need = max(needs, key=lambda one: one.reserve)
    own = ModelSettings() if settings is None else settings.copy()
    asked = _cap(merge_model_settings(model.settings, own))
    if asked is not None:
        own["max_tokens"] = min(asked, need.reserve)
    elif not any(one.fixed for one in needs):
        own["max_tokens"] = need.reserve
    return CappedRequest(
        settings=own,
        budget=Budget(
            window=limits.window.tokens,
            reserved_output=need.reserve,
            byte_limit=limits.byte_limit,
        ),
        thinking=need.thinking,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Need:
    """What one model needs; ``fixed`` where it has a cap of its own, or takes none."""

    reserve: int
    thinking: int
    fixed: bool


def _need(
    model: Model,
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
    max_output: int,
) -> _Need:
    resolved = merge_model_settings(model.settings, settings) or ModelSettings()
    thinking = thinking_budget(model, resolved, parameters)
    if not _takes_cap(model):
        return _Need(reserve=max_output, thinking=thinking, fixed=True)
    cap = _cap(resolved)
    overrides = [*_overrides(resolved, max_output)]
    if overrides:
        cap = max(overrides) if cap is None else max(cap, *overrides)
    reserve = output_reserve(max_output=max_output, cap=cap, thinking=thinking)
    return _Need(reserve=reserve, thinking=min(thinking, reserve), fixed=cap is not None)


def _cap(settings: ModelSettings | None) -> int | None:
    """Give the caller's cap; checked here, since settings may come from a file."""
    value = as_mapping(settings).get("max_tokens")
    if value is None:
        return None
    require_positive_integer("max_tokens", value)
    return cast("int", value)


def _takes_cap(model: Model) -> bool:
    profile = cast("Mapping[str, object]", model.profile)
    refused = profile.get("openai_unsupported_model_settings")
    by_profile = "max_tokens" in refused if isinstance(refused, list | tuple) else False
    return not by_profile and "max_tokens" not in model.unsupported_settings


def _overrides(settings: ModelSettings, max_output: int) -> list[int]:
    """Give the caps of the raw body; an explicit null asks for as much as the model gives."""
    explicit = cast("Mapping[str, object]", settings)
    found: list[int] = []
    for holder in ("extra_body", "bedrock_additional_model_requests_fields"):
        body = as_mapping(explicit.get(holder))
        for name in _CAP_NAMES:
            if name not in body:
                continue
            value = body[name]
            if value is None:
                found.append(max_output)
                continue
            require_positive_integer(f"{holder}.{name}", value)
            tokens = cast("int", value)
            if tokens > max_output:
                raise InvalidSettingError(
                    f"{holder}.{name}",
                    tokens,
                    f"at most {max_output:,}, the model's largest answer",
                )
            found.append(tokens)
    return found
