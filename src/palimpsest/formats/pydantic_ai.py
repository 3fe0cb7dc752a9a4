"""The native dialect: pydantic-ai ``ModelMessage``.

Each message is measured once (``outline``), read as excerpts for summaries and ledger
(``excerpts``), and shown under a view's edits (``project``). Messages are never changed: an edit
makes a new one. Parts of kinds this module does not know are opaque: measured by their rendering,
moved with their message, never dropped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from pydantic_ai.messages import (
    BaseToolReturnPart,
    CompactionPart,
    InstructionBaselinePart,
    InstructionDeltaPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelSettingsDeltaPart,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    SpeechPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolAvailabilityDeltaPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.estimate import (
    MESSAGE_TOKENS,
    text_bytes,
    text_tokens,
    tool_call_text,
)
from palimpsest.core.excerpt import (
    AssistantText,
    Excerpt,
    Feedback,
    InjectedText,
    Marker,
    ToolCall,
    ToolResult,
    UserText,
)
from palimpsest.core.outline import Content, MessageOutline, Part, PartKind
from palimpsest.core.summary import summary_message_text
from palimpsest.core.trimming import trimmed_text
from palimpsest.core.view import (
    REPAIR_TEXT,
    Cleared,
    Edit,
    FoldedRow,
    Hidden,
    MessageRow,
    RepairRow,
    Row,
    SummaryRow,
    Trimmed,
)
from palimpsest.formats.arguments import parse_arguments
from palimpsest.formats.media import is_media, measure_item, measure_opaque, media_marker

LASTING_TOOL_KINDS = frozenset({"tool-search", "capability-load"})
"""Calls and results that reveal tools or load capabilities: in effect for the whole history."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Timestamp of messages a view makes up, so that the same view gives the same bytes."""


def outline(message: ModelMessage, *, is_prompt: bool | None = None) -> MessageOutline:
    """Measure one message.

    Args:
        message: a request or response.
        is_prompt: whether the person typed it. None judges by its parts: a user prompt and no
            tool return or feedback.
    """
    parts = tuple(_measured(part) for part in message.parts)
    if isinstance(message, ModelResponse):
        return MessageOutline(parts=parts, envelope_tokens=MESSAGE_TOKENS, is_reply=True)
    has_prompt = any(part.kind == "user" for part in parts)
    return MessageOutline(
        parts=parts, starts_turn=has_prompt if is_prompt is None else is_prompt and has_prompt
    )


def excerpts(message: ModelMessage, *, is_prompt: bool | None = None) -> list[Excerpt]:
    """Read one message as excerpts, in the order of its parts.

    Args:
        message: a request or response.
        is_prompt: as for ``outline``; user text of a message that is none counts as injected.
    """
    typed = is_prompt
    if typed is None:
        typed = not any(_answers(part) for part in message.parts)
    rows: list[Excerpt] = []
    for part in message.parts:
        rows.extend(_read(part, typed=typed))
    return rows


def project(messages: Sequence[ModelMessage], rows: Iterable[Row]) -> list[ModelMessage]:
    """Give the messages of a view.

    Args:
        messages: the whole history; a row's index points into it.
        rows: the view's rows. Untouched messages are passed on as they are, not copied.
    """
    shown: list[ModelMessage] = []
    repairs: list[ToolReturnPart] = []
    for row in rows:
        if repairs and row.kind != "repair":
            following = messages[row.index] if row.kind == "message" else None
            if isinstance(following, ModelRequest) and any(map(_answers, following.parts)):
                edits = row.edits if row.kind == "message" else ()
                shown.append(_with_repairs(_edited(following, edits), repairs))
                repairs = []
                continue
            shown.append(ModelRequest(parts=repairs, timestamp=EPOCH))
            repairs = []
        match row:
            case MessageRow(index=index, edits=edits):
                edited = _edited(messages[index], edits)
                if edited.parts:
                    shown.append(edited)
            case FoldedRow(index=index, parts=kept):
                message = messages[index]
                shown.append(_replaced(message, [message.parts[part] for part in kept]))
            case SummaryRow(text=text):
                shown.append(summary_message(text))
            case RepairRow():
                repairs.append(_repair(row))
    if repairs:
        shown.append(ModelRequest(parts=repairs, timestamp=EPOCH))
    return shown


def summary_message(summary: str) -> ModelRequest:
    """Give the user-role message that carries a summary in a view."""
    part = UserPromptPart(content=summary_message_text(summary), timestamp=EPOCH)
    return ModelRequest(parts=[part], timestamp=EPOCH)


def tool_return_text(part: BaseToolReturnPart[object]) -> str:
    """Give the model-visible text of a tool return; files in it are not text."""
    return part.model_response_str(wrap_if_error=False)


# --- measuring -----------------------------------------------------------------------------------


def _measured(part: object) -> Part:
    match part:
        case ToolReturnPart():
            return _measured_return(part)
        case ToolCallPart():
            text = tool_call_text(part.tool_call_id, part.tool_name, parse_arguments(part.args))
            return Part(
                kind="tool_call",
                tokens=text_tokens(text),
                bytes=text_bytes(text),
                tool_name=part.tool_name,
                call_id=part.tool_call_id,
                lasting=part.tool_kind in LASTING_TOOL_KINDS,
            )
        case TextPart():
            return _text_part("text", part.content)
        case ThinkingPart():
            size = text_bytes(part.content) + text_bytes(part.signature or "")
            return Part(kind="thinking", tokens=text_tokens(part.content), bytes=size)
        case UserPromptPart():
            return _measured_prompt(part)
        case SystemPromptPart():
            lasting = part.scope == "conversation"
            return _text_part(
                "system", part.content, envelope_tokens=MESSAGE_TOKENS, lasting=lasting
            )
        case RetryFeedbackPart():
            return _text_part(
                "feedback", part.model_response(), envelope_tokens=MESSAGE_TOKENS
            )
        case InstructionDeltaPart():
            return _text_part("system", part.content or "", lasting=True)
        case InstructionBaselinePart() | ModelSettingsDeltaPart() | ToolAvailabilityDeltaPart():
            return Part(kind="system", tokens=0, lasting=True)
        case SpeechPart(transcript=str(transcript), speaker=speaker, audio=None):
            if speaker == "user":
                return _text_part("user", transcript, envelope_tokens=MESSAGE_TOKENS)
            return _text_part("text", transcript)
        case CompactionPart(content=str(content)):
            return _text_part("opaque", content)
        case _:
            tokens, size = measure_opaque(part)
            return Part(kind="opaque", tokens=tokens, bytes=size)


def _text_part(
    kind: PartKind, text: str, *, envelope_tokens: int = 0, lasting: bool = False
) -> Part:
    return Part(
        kind=kind,
        tokens=envelope_tokens + text_tokens(text),
        bytes=text_bytes(text),
        lasting=lasting,
    )


def _measured_prompt(part: UserPromptPart) -> Part:
    items = [part.content] if isinstance(part.content, str) else part.content
    tokens = size = 0
    for item in items:
        item_tokens, item_bytes = measure_item(item)
        tokens += item_tokens
        size += item_bytes
    return Part(kind="user", tokens=MESSAGE_TOKENS + tokens, bytes=size)


def _measured_return(part: ToolReturnPart) -> Part:
    text = tool_return_text(part)
    tokens, size, characters = text_tokens(text), text_bytes(text), len(text)
    for file in part.files:
        file_tokens, file_bytes = measure_item(file)
        tokens += file_tokens
        size += file_bytes
        characters += 4 * file_tokens
    lasting = part.tool_kind in LASTING_TOOL_KINDS
    named = text_tokens(part.tool_name) + text_tokens(part.tool_call_id)
    return Part(
        kind="tool_return",
        tokens=MESSAGE_TOKENS + tokens + named,
        bytes=size + text_bytes(part.tool_name) + text_bytes(part.tool_call_id),
        content=Content(characters=characters, tokens=tokens, bytes=size),
        tool_name=part.tool_name,
        call_id=part.tool_call_id,
        is_error=part.outcome != "success",
        clearable=not lasting,
        lasting=lasting,
    )


# --- reading -------------------------------------------------------------------------------------


def _answers(part: object) -> bool:
    return isinstance(part, ToolReturnPart | RetryFeedbackPart)


def _read(part: object, *, typed: bool) -> Iterator[Excerpt]:
    match part:
        case UserPromptPart(content=content):
            for item in [content] if isinstance(content, str) else content:
                yield from _read_item(item, typed=typed)
        case TextPart(content=content):
            yield AssistantText(text=content)
        case ToolCallPart() | NativeToolCallPart():
            yield ToolCall(
                call_id=part.tool_call_id,
                tool_name=part.tool_name,
                arguments=parse_arguments(part.args),
            )
        case ToolReturnPart() | NativeToolReturnPart():
            yield ToolResult(
                call_id=part.tool_call_id,
                tool_name=part.tool_name,
                text=tool_return_text(part),
                is_error=part.outcome != "success",
            )
            yield from map(media_marker, part.files)
        case RetryFeedbackPart():
            yield Feedback(text=part.model_response())
        case SystemPromptPart(content=content):
            yield InjectedText(text=content)
        case ThinkingPart(content=content):
            yield Marker(what="thinking", media_type="text/plain", bytes=text_bytes(content))
        case SpeechPart(transcript=str(transcript), speaker="user"):
            yield UserText(text=transcript) if typed else InjectedText(text=transcript)
        case SpeechPart(transcript=str(transcript)):
            yield AssistantText(text=transcript)
        case CompactionPart(content=str(content)):
            yield InjectedText(text=content)
        case (
            InstructionBaselinePart()
            | InstructionDeltaPart()
            | ModelSettingsDeltaPart()
            | ToolAvailabilityDeltaPart()
        ):
            return
        case _:
            yield Marker(what="opaque", media_type="", bytes=measure_opaque(part)[1])


def _read_item(item: object, *, typed: bool) -> Iterator[Excerpt]:
    if is_media(item):
        yield media_marker(item)
        return
    text = item if isinstance(item, str) else getattr(item, "content", "")
    if isinstance(text, str) and text:
        yield UserText(text=text) if typed else InjectedText(text=text)


# --- showing -------------------------------------------------------------------------------------


def _edited(message: ModelMessage, edits: tuple[Edit, ...]) -> ModelMessage:
    if not edits:
        return message
    by_part = {edit.part: edit for edit in edits}
    parts: list[object] = []
    for index, part in enumerate(message.parts):
        edit = by_part.get(index)
        match edit:
            case None:
                parts.append(part)
            case Hidden():
                continue
            case Cleared(placeholder=placeholder):
                parts.append(_with_content(part, placeholder))
            case Trimmed(head_characters=head, tail_characters=tail):
                assert isinstance(part, ToolReturnPart)
                text = trimmed_text(tool_return_text(part), head, tail)
                parts.append(_with_content(part, [text, *part.files] if part.files else text))
    return _replaced(message, parts)


def _with_content(part: object, content: object) -> ToolReturnPart:
    assert isinstance(part, ToolReturnPart)
    return dataclasses.replace(part, content=content)


def _replaced(message: ModelMessage, parts: Sequence[object]) -> ModelMessage:
    return dataclasses.replace(message, parts=list(parts))


def _with_repairs(message: ModelMessage, repairs: Sequence[ModelRequestPart]) -> ModelMessage:
    return _replaced(message, [*repairs, *message.parts])


def _repair(row: RepairRow) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=row.tool_name,
        content=REPAIR_TEXT,
        tool_call_id=row.call_id,
        timestamp=EPOCH,
        outcome="interrupted",
    )
