"""A model that answers from a script: for tests, demonstrations and work without a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.lowlevel
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from palimpsest.models.script import Reply, ScriptEndedError
from palimpsest.models.seen import SeenRequest, message_tokens

if TYPE_CHECKING:
    from pydantic_ai._run_context import RunContext

Step: TypeAlias = Reply | Exception | Callable[[SeenRequest], "Reply | Exception"]
"""An answer, an error raised before any output, or a function that decides on the request."""


OverflowMaker: TypeAlias = Callable[[int, int], ModelAPIError]
"""From the window and the request's size, both in tokens, to the error of a provider."""

STANDING_STILL = datetime(2026, 1, 1, tzinfo=UTC)
"""Time of replies where no clock is given."""


class ScriptedModel(Model):
    """Plays a script, one step a request, and remembers every request.

    Usage is counted with the estimates of this package times ``count_ratio``; messages that the
    request before had word for word count as read from the cache.

    Attributes:
        requests: every request, in order, those answered with an error included.
    """

    def __init__(
        self,
        script: Iterable[Step] = (),
        *,
        window: int | None = None,
        overflow: OverflowMaker | None = None,
        count_ratio: float = 1.0,
        name: str = "scripted:scripted",
        profile: ModelProfile | None = None,
        settings: ModelSettings | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Take a script.

        Args:
            script: steps in order; an endless iterable never runs out.
            window: context window of the profile, tokens; None leaves it unknown.
            overflow: refuse requests that count more than ``window``, with this error; such a
                refusal takes no step of the script.
            count_ratio: how much more than the estimate this provider counts.
            name: ``provider:model``, as reported.
            profile: further traits of the model.
            settings: the model's own settings.
            clock: time of replies; stands still by default.
        """
        traits = profile.copy() if profile else ModelProfile()
        traits["context_window"] = window
        super().__init__(settings=settings, profile=traits)
        self.requests: list[SeenRequest] = []
        self._script = iter(script)
        self._window = window
        self._overflow = overflow
        self._count_ratio = count_ratio
        self._system, _, self._model_name = name.partition(":")
        self._clock = clock or (lambda: STANDING_STILL)
        self._received = anyio.Event()

    @property
    def model_name(self) -> str:
        """The model's name."""
        return self._model_name

    @property
    def system(self) -> str:
        """The provider's name."""
        return self._system

    async def received(self, count: int) -> SeenRequest:
        """Wait until so many requests have arrived; give the last of them."""
        while len(self.requests) < count:
            await self._received.wait()
        return self.requests[count - 1]

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer with the next step."""
        seen, reply = await self._next(messages, model_settings, model_request_parameters, False)
        if reply.breaks_with is not None:
            raise reply.breaks_with
        parts = reply.response_parts(seen.number)
        response = ModelResponse(
            parts=parts,
            model_name=self._model_name,
            provider_name=self._system,
            timestamp=self._clock(),
            finish_reason=reply.resolved_finish_reason,
        )
        response.usage = self._usage(seen, reply, message_tokens(response))
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Answer with the next step, in chunks."""
        seen, reply = await self._next(messages, model_settings, model_request_parameters, True)
        whole = ModelResponse(parts=reply.response_parts(seen.number))
        yield ScriptedStream(
            model_request_parameters=seen.parameters,
            reply=reply,
            whole=whole,
            reported=self._usage(seen, reply, message_tokens(whole)),
            name=self._model_name,
            provider=self._system,
            started=self._clock(),
        )

    async def _next(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        streamed: bool,
    ) -> tuple[SeenRequest, Reply]:
        merged, prepared = self.prepare_request(settings, parameters)
        seen = SeenRequest(
            number=len(self.requests) + 1,
            messages=tuple(messages),
            settings=merged or ModelSettings(),
            parameters=prepared,
            streamed=streamed,
        )
        self.requests.append(seen)
        self._received.set()
        self._received = anyio.Event()
        self._refuse_overflow(seen)
        step = next(self._script, None)
        if step is None:
            raise ScriptEndedError(f"the script has no answer to request {seen.number}")
        if not isinstance(step, Reply | Exception):
            step = step(seen)
        if isinstance(step, Exception):
            raise step
        if step.before is not None:
            await step.before.wait()
        return seen, step

    def _refuse_overflow(self, seen: SeenRequest) -> None:
        counted = self._counted(seen.tokens)
        if self._overflow is None or self._window is None or counted <= self._window:
            return
        raise self._overflow(self._window, counted)

    def _usage(self, seen: SeenRequest, reply: Reply, output_tokens: int) -> RequestUsage:
        if reply.usage is not None:
            return reply.usage
        cached = 0
        if seen.number > 1:
            shared = seen.shared_messages(self.requests[seen.number - 2])
            cached = self._counted(seen.tokens_of(shared)) if shared else 0
        return RequestUsage(
            input_tokens=self._counted(seen.tokens),
            cache_read_tokens=cached,
            output_tokens=self._counted(output_tokens),
        )

    def _counted(self, tokens: int) -> int:
        return round(tokens * self._count_ratio)


@dataclass
class ScriptedStream(StreamedResponse):
    """A reply in chunks; finish reason and usage come with the last one, as from a provider."""

    reply: Reply
    whole: ModelResponse
    reported: RequestUsage
    name: str
    provider: str
    started: datetime
    closed: bool = field(default=False, init=False)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        first = True
        for index, part in enumerate(self.whole.parts):
            for event in self._events(index, part):
                yield event
                if first and self.reply.midway is not None:
                    await self.reply.midway.wait()
                first = False
                await anyio.lowlevel.checkpoint()
        if self.reply.breaks_with is not None:
            raise self.reply.breaks_with
        self.finish_reason = self.reply.resolved_finish_reason
        self._usage = self.reported

    def _events(self, index: int, part: ModelResponsePart) -> Iterable[ModelResponseStreamEvent]:
        manager = self._parts_manager
        match part:
            case TextPart():
                for chunk in self.reply.chunks or (part.content,):
                    yield from manager.handle_text_delta(vendor_part_id=index, content=chunk)
            case ThinkingPart():
                yield from manager.handle_thinking_delta(
                    vendor_part_id=index, content=part.content, signature=part.signature
                )
            case ToolCallPart():
                event = manager.handle_tool_call_delta(
                    vendor_part_id=index,
                    tool_name=part.tool_name,
                    args=part.args if isinstance(part.args, str) else part.args_as_json_str(),
                    tool_call_id=part.tool_call_id,
                )
                yield from [event] if event is not None else []
            case _:
                yield manager.handle_part(vendor_part_id=index, part=part)

    async def close_stream(self) -> None:
        """Remember that the consumer closed the stream."""
        self.closed = True

    @property
    def model_name(self) -> str:
        """The model's name."""
        return self.name

    @property
    def provider_name(self) -> str:
        """The provider's name."""
        return self.provider

    @property
    def provider_url(self) -> None:
        """No address: nothing is sent."""
        return None

    @property
    def timestamp(self) -> datetime:
        """When the reply began."""
        return self.started
