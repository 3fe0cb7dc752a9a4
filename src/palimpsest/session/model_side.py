"""The model that a session works with: its limits, its summariser, its connections."""

from __future__ import annotations

from contextlib import AsyncExitStack

from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from palimpsest.core.budget import Measure
from palimpsest.models.cap import cap_request
from palimpsest.models.engine_model import Outgoing, RequestLimits
from palimpsest.models.limits import (
    NO_OVERHEAD,
    LimitChoices,
    Limits,
    ModelLimits,
    RequestOverhead,
    model_limits,
    request_overhead,
)
from palimpsest.models.model_summarizer import ModelSummarizer, ModelSummarizerSettings
from palimpsest.models.overflow import Overflow
from palimpsest.models.resolve import ResolvedModel
from palimpsest.models.summarizer import ExtractiveSummarizer, Summarizer
from palimpsest.session.settings import SessionSettings


class ModelSide:
    """One model and what a session learned of it.

    Attributes:
        resolved: the model.
        limits: what it takes, as far as is known.
        fixed: system text and tools of the newest request; not known before the first.
    """

    def __init__(
        self,
        resolved: ResolvedModel,
        settings: SessionSettings,
        *,
        fixed: RequestOverhead = NO_OVERHEAD,
    ) -> None:
        self.resolved = resolved
        self.limits: ModelLimits = model_limits(resolved.model, caller=settings.limits)
        self.fixed = fixed
        self._settings = settings
        self._entered: AsyncExitStack | None = None

    async def enter(self) -> None:
        """Open the provider's connections; again does nothing."""
        if self._entered is None:
            stack = AsyncExitStack()
            await stack.enter_async_context(self.resolved.model)
            self._entered = stack

    async def close(self) -> None:
        """Close them."""
        if self._entered is not None:
            stack, self._entered = self._entered, None
            await stack.aclose()

    def next_limits(self) -> Limits:
        """Give the limits of the next request, as far as they are known before it is made."""
        capped = cap_request(
            self.resolved.model,
            ModelSettings(**self._settings.model_settings),
            ModelRequestParameters(),
            self.limits,
        )
        return Limits(budget=capped.budget, fixed=self.fixed.total)

    def limits_of(self, outgoing: Outgoing) -> RequestLimits:
        """Give the limits of a request."""
        capped = cap_request(
            self.resolved.model, outgoing.settings, outgoing.parameters, self.limits
        )
        self.fixed = request_overhead(outgoing.parameters)
        return RequestLimits(
            limits=Limits(budget=capped.budget, fixed=self.fixed.total), settings=capped.settings
        )

    def learn(self, overflow: Overflow, sent: Measure) -> None:
        """Take in that a request of this size was rejected as too long."""
        self.limits = self.limits.after_overflow(overflow, sent)

    def summarizer(self) -> Summarizer:
        """Give who writes summaries with this model."""
        match self._settings.summarizer:
            case "extractive":
                return ExtractiveSummarizer()
            case "model":
                limits = LimitChoices(
                    window=self.limits.window.tokens,
                    max_output=self.limits.max_output.tokens,
                    byte_limit=self.limits.byte_limit,
                )
                return ModelSummarizer(
                    model=self.resolved.model, settings=ModelSummarizerSettings(limits=limits)
                )
            case chosen:
                return chosen
