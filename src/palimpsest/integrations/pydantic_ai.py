"""A pydantic-ai agent whose every model compacts: ``agent = palimpsest.wrap(agent)``, and no more.

The agent's history, tools and results are what they were; only what its models are sent is a view.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from pydantic_ai.agent import AbstractAgent, AgentRun, WrapperAgent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model

from palimpsest.core.errors import ForeignStateError, InvalidSettingError
from palimpsest.core.excerpt import Json
from palimpsest.core.record_codec import JsonObject
from palimpsest.models.compacting import CompactingModel
from palimpsest.models.engine import EngineSettings
from palimpsest.models.engine_events import EngineEvent
from palimpsest.models.limits import NO_CHOICES, LimitChoices
from palimpsest.models.summarizer import Summarizer

_DepsT = TypeVar("_DepsT")
_OutputT = TypeVar("_OutputT")

MOST_MODELS = 64
"""Models whose conversations one agent remembers: some programs make a new one for each run."""


class CompactingAgent(WrapperAgent[_DepsT, _OutputT]):
    """Wraps an agent; ``wrap`` makes it.

    Every model that a run may use is wrapped in a ``CompactingModel``: the agent's own, the one
    given with the run, and the one of ``override``. One that a capability chooses during the run is
    beyond reach; name a model then.
    """

    def __init__(
        self,
        wrapped: AbstractAgent[_DepsT, _OutputT],
        compacting: Callable[[str | Model], CompactingModel],
    ) -> None:
        super().__init__(wrapped)
        self._compacting = compacting
        self._models: dict[str | int, tuple[str | Model, CompactingModel]] = {}
        self._overridden = 0

    @asynccontextmanager
    async def iter(
        self,
        *args: Any,  # noqa: ANN401 - as the base class has them, whose overloads say the types
        **choices: Any,  # noqa: ANN401
    ) -> AsyncGenerator[AgentRun[_DepsT, Any]]:
        """Run the agent as it does, with its models wrapped."""
        model: str | Model | None = choices.pop("model", None)
        model = model or self.wrapped.model
        if model is None and not self._overridden:
            expected = "set on the agent, given with the run, or overridden"
            raise InvalidSettingError("model", None, expected)
        wrapped = None if model is None else self.compacting_model(model)
        async with self.wrapped.iter(*args, model=wrapped, **choices) as run:
            yield run

    @contextmanager
    def override(self, **choices: Any) -> Generator[None]:  # noqa: ANN401 - as above
        """Override parts of the agent as it does, a model with a wrapped one."""
        is_model = isinstance(choices.get("model"), str | Model)
        if is_model:
            choices["model"] = self.compacting_model(choices["model"])
        self._overridden += is_model
        try:
            with self.wrapped.override(**choices):
                yield
        finally:
            self._overridden -= is_model

    def compacting_model(self, model: str | Model) -> CompactingModel:
        """Give the wrapper of a model; the same one each time, since it knows its conversations.

        The models that were asked for last are kept, see ``MOST_MODELS``; one that comes back later
        starts each of its conversations anew, unless that was dumped and is loaded.
        """
        if isinstance(model, CompactingModel):
            return model
        key = model if isinstance(model, str) else id(model)
        found = self._models.pop(key, None) or (model, self._compacting(model))
        self._models[key] = found
        if len(self._models) > MOST_MODELS:
            del self._models[next(iter(self._models))]
        return found[1]

    def dump(self, messages: Sequence[ModelMessage]) -> JsonObject:
        """Give what is known of a conversation beside its messages, as JSON.

        Args:
            messages: its history, as a run gave it.

        Raises:
            ForeignStateError: no model of this agent has served these messages.
        """
        for _, model in self._models.values():
            try:
                return model.dump(messages)
            except ForeignStateError:
                continue
        raise ForeignStateError(None, "this agent has not served these messages")

    def load(
        self, messages: Sequence[ModelMessage], state: Json, *, model: str | Model | None = None
    ) -> None:
        """Take a conversation up where ``dump`` left it, in another process or much later.

        Args:
            messages: its history, as it was stored.
            state: what ``dump`` gave.
            model: that goes on with it; None means the agent's own.

        Raises:
            InvalidSettingError: the state is none, or was changed; or there is no model.
            ForeignStateError: it belongs to another history, and where they differ.
        """
        chosen: str | Model | None = model or self.wrapped.model
        if chosen is None:
            raise InvalidSettingError("model", None, "set on the agent or named here")
        self.compacting_model(chosen).load(messages, state)


def wrap(
    agent: AbstractAgent[_DepsT, _OutputT],
    *,
    limits: LimitChoices = NO_CHOICES,
    settings: EngineSettings | None = None,
    summarizer: Summarizer | None = None,
    on_event: Callable[[EngineEvent], None] | None = None,
) -> CompactingAgent[_DepsT, _OutputT]:
    """Give an agent like this one, whose requests always fit its model's window.

    Args:
        agent: any pydantic-ai agent; it is not changed.
        limits: window, largest answer and bytes, where the caller knows better.
        settings: pruning, policy and automatic compaction; None takes the defaults.
        summarizer: None summarises without a model.
        on_event: told of every pruning, compaction and decision.
    """

    def compacting(model: str | Model) -> CompactingModel:
        return CompactingModel(
            model, limits=limits, settings=settings, summarizer=summarizer, on_event=on_event
        )

    return CompactingAgent(agent, compacting)
