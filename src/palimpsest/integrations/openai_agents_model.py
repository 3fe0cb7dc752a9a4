"""Models of the OpenAI Agents SDK that tell the filter in front of them how its view fared.

A filter sees neither a provider's counts nor its rejections. The runner calls it right before the
model, so that the model finds the request that it answers in a context variable.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from agents.models.interface import Model, ModelProvider
from openai import APIError, APIStatusError

from palimpsest.models.overflow import Overflow, classify_rejection

if TYPE_CHECKING:
    from agents.items import ModelResponse, TResponseInputItem, TResponseStreamEvent
    from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest

_OPENING = frozenset({"response.created", "response.queued", "response.in_progress"})
"""Events of a stream in front of any output."""


class FilteredRequest(Protocol):
    """A request as a filter sent it, waiting for its reply."""

    @property
    def view(self) -> list[TResponseInputItem]:
        """The items that were given to the runner."""
        ...

    async def again(self, overflow: Overflow) -> list[TResponseInputItem]:
        """Give a smaller view, after the provider rejected this one as too long.

        Raises:
            ContextBudgetExceededError: nothing made it fit.
        """
        ...

    def counted(self, tokens: int) -> None:
        """Take the provider's input count, cache included."""
        ...


NEWEST_REQUEST: ContextVar[FilteredRequest | None] = ContextVar("newest_request", default=None)


class RecoveringModel(Model):
    """A model that answers a rejection as too long by one compaction and one more request.

    ``session.run_config()`` puts it around models that are found by name. A model that an agent
    holds itself is wrapped by hand: ``Agent(model=RecoveringModel(model))``. Without a filter in
    front it does nothing.
    """

    def __init__(self, inner: Model) -> None:
        self.inner: Model = inner.inner if isinstance(inner, RecoveringModel) else inner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it has
        """Give what else a model has: the runner asks some for more than the interface says."""
        return getattr(self.inner, name)

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        *rest: Any,  # noqa: ANN401 - handed on as they come
        **named: Any,  # noqa: ANN401
    ) -> ModelResponse:
        """Ask the model.

        Raises:
            ContextBudgetExceededError: the request was rejected, and nothing made it fit.
            openai.APIError: every other failure, and a second rejection.
        """
        request = _request(input)
        try:
            response = await self.inner.get_response(system_instructions, input, *rest, **named)
        except APIError as error:
            overflow = _overflow(error)
            if request is None or overflow is None:
                raise
            view = await request.again(overflow)
            response = await self.inner.get_response(system_instructions, view, *rest, **named)
        if request is not None:
            request.counted(response.usage.input_tokens)
        return response

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        *rest: Any,  # noqa: ANN401
        **named: Any,  # noqa: ANN401
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Ask the model for a stream; only a rejection in front of any output is answered.

        Raises:
            ContextBudgetExceededError: the request was rejected, and nothing made it fit.
            openai.APIError: every other failure, and a second rejection.
        """
        request = _request(input)
        begun, overflow = False, None
        try:
            stream = self.inner.stream_response(system_instructions, input, *rest, **named)
            async with _closed(stream):
                async for event in stream:
                    overflow = None if begun or request is None else _told_overflow(event)
                    if overflow is not None:
                        break
                    begun = begun or event.type not in _OPENING
                    _count(event, request)
                    yield event
        except APIError as error:
            overflow = None if begun or request is None else _overflow(error)
            if overflow is None:
                raise
        if request is None or overflow is None:
            return
        view = await request.again(overflow)
        stream = self.inner.stream_response(system_instructions, view, *rest, **named)
        async with _closed(stream):
            async for event in stream:
                _count(event, request)
                yield event

    async def close(self) -> None:
        """Close the model."""
        await self.inner.close()

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self.inner._cleanup_on_run_end(owner)  # pyright: ignore[reportPrivateUsage]

    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        """Give the model's own advice."""
        return self.inner.get_retry_advice(request)


class RecoveringProvider(ModelProvider):
    """Finds models by name, and wraps them."""

    def __init__(self, inner: ModelProvider) -> None:
        self.inner = inner

    def get_model(self, model_name: str | None) -> Model:
        """Give a model that recovers."""
        return recovering(self.inner.get_model(model_name))

    async def aclose(self) -> None:
        """Close the provider."""
        await self.inner.aclose()


def recovering(model: Model) -> RecoveringModel:
    """Wrap a model, once."""
    return model if isinstance(model, RecoveringModel) else RecoveringModel(model)


@asynccontextmanager
async def _closed(stream: AsyncIterator[TResponseStreamEvent]) -> AsyncGenerator[None]:
    """Close a stream at the end, where it can be: its connection would stay open otherwise."""
    try:
        yield
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def _request(items: object) -> FilteredRequest | None:
    """The request that these items are the view of; an agent in a tool has another one."""
    request = NEWEST_REQUEST.get()
    return request if request is not None and request.view == items else None


def _overflow(error: APIError) -> Overflow | None:
    said = error.body or error.message
    if isinstance(error, APIStatusError):
        return classify_rejection(said, error.status_code)
    return classify_rejection(said)


def _told_overflow(event: TResponseStreamEvent) -> Overflow | None:
    """Some rejections come as an event of a stream that was opened all the same."""
    if event.type == "error":
        return classify_rejection({"code": event.code, "message": event.message})
    if event.type == "response.failed" and event.response.error is not None:
        error = event.response.error
        return classify_rejection({"code": error.code, "message": error.message})
    return None


def _count(event: TResponseStreamEvent, request: FilteredRequest | None) -> None:
    if request is not None and event.type == "response.completed" and event.response.usage:
        request.counted(event.response.usage.input_tokens)
