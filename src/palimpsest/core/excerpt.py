"""What a message says, as readable rows: the input of summaries, ledger and reports.

A format adapter turns a message into excerpts; nothing here knows a dialect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserText:
    """Words the person typed as a prompt, verbatim."""

    text: str
    kind: Literal["user_text"] = "user_text"


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedText:
    """Text in a user or system role that no person typed: attachments, summaries, steering."""

    text: str
    kind: Literal["injected_text"] = "injected_text"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantText:
    """Prose of the model, verbatim."""

    text: str
    kind: Literal["assistant_text"] = "assistant_text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call; ``arguments`` is the parsed JSON, or the raw text where it does not parse."""

    call_id: str
    tool_name: str
    arguments: Json
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The model-visible text a tool call gave back, whole."""

    call_id: str
    tool_name: str
    text: str
    is_error: bool
    kind: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What the framework told the model about a reply that it could not use."""

    text: str
    kind: Literal["feedback"] = "feedback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Something that is named, never quoted: media, thinking, opaque blocks."""

    what: Literal["image", "audio", "video", "document", "thinking", "opaque"]
    media_type: str
    bytes: int
    kind: Literal["marker"] = "marker"


Excerpt: TypeAlias = (
    UserText | InjectedText | AssistantText | ToolCall | ToolResult | Feedback | Marker
)
