"""A model that sends the engine's view instead of the messages it is given.

The agent's own history stays whole and untouched: what it hands over only tells what is new. The
view is built from the stored messages, never from the received list, in which pydantic-ai has
already merged and repaired messages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from palimpsest.formats.encodable import encodable
from palimpsest.formats.pydantic_ai import answers
from palimpsest.models.engine import Engine
from palimpsest.models.limits import Limits
from palimpsest.models.overflow import Overflow, classify_overflow
from palimpsest.models.preflight import preflight


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One main request as the agent asks for it."""

    messages: list[ModelMessage]
    settings: ModelSettings | None
    parameters: ModelRequestParameters


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """What one main request must keep to, and the settings that say so to the provider."""

    limits: Limits
    settings: ModelSettings | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One main request as it is sent."""

    view: list[ModelMessage]
    limits: Limits
    settings: ModelSettings | None


class EngineModel(WrapperModel):
    """Wraps a model; every request is preceded by a preflight and carries the view.

    A rejection as too long is answered by one forced compaction and one more request; only an
    error before the first output is.
    """

    def __init__(
        self,
        wrapped: Model,
        *,
        engine: Engine,
        take_in: Callable[[Outgoing], Awaitable[None]],
        limits: Callable[[Outgoing], RequestLimits],
        on_overflow: Callable[[Overflow], None],
    ) -> None:
        """Wrap a model.

        Args:
            wrapped: the model that answers.
            engine: holds the conversation.
            take_in: adds to the engine what is new in the messages of a request, and saves it.
            limits: what a request must keep to; asked again after ``on_overflow``.
            on_overflow: told of a rejection, whose window replaces the one assumed so far.
        """
        super().__init__(wrapped)
        self._engine = engine
        self._take_in = take_in
        self._limits = limits
        self._on_overflow = on_overflow

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send the view and give the reply."""
        outgoing = Outgoing(
            messages=messages, settings=model_settings, parameters=model_request_parameters
        )
        sent = await self._prepared(outgoing)
        try:
            response = await self.wrapped.request(
                sent.view, sent.settings, model_request_parameters
            )
        except AgentRunError as error:
            sent = await self._recovered(outgoing, error)
            response = await self.wrapped.request(
                sent.view, sent.settings, model_request_parameters
            )
        self._learn(sent.limits, response)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Send the view and stream the reply."""
        outgoing = Outgoing(
            messages=messages, settings=model_settings, parameters=model_request_parameters
        )
        sent = await self._prepared(outgoing)
        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(
                    self.wrapped.request_stream(
                        sent.view, sent.settings, model_request_parameters, run_context
                    )
                )
            except AgentRunError as error:
                sent = await self._recovered(outgoing, error)
                stream = await stack.enter_async_context(
                    self.wrapped.request_stream(
                        sent.view, sent.settings, model_request_parameters, run_context
                    )
                )
            yield stream
            self._learn(sent.limits, stream.get())

    async def _prepared(self, outgoing: Outgoing) -> Prepared:
        await self._take_in(outgoing)
        asked = self._limits(outgoing)
        await preflight(self._engine, asked.limits)
        return self._sendable(outgoing, asked)

    async def _recovered(self, outgoing: Outgoing, error: AgentRunError) -> Prepared:
        overflow = classify_overflow(error)
        if overflow is None:
            raise error
        self._on_overflow(overflow)
        asked = self._limits(outgoing)
        await preflight(self._engine, asked.limits, overflow=overflow)
        return self._sendable(outgoing, asked)

    def _sendable(self, outgoing: Outgoing, asked: RequestLimits) -> Prepared:
        view = sendable(self._engine.dispatch(), outgoing.messages[-1])
        return Prepared(
            view=self.wrapped.prepare_messages(view, outgoing.parameters),
            limits=asked.limits,
            settings=asked.settings,
        )

    def _learn(self, limits: Limits, response: ModelResponse) -> None:
        if response.state == "complete":
            self._engine.after_reply(
                limits,
                message_count=len(self._engine.timeline.history),
                reported_tokens=response.usage.input_tokens,
            )


def sendable(view: Sequence[ModelMessage], received: ModelMessage) -> list[ModelMessage]:
    """Join requests that follow each other, and carry the instructions of the received one.

    Args:
        view: the view's messages.
        received: last message that the agent handed over; it holds this request's instructions.
    """
    joined: list[ModelMessage] = []
    for message in view:
        last = joined[-1] if joined else None
        if isinstance(message, ModelRequest) and isinstance(last, ModelRequest):
            parts = sorted([*last.parts, *message.parts], key=_results_first)
            joined[-1] = dataclasses.replace(message, parts=parts)
        else:
            joined.append(message)
    last = joined[-1] if joined else None
    if isinstance(last, ModelRequest) and isinstance(received, ModelRequest):
        joined[-1] = encodable(dataclasses.replace(last, instructions=received.instructions))
    return joined


def _results_first(part: ModelRequestPart) -> bool:
    """Providers want the results of a step in front of what else follows it."""
    return not answers(part)
