"""What one model can take: window, largest answer and bytes, each with where it was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from genai_prices.data_snapshot import get_snapshot
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from palimpsest.core.budget import (
    DEFAULT_BYTE_LIMIT,
    DEFAULT_WINDOW_TOKENS,
    NOTHING,
    Budget,
    Measure,
    default_max_output,
    require_positive_integer,
)
from palimpsest.core.estimate import compact_json, system_tokens, text_bytes, tools_tokens
from palimpsest.models.pricing import find_pricing

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters

    from palimpsest.core.excerpt import Json
    from palimpsest.models.overflow import Overflow

LimitSource: TypeAlias = Literal[
    "caller", "settings", "model_profile", "price_table", "provider_error", "assumed"
]

_SAID: Mapping[LimitSource, str] = {
    "caller": "as asked",
    "settings": "from the settings",
    "model_profile": "from the model's profile",
    "price_table": "from the price table",
    "provider_error": "named by the provider",
    "assumed": "assumed: the model's own is not known",
}

BYTE_LIMITS: Mapping[str, int] = {
    # Documented sizes of a whole request, less a tenth for what rendering adds.
    "bedrock": 18_000_000,  # 20 MB
    "google": 18_000_000,  # 20 MB
    "google-cloud": 18_000_000,
    "groq": 3_600_000,  # 4 MB with images, which is what large requests are
}
"""Bytes of one request by provider; 24 MiB for every other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A number of tokens and where it comes from."""

    tokens: int
    source: LimitSource

    def __str__(self) -> str:
        return f"{self.tokens:,} tokens ({_SAID[self.source]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChoices:
    """Limits that somebody chose; None leaves one to the next source.

    Attributes:
        window: context window, tokens.
        max_output: largest answer, tokens.
        byte_limit: bytes of one request.

    Raises:
        InvalidSettingError: a value is no positive integer.
    """

    window: int | None = None
    max_output: int | None = None
    byte_limit: int | None = None

    def __post_init__(self) -> None:
        for name in ("window", "max_output", "byte_limit"):
            value: object = getattr(self, name)
            if value is not None:
                require_positive_integer(name, value)


NO_CHOICES = LimitChoices()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """What one model can take.

    Attributes:
        window: context window.
        max_output: largest answer; never larger than the window.
        byte_limit: bytes of one request.
    """

    window: Limit
    max_output: Limit
    byte_limit: int

    def after_overflow(self, overflow: Overflow, sent: Measure) -> ModelLimits:
        """Give these limits as a rejected request shows them.

        Args:
            overflow: what the provider said; a window that it names replaces the one assumed.
            sent: size of the request; where it had too many bytes, fewer may be sent from now on.
        """
        if overflow.unit == "bytes":
            return replace(self, byte_limit=max(1, min(self.byte_limit, sent.bytes - 1)))
        if overflow.window is None:
            return self
        return self.with_window(Limit(tokens=overflow.window, source="provider_error"))

    def with_window(self, window: Limit) -> ModelLimits:
        """Give these limits with another window, which bounds the largest answer, too."""
        max_output = self.max_output
        if max_output.tokens > window.tokens:
            max_output = window
        return replace(self, window=window, max_output=max_output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request must keep to, and what it carries besides the view.

    Attributes:
        budget: limits of the request.
        fixed: size of its system text and tools, uncalibrated.
    """

    budget: Budget
    fixed: Measure


def model_limits(
    model: Model, *, caller: LimitChoices = NO_CHOICES, settings: LimitChoices = NO_CHOICES
) -> ModelLimits:
    """Find the limits of a model; no request is made.

    A fallback model has the least of its models' limits, so that each of them can take over.
    """
    members = [*member_models(model)]
    window = _chosen("window", caller, settings) or _least(map(_known_window, members))
    if window is None:
        window = Limit(tokens=DEFAULT_WINDOW_TOKENS, source="assumed")
    max_output = _chosen("max_output", caller, settings) or _least(map(_known_output, members))
    if max_output is None:
        max_output = Limit(tokens=default_max_output(window.tokens), source="assumed")
    if max_output.tokens > window.tokens:
        max_output = Limit(tokens=window.tokens, source=window.source)
    return ModelLimits(
        window=window,
        max_output=max_output,
        byte_limit=caller.byte_limit
        or settings.byte_limit
        or min(BYTE_LIMITS.get(member.system, DEFAULT_BYTE_LIMIT) for member in members),
    )


def named_limits(name: str, *, caller: LimitChoices = NO_CHOICES) -> ModelLimits:
    """Find the limits of a model by its name alone: no key and no provider's package is needed.

    Args:
        name: with or without a leading ``provider:``; a name that is not in the price table has the
            window that is assumed.
        caller: limits, where the caller knows better.
    """
    known = find_pricing(name) if name else None
    window = _chosen("window", caller, NO_CHOICES)
    if window is None and known is not None and known.window is not None:
        window = Limit(tokens=known.window, source="price_table")
    window = window or Limit(tokens=DEFAULT_WINDOW_TOKENS, source="assumed")
    max_output = _chosen("max_output", caller, NO_CHOICES)
    if max_output is None:
        max_output = Limit(tokens=default_max_output(window.tokens), source="assumed")
    provider = "" if known is None else known.provider.id
    return ModelLimits(
        window=window,
        max_output=max_output,
        byte_limit=caller.byte_limit or BYTE_LIMITS.get(provider, DEFAULT_BYTE_LIMIT),
    ).with_window(window)


def member_models(model: Model) -> Iterator[Model]:
    """Give the models that speak to providers, behind wrappers and fallbacks, in their order."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if isinstance(model, FallbackModel):
        for member in model.models:
            yield from member_models(member)
    else:
        yield model


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOverhead:
    """Sizes of what stands in every request beside its messages, uncalibrated."""

    system: Measure = NOTHING
    tools: Measure = NOTHING

    @property
    def total(self) -> Measure:
        """System text and tools."""
        return self.system + self.tools


NO_OVERHEAD = RequestOverhead()


def request_overhead(
    parameters: ModelRequestParameters, instructions: str | None = None
) -> RequestOverhead:
    """Measure system text and tools of a request, each for itself.

    Args:
        parameters: of the request; of the tools, those count that are declared to the model.
        instructions: the system text; None takes the instructions that ``parameters`` carry.
            System prompts inside messages are measured with their messages.
    """
    if instructions is None:
        instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
    tools: list[Json] = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "parameters": cast("Json", tool.parameters_json_schema),
        }
        for tool in parameters.declared_tool_defs.values()
    ]
    tools_bytes = text_bytes(compact_json(tools)) if tools else 0
    return RequestOverhead(
        system=Measure(tokens=system_tokens(instructions), bytes=text_bytes(instructions)),
        tools=Measure(tokens=tools_tokens(tools), bytes=tools_bytes),
    )


def request_fixed_measure(
    parameters: ModelRequestParameters, instructions: str | None = None
) -> Measure:
    """Measure system text and tools together; see ``request_overhead``."""
    return request_overhead(parameters, instructions).total


def _chosen(
    name: Literal["window", "max_output"], caller: LimitChoices, settings: LimitChoices
) -> Limit | None:
    by_caller, by_settings = (
        (caller.window, settings.window)
        if name == "window"
        else (caller.max_output, settings.max_output)
    )
    if by_caller is not None:
        return Limit(tokens=by_caller, source="caller")
    return None if by_settings is None else Limit(tokens=by_settings, source="settings")


def _least(limits: Iterator[Limit | None]) -> Limit | None:
    known = [limit for limit in limits if limit is not None]
    return min(known, key=lambda limit: limit.tokens) if known else None


def _known_window(model: Model) -> Limit | None:
    """Read the profile; pydantic-ai fills it from the price table where nobody else did."""
    tokens = model.context_window
    if tokens is None:
        return None
    in_table = _price_table_window(model) == tokens
    return Limit(tokens=tokens, source="price_table" if in_table else "model_profile")


def _price_table_window(model: Model) -> int | None:
    try:
        _, found = get_snapshot().find_provider_model(model.model_name, None, model.system, None)
    except LookupError:
        return None
    return found.context_window


def _known_output(model: Model) -> Limit | None:
    tokens = cast("Mapping[str, object]", model.profile).get("anthropic_max_output_tokens")
    return Limit(tokens=tokens, source="model_profile") if isinstance(tokens, int) else None
