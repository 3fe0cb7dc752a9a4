"""Everything a session says: one closed union; values only, never shared with the session.

Order of one operation: its own events, then ``Settled`` exactly once. Within a prompt: the
prompt's ``MessageStart`` and ``MessageEnd``, once it is stored; then, for each step, the engine's
events of its preflight, ``MessageStart``, any number of ``MessageUpdate``, ``MessageEnd``, and for
each call ``ToolStart``, perhaps ``ApprovalRequested`` and ``ApprovalResolved``, and ``ToolEnd``. A
``MessageStart`` whose reply was interrupted is still followed by its ``MessageEnd``. Engine events
keep the order that ``models.engine_events`` describes. No event carries summary text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from palimpsest.models.engine_events import EngineEvent

Operation: TypeAlias = Literal["prompt", "compact", "restore", "flush", "configure"]
Outcome: TypeAlias = Literal["idle", "success", "error", "cancelled"]


Channel: TypeAlias = Literal["text", "thinking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStart:
    """A message of the history begins, at this index."""

    index: int
    role: Literal["user", "assistant"]
    kind: Literal["message_start"] = "message_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUpdate:
    """More of a reply arrived: text the person reads, or thinking.

    Of a character that came in halves the first waits for the second; one that stays alone comes
    as U+FFFD right before ``message_end``.
    """

    index: int
    channel: Channel
    delta: str
    kind: Literal["message_update"] = "message_update"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnd:
    """The message is complete, or was interrupted; ``truncated``: the window was full."""

    index: int
    interrupted: bool
    truncated: bool = False
    kind: Literal["message_end"] = "message_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart:
    """A tool call is about to run; ``arguments`` is its JSON text."""

    call_id: str
    tool_name: str
    arguments: str
    kind: Literal["tool_start"] = "tool_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd:
    """A tool call gave its result; ``characters`` is the size of its model-visible text."""

    call_id: str
    tool_name: str
    outcome: Literal["success", "failed", "denied", "interrupted", "retried"]
    characters: int
    kind: Literal["tool_end"] = "tool_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested:
    """A call waits for the host; the first answer wins. It is never saved."""

    request_id: str
    tool_name: str
    arguments: str
    kind: Literal["approval_requested"] = "approval_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalResolved:
    """The host answered, or the run was cancelled, which denies."""

    request_id: str
    approved: bool
    kind: Literal["approval_resolved"] = "approval_resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredView:
    """Another checkpoint, or none, is the active one."""

    checkpoint: str | None
    outputs_shown: bool
    fits: bool
    pressured: bool
    kind: Literal["restored"] = "restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """An operation is over, and the session's lock is free.

    Attributes:
        error: one sentence, or empty.
        error_code: its stable code, or empty.
    """

    operation: Operation
    outcome: Outcome
    error: str
    error_code: str
    kind: Literal["settled"] = "settled"


SessionEvent: TypeAlias = (
    MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolStart
    | ToolEnd
    | ApprovalRequested
    | ApprovalResolved
    | RestoredView
    | EngineEvent
    | Settled
)
