"""Content blocks of Anthropic messages, which several recording formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pydantic_ai.messages import (
    FinishReason,
    ModelResponsePart,
    TextPart,
    UserContent,
)

from palimpsest.core.estimate import compact_json
from palimpsest.formats.anthropic_messages import known_reply_part
from palimpsest.formats.content import (
    as_record,
    as_text,
    block_content,
    content_of,
    joined,
    text_of,
)
from palimpsest.transcripts.history import Origin

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import HistoryBuilder, Outcome

FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_call",
    "refusal": "content_filter",
}


def reply_part(block: Json) -> ModelResponsePart:
    """One block of a reply; an unknown one as text, so that nothing is dropped."""
    if isinstance(block, str):
        return TextPart(content=block)
    return known_reply_part(as_record(block)) or TextPart(content=compact_json(block))


def reply_parts(content: Json) -> list[ModelResponsePart]:
    """The parts of a reply; ``content`` is text or a list of blocks."""
    if isinstance(content, list):
        return [reply_part(block) for block in content]
    return [] if content is None else [TextPart(content=text_of(content))]


def result_outcome(block: Json) -> Outcome:
    """How a tool call ended, from the result block."""
    fields = as_record(block)
    text = content_of(fields.get("content"))
    if isinstance(text, str):
        if text.startswith("[Request interrupted by user"):
            return "interrupted"
        if text.startswith("The user doesn't want to proceed with this tool use"):
            return "denied"
    return "failed" if fields.get("is_error") is True else "success"


def add_user_content(
    history: HistoryBuilder,
    entry: int,
    content: Json,
    at: datetime,
    typed: Callable[[str], bool],
) -> None:
    """Add a user record: its tool results to their calls, the rest as prompts or injected text.

    Neighbouring blocks that are both typed, or both injected, make one message; media takes the
    side of the block before it. Beside a tool result nothing is a prompt: it starts no turn.
    """
    if not isinstance(content, list):
        is_typed = isinstance(content, str) and typed(content)
        history.user(content_of(content), [Origin(entry)], at, typed=is_typed)
        return
    if not content:
        history.user("", [Origin(entry)], at, typed=False)
    if any(as_record(block).get("type") == "tool_result" for block in content):
        typed = _never
    groups = list[_Group]()
    for index, block in enumerate(content):
        fields = as_record(block)
        if fields.get("type") == "tool_result":
            call_id = as_text(fields.get("tool_use_id"))
            value = content_of(fields.get("content"))
            history.result(call_id, value, Origin(entry, index), at, result_outcome(block))
            continue
        piece = block_content(block)
        previous = groups[-1].typed if groups else typed("")
        side = _is_typed(piece, fields, typed, otherwise=previous)
        if not groups or groups[-1].typed != side:
            groups.append(_Group(side, [], []))
        groups[-1].pieces.append(piece)
        groups[-1].origins.append(Origin(entry, index))
    for group in groups:
        history.user(joined(group.pieces), group.origins, at, typed=group.typed)


class _Group(NamedTuple):
    typed: bool
    pieces: list[UserContent]
    origins: list[Origin]


def _never(text: str) -> bool:
    del text
    return False


def _is_typed(
    piece: UserContent, fields: Record, typed: Callable[[str], bool], *, otherwise: bool
) -> bool:
    if not isinstance(piece, str):
        return otherwise
    return fields.get("type", "text") == "text" and typed(piece)
