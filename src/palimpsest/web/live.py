"""What is under way and not history yet: a reply and its tool calls, folded from events.

A page that is opened, or comes back, in the middle of a run starts from this.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from palimpsest.session.events import (
    MessageEnd,
    MessageStart,
    MessageUpdate,
    SessionEvent,
    Settled,
    ToolEnd,
    ToolStart,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTool:
    """A call of the step under way; ``outcome`` is empty until it ended."""

    call_id: str
    tool_name: str
    arguments: str
    outcome: str = ""
    characters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What is not in the history yet.

    Attributes:
        index: the place in the history that the reply will have, or None between replies.
    """

    index: int | None = None
    text: str = ""
    thinking: str = ""
    tools: tuple[LiveTool, ...] = field(default=())


NOTHING_LIVE = Live()


def fold(live: Live, event: SessionEvent) -> Live:
    """Give what is under way after an event."""
    match event:
        case MessageStart(role="assistant", index=index):
            return Live(index=index)
        case MessageUpdate(channel="text", delta=delta):
            return replace(live, text=live.text + delta)
        case MessageUpdate(channel="thinking", delta=delta):
            return replace(live, thinking=live.thinking + delta)
        case MessageEnd():
            return replace(live, index=None, text="", thinking="")
        case ToolStart():
            tool = LiveTool(
                call_id=event.call_id, tool_name=event.tool_name, arguments=event.arguments
            )
            return replace(live, tools=(*live.tools, tool))
        case ToolEnd():
            return replace(live, tools=tuple(_ended(tool, event) for tool in live.tools))
        case Settled():
            return NOTHING_LIVE
        case _:
            return live


def _ended(tool: LiveTool, event: ToolEnd) -> LiveTool:
    if tool.call_id != event.call_id:
        return tool
    return replace(tool, outcome=event.outcome, characters=event.characters)
