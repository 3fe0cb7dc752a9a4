"""Compaction of a list of messages that somebody else keeps, in whatever dialect they are.

The caller's list is the history: it is read, never changed. What was decided about it is in the
state, which is handed back and forth; the messages to be sent follow from both.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, cast

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.errors import (
    ContextBudgetExceededError,
    ForeignStateError,
    InvalidMessageError,
)
from palimpsest.core.estimate import compact_json, system_tokens, text_bytes, tools_tokens
from palimpsest.core.excerpt import Json
from palimpsest.core.outline import NO_PREFIX
from palimpsest.core.receipt import Receipt
from palimpsest.core.records import Record, active_checkpoint
from palimpsest.formats.content import is_plain_text, text_of
from palimpsest.formats.dialect import Dialect, MessageT, Rendering, Scan
from palimpsest.formats.prompts import starts_turn
from palimpsest.models.candidates import CandidateMaker
from palimpsest.models.compaction import compact
from palimpsest.models.engine import Engine, EngineSettings
from palimpsest.models.engine_events import EngineEvent
from palimpsest.models.history import History
from palimpsest.models.limits import (
    NO_CHOICES,
    LimitChoices,
    Limits,
    ModelLimits,
    model_limits,
    named_limits,
)
from palimpsest.models.overflow import Overflow
from palimpsest.models.preflight import preflight
from palimpsest.models.state import NEW, CompactionState, digests_of
from palimpsest.models.summarizer import ExtractiveSummarizer, Summarizer
from palimpsest.models.timeline import Timeline

Listener = Callable[[EngineEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedMessages(Generic[MessageT]):
    """What is to be sent.

    Attributes:
        messages: the view: the caller's own messages but for those that it replaces or edits.
        state: to be handed over with the same messages, and what follows them, next time.
        receipt: of the newest compaction in this call; None where there was none.
    """

    # Event loops write the result of a task out on their way, and a history is long.
    messages: list[MessageT] = field(repr=False)
    state: CompactionState = field(repr=False)
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """What a request carries beside its messages.

    Attributes:
        system: system text, as text or in blocks.
        tools: declarations, as they are sent.
    """

    system: Json = None
    tools: Sequence[Mapping[str, Any]] = ()

    def measure(self) -> Measure:
        """Give the size, uncalibrated."""
        system = text_of(self.system)
        tools = [cast("Json", dict(tool)) for tool in self.tools]
        return Measure(
            tokens=system_tokens(system) + tools_tokens(tools),
            bytes=text_bytes(system) + (text_bytes(compact_json(tools)) if tools else 0),
        )


NO_OVERHEAD = Overhead()


class MessagesDoNotFitError(ContextBudgetExceededError):
    """The messages do not fit, and nothing made them fit; what was done on the way stays.

    Attributes:
        state: to be handed over with the same messages and what follows them: summaries that
            were saved, and outputs that were cleared, need not be made again.
        receipt: of the newest compaction in this call; None where there was none.
    """

    def __init__(
        self,
        budget: Budget,
        estimate_tokens: int,
        estimate_bytes: int,
        fixed_tokens: int,
        cause: str | None,
        state: CompactionState,
        receipt: Receipt | None,
    ) -> None:
        super().__init__(budget, estimate_tokens, estimate_bytes, fixed_tokens, cause)
        self.args = (*self.args, state, receipt)
        self.state = state
        self.receipt = receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactorSettings:
    """Choices that stay the same from call to call.

    Attributes:
        model: name, or a pydantic-ai model: says how much fits. None assumes 128,000 tokens.
        limits: window, largest answer and bytes, where the caller knows better.
        engine: pruning, policy and automatic compaction.
        summarizer: None summarises without a model.
        on_event: told of every pruning, compaction and decision.
    """

    model: str | Model | None = None
    limits: LimitChoices = NO_CHOICES
    engine: EngineSettings = field(default_factory=EngineSettings)
    summarizer: Summarizer | None = None
    on_event: Listener | None = None

    def model_limits(self, state: CompactionState) -> ModelLimits:
        """Find out what the model can take; what its provider said before counts most."""
        if isinstance(self.model, Model):
            found = model_limits(self.model, caller=self.limits)
        else:
            found = named_limits(self.model or "", caller=self.limits)
        return state.known_limits(found)


class Compactor(Generic[MessageT]):
    """Compacts lists of messages of one dialect; it keeps nothing from call to call."""

    def __init__(self, dialect: Dialect[MessageT], settings: CompactorSettings) -> None:
        self._dialect = dialect
        self._settings = settings

    async def compact(
        self,
        messages: Sequence[MessageT],
        *,
        state: CompactionState | None = None,
        overhead: Overhead = NO_OVERHEAD,
        reported_tokens: int = 0,
        overflow: Overflow | None = None,
    ) -> CompactedMessages[MessageT]:
        """Give what is to be sent; compacts where the request would come under pressure.

        Args:
            messages: the whole history, oldest first; never changed.
            state: of the newest call for this history; None begins.
            overhead: what the request carries besides.
            reported_tokens: the provider's input count of the newest request, cache included.
            overflow: the provider rejected the newest request as too long: compacts in any case.

        Raises:
            InvalidMessageError: a message cannot be read, and why.
            ForeignStateError: the state belongs to another history, and where they differ.
            MessagesDoNotFitError: the request does not fit and nothing made it fit; it holds the
                state with what was done.
        """
        call = self._begin(messages, state or NEW, overhead, reported_tokens, overflow)
        call.take_in()
        try:
            await preflight(call.engine, call.limits, overflow=overflow)
        except ContextBudgetExceededError as error:
            raise call.refused(error) from error
        return call.finish()

    async def compact_now(
        self,
        messages: Sequence[MessageT],
        *,
        state: CompactionState | None = None,
        overhead: Overhead = NO_OVERHEAD,
        focus: str = "",
    ) -> CompactedMessages[MessageT]:
        """Compact whether or not there is pressure; ``focus`` says what to attend to.

        Raises:
            NothingToCompactError: the planner finds no cut.
            FailureError: no summary was made.
            InvalidMessageError, ForeignStateError: as for ``compact``.
        """
        call = self._begin(messages, state or NEW, overhead)
        call.take_in()
        await compact(call.engine, call.limits, focus=focus)
        return call.finish()

    def prune(
        self,
        messages: Sequence[MessageT],
        *,
        state: CompactionState | None = None,
        overhead: Overhead = NO_OVERHEAD,
    ) -> CompactedMessages[MessageT]:
        """Give what is to be sent with old tool outputs cleared; no summary, no refusal.

        Raises:
            InvalidMessageError, ForeignStateError: as for ``compact``.
        """
        call = self._begin(messages, state or NEW, overhead)
        call.take_in()
        return call.finish()

    def _begin(
        self,
        messages: Sequence[MessageT],
        state: CompactionState,
        overhead: Overhead,
        reported_tokens: int = 0,
        overflow: Overflow | None = None,
    ) -> _Call[MessageT]:
        own = list(messages)
        scan = self._dialect.scan(own)
        digests = self.digests(own)
        if state.dialect not in {"", self._dialect.name}:
            reason = f"it was made with {state.dialect} messages, not {self._dialect.name}"
            raise ForeignStateError(None, reason)
        state.check(digests)
        plain = state.dialect == "" and all(map(is_plain_text, cast("list[Json]", own)))
        call = _Call(
            self._dialect,
            own,
            scan,
            replace(state, digests=digests, dialect="" if plain else self._dialect.name),
            seen=len(state.digests),
            fixed=overhead.measure(),
            settings=self._settings,
        )
        if overflow is not None:
            call.learn_limits(overflow)
        call.learn_count(reported_tokens)
        return call

    def digests(self, messages: Sequence[MessageT]) -> tuple[str, ...]:
        """Give the digest of each message, as states hold them.

        Raises:
            InvalidMessageError: a message holds what is no JSON.
        """
        digests: list[str] = []
        for index, message in enumerate(messages):
            try:
                digests += digests_of([self._dialect.identity(message)])
            except (TypeError, ValueError, RecursionError) as error:
                raise InvalidMessageError(index, f"holds what is no JSON: {error}") from error
        return tuple(digests)


class _Call(Generic[MessageT]):
    """One call: the engine put up on the history and its records."""

    def __init__(
        self,
        dialect: Dialect[MessageT],
        messages: Sequence[MessageT],
        scan: Scan,
        state: CompactionState,
        *,
        seen: int,
        fixed: Measure,
        settings: CompactorSettings,
    ) -> None:
        self._model_limits = settings.model_limits(state)
        self._fixed = fixed
        self._dialect = dialect
        self._messages = messages
        self._scan = scan
        self._state = state
        self._listener = settings.on_event
        self._receipt: Receipt | None = None
        self._seen = sum(unit.stop <= seen for unit in scan.units)
        self.engine = Engine(
            self._timeline(),
            settings=settings.engine,
            candidates=CandidateMaker(
                summarizer=settings.summarizer or ExtractiveSummarizer(),
                fallback=ExtractiveSummarizer(),
                now_ms=lambda: time.time_ns() // 1_000_000,
                new_id=lambda: str(uuid.uuid4()),
            ),
            save=_keep,
            emit=self._emit,
            meter=state.meter,
            counter=state.counter,
        )

    def _timeline(self) -> Timeline:
        """Measure what stands behind the cut; what was summarised is read when looked at."""
        active = active_checkpoint(self._state.records)
        prefix = (active.prefix if active else None) or NO_PREFIX
        held = History(
            self._read(prefix.count, self._seen), first=prefix.count, originals=self._read
        )
        return Timeline(held, self._state.records, prefix=prefix)

    def _read(self, start: int, stop: int) -> list[ModelMessage]:
        return [self._scan.read(number) for number in range(start, stop)]

    @property
    def limits(self) -> Limits:
        """What the request must keep to."""
        known = self._model_limits
        budget = Budget(
            window=known.window.tokens,
            reserved_output=known.max_output.tokens,
            byte_limit=known.byte_limit,
        )
        return Limits(budget=budget, fixed=self._fixed)

    def learn_limits(self, overflow: Overflow) -> None:
        """Learn from a rejection; before anything new is taken in."""
        sent = self.engine.timeline.view.measure() + self._state.sent_fixed
        self._model_limits = known = self._model_limits.after_overflow(overflow, sent)
        if overflow.window is not None:
            self._state = replace(self._state, window=known.window.tokens)
        if overflow.unit == "bytes":
            self._state = replace(self._state, byte_limit=known.byte_limit)

    def learn_count(self, reported_tokens: int) -> None:
        """Learn from the provider's count of the newest request; before anything new."""
        sent = Limits(budget=self.limits.budget, fixed=self._state.sent_fixed)
        count = self._state.sent_units
        # What grew since, as replies of the Responses API do, is no longer what was counted.
        if reported_tokens > 0 and 0 < count <= self._seen:
            self.engine.after_reply(sent, message_count=count, reported_tokens=reported_tokens)

    def take_in(self) -> None:
        """Add what is new; old outputs are cleared in front of the newest prompt."""
        new = self._read(self._seen, len(self._scan.units))
        prompts = [number for number, message in enumerate(new) if starts_turn(message)]
        timeline = self.engine.timeline
        for number, message in enumerate(new):
            if prompts and number == prompts[-1]:
                self.engine.begin_run()
                clearing = self.engine.plan_clearing(self.limits.budget)
                if clearing is not None:
                    self.engine.applied(clearing)
            timeline.append(message)

    def finish(self) -> CompactedMessages[MessageT]:
        """Give the view and the state."""
        timeline = self.engine.timeline
        self.engine.dispatch()
        rendering = Rendering(self._dialect, self._messages, self._scan.units)
        return CompactedMessages(
            messages=rendering.write(self.engine.dispatched, timeline.history),
            state=self._now(sent_units=len(self._scan.units)),
            receipt=self._receipt,
        )

    def refused(self, error: ContextBudgetExceededError) -> MessagesDoNotFitError:
        """Give the refusal with the state: nothing was sent, so that no count can be of it."""
        facts = (error.budget, error.estimate_tokens, error.estimate_bytes, error.fixed_tokens)
        state = self._now(sent_units=0)
        return MessagesDoNotFitError(*facts, error.cause, state, self._receipt)

    def _now(self, *, sent_units: int) -> CompactionState:
        return replace(
            self._state,
            records=tuple(self.engine.timeline.records),
            meter=self.engine.meter,
            counter=self.engine.counter,
            sent_units=sent_units,
            sent_fixed=self.limits.fixed,
        )

    def _emit(self, event: EngineEvent) -> None:
        if event.kind == "compaction_end" and event.receipt is not None:
            self._receipt = event.receipt
        if self._listener is not None:
            self._listener(event)


async def _keep(record: Record, receipt: Receipt | None) -> None:
    """The state holds the record once the call ends; there is nothing else to store."""
    del record, receipt
