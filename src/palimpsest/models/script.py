"""What a scripted model answers: replies as values, and gates that hold them back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import anyio
from pydantic_ai.messages import (
    FinishReason,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from palimpsest.core.estimate import compact_json
from palimpsest.core.excerpt import Json


class ScriptEndedError(AssertionError):
    """A scripted model was asked more often than its script has answers."""


class Gate:
    """Holds a reply back until a test opens it; no time passes by itself.

    ``reached`` is set once the model waits here, so that a test can act exactly then.
    """

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self._opened = anyio.Event()

    def open(self) -> None:
        """Let the reply go on."""
        self._opened.set()

    async def wait(self) -> None:
        """Wait until the gate is open."""
        self.reached.set()
        await self._opened.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call of a reply; an empty id is filled in from the call's place in the script."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the model: thinking, then text, then tool calls, then other parts.

    Attributes:
        text: a tuple gives the chunks in which it is streamed.
        thinking: streamed in one chunk.
        calls: streamed one chunk a call.
        parts: further parts, as they are.
        finish_reason: how the model says it ended; ``auto`` is ``tool_call`` where there are
            calls, else ``stop``.
        usage: what the provider reports; None counts with the estimates of this package.
        before: waited at before the first output.
        midway: waited at after the first chunk of a stream; a plain request has no such moment.
        breaks_with: raised in a stream after all chunks, and in a plain request before it answers.
    """

    text: str | tuple[str, ...] = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    parts: tuple[ModelResponsePart, ...] = ()
    finish_reason: FinishReason | Literal["auto"] = "auto"
    usage: RequestUsage | None = None
    before: Gate | None = None
    midway: Gate | None = None
    breaks_with: Exception | None = None

    @property
    def chunks(self) -> tuple[str, ...]:
        """The text as it is streamed; no chunk is empty."""
        chunks = (self.text,) if isinstance(self.text, str) else self.text
        return tuple(chunk for chunk in chunks if chunk)

    @property
    def resolved_finish_reason(self) -> FinishReason:
        """How the reply ends."""
        if self.finish_reason != "auto":
            return self.finish_reason
        return "tool_call" if self.calls else "stop"

    def response_parts(self, request_number: int) -> list[ModelResponsePart]:
        """Give the whole reply; the number makes call ids unique and repeatable."""
        parts: list[ModelResponsePart] = []
        if self.thinking:
            parts.append(ThinkingPart(content=self.thinking))
        if self.chunks:
            parts.append(TextPart(content="".join(self.chunks)))
        for position, call in enumerate(self.calls):
            parts.append(
                ToolCallPart(
                    tool_name=call.tool,
                    args=compact_json(dict(call.arguments)),
                    tool_call_id=call.id or f"call-{request_number}-{position}",
                )
            )
        return [*parts, *self.parts]
