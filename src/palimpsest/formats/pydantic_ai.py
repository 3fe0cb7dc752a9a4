"""The native dialect, pydantic-ai ``ModelMessage``: measured once, and read as excerpts.

Parts of kinds this module does not know are opaque: measured by their rendering, moved with their
message, never dropped. ``projection`` shows messages under a view's edits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from pydantic_ai.messages import (
    CompactionPart,
    InstructionBaselinePart,
    InstructionDeltaPart,
    ModelMessage,
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
from palimpsest.formats.arguments import parse_arguments
from palimpsest.formats.media import is_media, measure_item, measure_opaque, media_marker

AnyToolReturn: TypeAlias = "ToolReturnPart[object] | NativeToolReturnPart[object]"

LASTING_TOOL_KINDS = frozenset({"tool-search", "capability-load"})
"""Calls and results that reveal tools or load capabilities: in effect for the whole history."""


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
    typed = not any(map(answers, message.parts)) if is_prompt is None else is_prompt
    has_prompt = any(part.kind == "user" for part in parts)
    return MessageOutline(parts=parts, starts_turn=typed and has_prompt)


def excerpts(message: ModelMessage, *, is_prompt: bool | None = None) -> list[Excerpt]:
    """Read one message as excerpts, in the order of its parts.

    Args:
        message: a request or response.
        is_prompt: as for ``outline``; user text of a message that is none counts as injected.
    """
    return [row for rows in part_excerpts(message, is_prompt=is_prompt) for row in rows]


def part_excerpts(
    message: ModelMessage, *, is_prompt: bool | None = None
) -> Iterator[list[Excerpt]]:
    """Read one message part by part: one list of excerpts a part, some of them empty."""
    typed = not any(map(answers, message.parts)) if is_prompt is None else is_prompt
    for part in message.parts:
        yield list(_read(part, typed=typed))


def output_text(message: ModelMessage, part: int) -> str:
    """Give the model-visible text of the tool return at a part of a message.

    Raises:
        TypeError: that part is no tool return.
    """
    output = message.parts[part]
    if not isinstance(output, ToolReturnPart):
        raise TypeError(f"part {part} is no tool return but a {type(output).__name__}")
    return tool_return_text(cast("AnyToolReturn", output))


def tool_return_text(part: AnyToolReturn) -> str:
    """Give the model-visible text of a tool return; files in it are not text.

    Content that has no JSON (a lone surrogate in a list, an object of an unknown class) is given
    as its ``repr``: it could not be sent, but it must not stop the measuring.
    """
    try:
        return part.model_response_str(wrap_if_error=False)
    except ValueError:
        return repr(part.content)


# --- measuring -----------------------------------------------------------------------------------


def _measured(part: object) -> Part:
    match part:
        case ToolReturnPart():
            return _measured_return(cast("ToolReturnPart[object]", part))
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
            return _text_part("feedback", part.model_response(), envelope_tokens=MESSAGE_TOKENS)
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


def _measured_return(part: ToolReturnPart[object]) -> Part:
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


_ANSWERS = frozenset({"tool-return", "retry-feedback", "retry-prompt"})
"""The last of them stands in older histories only."""


def answers(part: object) -> bool:
    """Whether a part answers a reply (tool return, retry), so that its message is no prompt."""
    return getattr(part, "part_kind", "") in _ANSWERS


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
                text=tool_return_text(cast("AnyToolReturn", part)),
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
