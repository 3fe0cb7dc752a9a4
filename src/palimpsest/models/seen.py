"""Requests as a provider would see them, in bytes that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import to_json

from palimpsest.formats.pydantic_ai import outline
from palimpsest.models.limits import request_fixed_measure

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

# What pydantic-ai keeps beside a message and no provider is sent.
_NOT_SENT = frozenset(
    {
        "conversation_id",
        "failed_attempts",
        "finish_reason",
        "history_digest",
        "instructions",
        "metadata",
        "model_name",
        "provider_details",
        "provider_name",
        "provider_response_id",
        "provider_url",
        "run_id",
        "state",
        "timestamp",
        "usage",
        "workspace_ref",
    }
)


@dataclass(frozen=True, kw_only=True)
class SeenRequest:
    """One request that a scripted model received.

    Attributes:
        number: 1 for the first request of the model.
        messages: as they arrived; do not change them.
        settings: merged with the model's own.
        parameters: as the adapter of a provider would read them.
        streamed: whether a stream was asked for.
    """

    number: int
    messages: tuple[ModelMessage, ...]
    settings: ModelSettings
    parameters: ModelRequestParameters
    streamed: bool

    @cached_property
    def head(self) -> bytes:
        """System text and tools, one line of JSON."""
        fields = {
            "system": self.instructions,
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters_json_schema,
                }
                for tool in self.parameters.declared_tool_defs.values()
            ],
        }
        return to_json(fields) + b"\n"

    @cached_property
    def lines(self) -> tuple[bytes, ...]:
        """One line of JSON a message, with what a provider would be sent of it."""
        dumped = ModelMessagesTypeAdapter.dump_python([*self.messages], mode="json")
        return tuple(to_json(sent_fields(message)) + b"\n" for message in dumped)

    @property
    def body(self) -> bytes:
        """The whole request."""
        return self.head + b"".join(self.lines)

    @property
    def instructions(self) -> str:
        """The system text."""
        if self.parameters.instruction_parts:
            return "\n\n".join(part.content for part in self.parameters.instruction_parts)
        newest = next(
            (m.instructions for m in reversed(self.messages) if m.kind == "request"), None
        )
        return newest or ""

    @property
    def text(self) -> str:
        """The whole request as text, to look for words in."""
        return self.body.decode()

    @property
    def tokens(self) -> int:
        """Size by the estimates of this package, uncalibrated."""
        return self.tokens_of(len(self.messages))

    def tokens_of(self, message_count: int) -> int:
        """Give the size of system text, tools and the first ``message_count`` messages."""
        fixed = request_fixed_measure(self.parameters, self.instructions).tokens
        return fixed + sum(message_tokens(one) for one in self.messages[:message_count])

    def extends(self, earlier: SeenRequest) -> bool:
        """Whether this request repeats an earlier one to the byte and only adds to its end."""
        return self.body.startswith(earlier.body)

    def shared_messages(self, earlier: SeenRequest) -> int:
        """Count the leading messages that both requests have in common, as a prompt cache does."""
        if self.head != earlier.head:
            return 0
        count = 0
        for ours, theirs in zip(self.lines, earlier.lines, strict=False):
            if ours != theirs:
                break
            count += 1
        return count


def message_tokens(message: ModelMessage) -> int:
    """Estimate one message."""
    measured = outline(message)
    return measured.envelope_tokens + sum(part.tokens for part in measured.parts)


def sent_fields(message: dict[str, object]) -> dict[str, object]:
    """Leave out bookkeeping of a message and of its parts; what is inside a part is content."""
    shown = _without_bookkeeping(message)
    parts = cast("list[dict[str, object]]", message["parts"])
    return {**shown, "parts": [_without_bookkeeping(part) for part in parts]}


def _without_bookkeeping(fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if name not in _NOT_SENT}
