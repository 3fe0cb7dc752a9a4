"""Compaction for any pydantic-ai agent: wrap its model, and its history stays whole.

``Agent(CompactingModel("anthropic:…"))`` is all. What the agent hands over only tells what is new;
originals, records and view are kept here, one conversation each.
"""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from palimpsest.core.errors import ForeignStateError
from palimpsest.core.excerpt import Json
from palimpsest.core.receipt import Receipt
from palimpsest.core.record_codec import JsonObject
from palimpsest.core.records import Checkpoint, Record
from palimpsest.formats.prompts import starts_turn
from palimpsest.models.candidates import CandidateMaker
from palimpsest.models.cap import cap_request
from palimpsest.models.engine import Engine, EngineSettings
from palimpsest.models.engine_events import EngineEvent
from palimpsest.models.engine_model import EngineModel, Outgoing, RequestLimits
from palimpsest.models.history import History
from palimpsest.models.limits import (
    NO_CHOICES,
    LimitChoices,
    Limits,
    ModelLimits,
    model_limits,
    request_fixed_measure,
)
from palimpsest.models.overflow import Overflow
from palimpsest.models.resolve import ModelChoice, resolve_model
from palimpsest.models.state import NEW, CompactionState
from palimpsest.models.summarizer import ExtractiveSummarizer, Summarizer
from palimpsest.models.taken import DIALECT, Taken, joined
from palimpsest.models.timeline import Timeline

MOST_CONVERSATIONS = 64
"""Conversations kept at once. One that is dropped starts anew from its whole history."""

Listener = Callable[[EngineEvent], None]


class CompactingModel(WrapperModel):
    """Wraps a model so that every request fits its window.

    The agent's history is never changed. One instance serves many conversations, told apart by
    pydantic-ai's conversation id; requests of one conversation must not overlap.
    """

    def __init__(
        self,
        wrapped: ModelChoice,
        *,
        limits: LimitChoices = NO_CHOICES,
        settings: EngineSettings | None = None,
        summarizer: Summarizer | None = None,
        on_event: Listener | None = None,
    ) -> None:
        """Wrap a model.

        Args:
            wrapped: name, endpoint or model.
            limits: window, largest answer and bytes, where the caller knows better.
            settings: pruning, policy and automatic compaction; None takes the defaults.
            summarizer: None summarises without a model.
            on_event: told of every pruning, compaction and decision.

        Raises:
            UnknownModelError, MissingKeyError, MissingExtraError: the model cannot be had.
        """
        super().__init__(resolve_model(wrapped).model)
        self._choices = limits
        self._engine_settings = settings or EngineSettings()
        self._summarizer = summarizer or ExtractiveSummarizer()
        self._on_event = on_event
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send the view of the conversation and give the reply."""
        model = self._conversation(messages).model
        return await model.request(messages, model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Send the view of the conversation and stream the reply."""
        model = self._conversation(messages).model
        async with model.request_stream(
            messages, model_settings, model_request_parameters, run_context
        ) as stream:
            yield stream

    def checkpoints(self, conversation_id: str) -> Sequence[Checkpoint]:
        """Give the checkpoints of a conversation, oldest first; none for an unknown one."""
        found = self._conversations.get(conversation_id)
        return [] if found is None else list(found.engine.timeline.checkpoints.values())

    def dump(self, messages: Sequence[ModelMessage]) -> JsonObject:
        """Give what is known of a conversation beside its messages, as JSON.

        Args:
            messages: its history, as a run of the agent gave it.

        Raises:
            ForeignStateError: this model knows no conversation that these messages go on with.
        """
        found = self._conversations.get(_key(messages))
        if found is None or not found.continues(joined(messages)):
            raise ForeignStateError(None, "this model has not served these messages")
        return found.state().dump()

    def load(self, messages: Sequence[ModelMessage], state: Json) -> None:
        """Take a conversation up where ``dump`` left it, in another process or much later.

        Args:
            messages: its history, as it was stored; later messages may follow.
            state: what ``dump`` gave.

        Raises:
            InvalidSettingError: the state is none, or was changed.
            ForeignStateError: it belongs to another history, and where they differ.
        """
        found = self._new_conversation(CompactionState.load(state), joined(messages))
        self._keep(_key(messages), found)

    def _conversation(self, messages: Sequence[ModelMessage]) -> _Conversation:
        found = self._conversations.get(_key(messages))
        if found is None or not found.continues(messages):
            found = self._new_conversation(NEW)
        self._keep(_key(messages), found)
        return found

    def _new_conversation(
        self, state: CompactionState, messages: Sequence[ModelMessage] = ()
    ) -> _Conversation:
        return _Conversation(
            self.wrapped,
            choices=self._choices,
            settings=self._engine_settings,
            summarizer=self._summarizer,
            on_event=self._on_event,
            taken=Taken.up(state, messages),
            state=state,
        )

    def _keep(self, key: str, conversation: _Conversation) -> None:
        self._conversations[key] = conversation
        self._conversations.move_to_end(key)
        if len(self._conversations) > MOST_CONVERSATIONS:
            self._conversations.popitem(last=False)


class _Conversation:
    """One conversation: its engine, and what the agent handed over last."""

    def __init__(
        self,
        wrapped: Model,
        *,
        choices: LimitChoices,
        settings: EngineSettings,
        summarizer: Summarizer,
        on_event: Listener | None,
        taken: Taken,
        state: CompactionState,
    ) -> None:
        self._wrapped = wrapped
        self._taken = taken
        self._own_limits = model_limits(wrapped, caller=choices)
        self._limits: ModelLimits = state.known_limits(self._own_limits)
        self.engine = Engine(
            Timeline(History(taken.stored()), state.records),
            settings=settings,
            candidates=CandidateMaker(
                summarizer=summarizer,
                fallback=ExtractiveSummarizer(),
                now_ms=lambda: time.time_ns() // 1_000_000,
                new_id=lambda: str(uuid.uuid4()),
            ),
            save=_keep_in_memory,
            emit=on_event or _ignore,
            meter=state.meter,
            counter=state.counter,
        )
        self.model = EngineModel(
            wrapped,
            engine=self.engine,
            take_in=self._take_in,
            limits=self._limits_of,
            on_overflow=self._on_overflow,
        )

    def continues(self, messages: Sequence[ModelMessage]) -> bool:
        """Whether the messages begin with those handed over last."""
        return self._taken.continues(messages)

    def state(self) -> CompactionState:
        """Give what is known beside the messages."""
        window, bytes_now = self._limits.window, self._limits.byte_limit
        return CompactionState(
            dialect=DIALECT,
            digests=self._taken.digests(),
            pieces=self._taken.pieces,
            records=tuple(self.engine.timeline.records),
            meter=self.engine.meter,
            counter=self.engine.counter,
            window=window.tokens if window.source == "provider_error" else 0,
            byte_limit=0 if bytes_now == self._own_limits.byte_limit else bytes_now,
        )

    async def _take_in(self, outgoing: Outgoing) -> None:
        self._taken, new = self._taken.with_new(outgoing.messages)
        for message in new:
            stored = replace(message, instructions=None) if message.kind == "request" else message
            if self.engine.timeline.outline.prompts and starts_turn(stored):
                self._prune(outgoing)
            self.engine.timeline.append(stored)

    def _prune(self, outgoing: Outgoing) -> None:
        self.engine.begin_run()
        clearing = self.engine.plan_clearing(self._limits_of(outgoing).limits.budget)
        if clearing is not None:
            self.engine.applied(clearing)

    def _limits_of(self, outgoing: Outgoing) -> RequestLimits:
        capped = cap_request(self._wrapped, outgoing.settings, outgoing.parameters, self._limits)
        fixed = request_fixed_measure(outgoing.parameters)
        return RequestLimits(
            limits=Limits(budget=capped.budget, fixed=fixed), settings=capped.settings
        )

    def _on_overflow(self, overflow: Overflow) -> None:
        self._limits = self._limits.after_overflow(overflow, self.engine.timeline.view.measure())


async def _keep_in_memory(record: Record, receipt: Receipt | None) -> None:
    """The timeline holds the record; there is nothing else to store."""
    del record, receipt


def _ignore(event: object) -> None:
    del event


def _key(messages: Sequence[ModelMessage]) -> str:
    """Give the conversation's id; a message that was joined from two runs has none."""
    ids = (message.conversation_id for message in reversed(messages))
    return next((one for one in ids if one), "")
