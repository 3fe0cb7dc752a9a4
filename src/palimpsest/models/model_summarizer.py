"""Summaries by a model: a separate request, checked before it is sent and after it came back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import anyio
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    AgentRunError,
    FallbackExceptionGroup,
    ModelAPIError,
    UserError,
)
from pydantic_ai.messages import (
    ModelRequest,
    NativeToolCallPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.errors import (
    ContextBudgetExceededError,
    SummaryRejectedError,
    SummaryTimeoutError,
)
from palimpsest.core.estimate import MESSAGE_TOKENS, system_tokens, text_bytes, text_tokens
from palimpsest.core.records import SummaryUsage
from palimpsest.core.summary import (
    Summary,
    read_reply,
    summary_instructions,
    summary_output_cap,
)
from palimpsest.core.summary_input import (
    MIN_DOCUMENT_TOKENS,
    merge_documents,
    summary_documents,
)
from palimpsest.models.cap import cap_request
from palimpsest.models.limits import NO_CHOICES, LimitChoices, member_models, model_limits
from palimpsest.models.overflow import classify_overflow
from palimpsest.models.provider_failure import provider_failure
from palimpsest.models.summarizer import GeneratedSummary, SummaryJob
from palimpsest.models.thinking import as_mapping

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

_PARAMETERS = ModelRequestParameters()
_MAX_REASON_CHARS = 300
_ATTEMPTS = 3
_UNLIMITED = 1 << 62
# For models that cannot stop thinking, beside the summary's own tokens.
_THINKING_ROOM_TOKENS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummarizerSettings:
    """Choices of a summarising model.

    Attributes:
        call_timeout_s: seconds for one request.
        total_timeout_s: seconds for one generation, however many requests.
        split_input: summarise input that is too large in chunks, and merge; off: refuse it.
        limits: of the summarising model, where the caller knows better.
    """

    call_timeout_s: float = 120
    total_timeout_s: float = 300
    split_input: bool = True
    limits: LimitChoices = NO_CHOICES


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummarizer:
    """Asks a model for summaries: no tools, one turn, thinking off where that is possible."""

    model: Model
    settings: ModelSummarizerSettings = field(default_factory=ModelSummarizerSettings)

    async def summarise(self, job: SummaryJob) -> GeneratedSummary:
        """Write one summary.

        Input that does not fit is summarised in chunks, whose summaries are merged. Where the
        provider still finds a chunk too long, the generation starts again with smaller ones.

        Raises:
            SummaryRejectedError: the input is empty, the model could not be reached or refused,
                or one of its replies cannot be used.
            SummaryTimeoutError: a request or the generation took too long.
            ContextBudgetExceededError: the input does not fit and may not be split, or not even
                a small chunk fits.
        """
        if not job.rows and not job.previous_summary:
            raise SummaryRejectedError("there is nothing to summarise")
        plan = _plan(self, job)
        generation = _Generation(summarizer=self, plan=plan)
        with anyio.move_on_after(self.settings.total_timeout_s):
            return await generation.run(job)
        raise SummaryTimeoutError(
            self.settings.total_timeout_s, "generation", generation.usage_or_none
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What every request of a generation has in common.

    ``room`` is what one document may cost by ``text_tokens``, before calibration.
    """

    instructions: str
    settings: ModelSettings
    budget: Budget
    fixed: int
    room: int

    def check(self, document: str, job: SummaryJob) -> None:
        """Refuse a document that does not fit.

        Raises:
            ContextBudgetExceededError: with the summariser's own budget.
        """
        raw = self.fixed + text_tokens(document)
        size = Measure(
            tokens=job.calibration.scale(raw),
            bytes=text_bytes(self.instructions) + text_bytes(document),
        )
        if not self.budget.fits(size):
            raise ContextBudgetExceededError(
                self.budget, size.tokens, size.bytes, job.calibration.scale(self.fixed)
            )


def _plan(summarizer: ModelSummarizer, job: SummaryJob) -> _Plan:
    limits = model_limits(summarizer.model, caller=summarizer.settings.limits)
    window, max_output = limits.window.tokens, limits.max_output.tokens
    answer = min(job.max_tokens, summary_output_cap(window=window, max_output=max_output))
    settings = _quiet(summarizer.model)
    cap = answer
    if _always_thinks(summarizer.model):
        cap = min(answer + _THINKING_ROOM_TOKENS, max(answer, window // 4), max_output)
    settings["max_tokens"] = cap
    capped = cap_request(summarizer.model, settings, _PARAMETERS, limits)
    # A budget for thinking stands inside the cap: without it the answer would be cut short.
    capped.settings["max_tokens"] = capped.budget.reserved_output
    instructions = summary_instructions(focus=job.focus)
    fixed = system_tokens(instructions) + MESSAGE_TOKENS
    room = int(capped.budget.largest_fitting / job.calibration.ratio) - fixed
    return _Plan(
        instructions=instructions,
        settings=capped.settings,
        budget=capped.budget,
        fixed=fixed,
        room=room,
    )


def _quiet(model: Model) -> ModelSettings:
    """Override whatever the model's own settings say about thinking, tools and caps."""
    quiet: dict[str, object] = {"thinking": False, "tool_choice": None}
    for member in member_models(model):
        own = as_mapping(member.settings)
        for name in ("anthropic_thinking", "google_thinking_config", "openai_reasoning_effort"):
            if name in own:
                quiet[name] = None
        if "openrouter_reasoning" in own:
            quiet["openrouter_reasoning"] = {"enabled": False}
        for holder in ("extra_body", "bedrock_additional_model_requests_fields"):
            if holder in own:
                quiet[holder] = _without_budgets(as_mapping(own[holder]))
    return cast("ModelSettings", quiet)


def _without_budgets(body: Mapping[str, object]) -> dict[str, object]:
    spoken_for = ("thinking", "reasoning", "max_tokens", "max_completion_tokens")
    return {name: value for name, value in body.items() if name not in spoken_for}


def _always_thinks(model: Model) -> bool:
    return any(one.profile.get("thinking_always_enabled", False) for one in member_models(model))


class _TooLongError(Exception):
    """The provider counts more than we do; caught within this module."""


@dataclass(slots=True, kw_only=True)
class _Generation:
    """One generation under way; counts what its calls cost, also when it fails."""

    summarizer: ModelSummarizer
    plan: _Plan
    usage: SummaryUsage = field(default_factory=SummaryUsage)
    calls: int = 0
    provider: str = ""
    model: str = ""

    @property
    def usage_or_none(self) -> SummaryUsage | None:
        return self.usage if self.calls else None

    async def run(self, job: SummaryJob) -> GeneratedSummary:
        room = self.plan.room
        for _ in range(_ATTEMPTS):
            try:
                summary, parts = await self._summarise(job, room)
            except _TooLongError:
                room //= 2
                if room < MIN_DOCUMENT_TOKENS or not self.summarizer.settings.split_input:
                    break
                continue
            note = (f"The input was summarised in {parts} parts.",) if parts > 1 else ()
            return GeneratedSummary(
                text=summary.text,
                warnings=summary.warnings + note,
                provider=self.provider,
                model=self.model,
                usage=self.usage,
                calls=self.calls,
            )
        raise SummaryRejectedError("the provider finds the input too long", self.usage_or_none)

    async def _summarise(self, job: SummaryJob, room: int) -> tuple[Summary, int]:
        documents = self._documents(job, room)
        parts = len(documents)
        while True:
            merges = 1 if len(documents) > 1 else 0
            foreseen = self.calls + len(documents) + merges
            answers: list[Summary] = []
            for document in documents:
                job.on_call(self.calls + 1, foreseen)
                answers.append(await self._ask(document, job))
            if len(answers) == 1:
                return answers[0], parts
            texts = [answer.text for answer in answers]
            documents = merge_documents(texts, limit_tokens=room)

    def _documents(self, job: SummaryJob, room: int) -> tuple[str, ...]:
        """Lay out the input; in one document where it may not be split, or no chunk would fit."""
        splits = self.summarizer.settings.split_input and room >= MIN_DOCUMENT_TOKENS
        return summary_documents(
            job.rows,
            previous_summary=job.previous_summary,
            limit_tokens=room if splits else _UNLIMITED,
        )

    async def _ask(self, document: str, job: SummaryJob) -> Summary:
        self.plan.check(document, job)
        response = await self._request(document)
        self._count(response)
        called = any(isinstance(p, ToolCallPart | NativeToolCallPart) for p in response.parts)
        finished = response.state == "complete"
        try:
            return read_reply(
                "".join(_texts(response.parts)),
                stop_reason=response.finish_reason if finished else response.state,
                has_tool_calls=called,
            )
        except SummaryRejectedError as error:
            raise SummaryRejectedError(error.reason, self.usage_or_none) from error

    async def _request(self, document: str) -> ModelResponse:
        system = SystemPromptPart(content=self.plan.instructions)
        messages = [ModelRequest(parts=[system, UserPromptPart(content=document)])]
        timeout_s = self.summarizer.settings.call_timeout_s
        try:
            with anyio.move_on_after(timeout_s):
                return await model_request(
                    self.summarizer.model,
                    messages,
                    model_settings=self.plan.settings,
                    model_request_parameters=_PARAMETERS,
                )
        except (AgentRunError, UserError, FallbackExceptionGroup) as error:
            if classify_overflow(error) is not None:
                raise _TooLongError from error
            raise SummaryRejectedError(_reason(error), self.usage_or_none) from error
        raise SummaryTimeoutError(timeout_s, "call", self.usage_or_none)

    def _count(self, response: ModelResponse) -> None:
        self.calls += 1
        self.usage = added_usage(self.usage, response)
        self.provider = response.provider_name or self.summarizer.model.system
        self.model = response.model_name or self.summarizer.model.model_name


def added_usage(usage: SummaryUsage, response: ModelResponse) -> SummaryUsage:
    """Add a reply's usage; ``input`` counts all input tokens, those of the cache included."""
    more = response.usage
    return replace(
        usage,
        input=usage.input + more.input_tokens,
        output=usage.output + more.output_tokens,
        cache_read=usage.cache_read + more.cache_read_tokens,
        cache_write=usage.cache_write + more.cache_write_tokens,
    )


def _texts(parts: Iterable[object]) -> Iterable[str]:
    return (part.content for part in parts if isinstance(part, TextPart))


def _reason(error: Exception) -> str:
    if isinstance(error, ModelAPIError):
        return provider_failure(error).sentence
    text = " ".join(str(error).split())
    shown = text if len(text) <= _MAX_REASON_CHARS else f"{text[:_MAX_REASON_CHARS]}…"
    return f"the request failed ({type(error).__name__}): {shown}"
