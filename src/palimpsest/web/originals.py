"""Messages of the history as the page shows them, marked by what the model sees of them now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from pydantic_ai import messages as ai

from palimpsest.core.outline import Position
from palimpsest.core.records import ViewState
from palimpsest.formats.encodable import encodable
from palimpsest.formats.prompts import injected_parts, is_truncated, starts_turn
from palimpsest.formats.pydantic_ai import AnyToolReturn, tool_return_text
from palimpsest.web.wire import (
    CallPart,
    FilePart,
    Original,
    OriginalPart,
    OtherPart,
    ResultPart,
    TextPart,
    ThinkingPart,
)

MOST_CHARACTERS = 20_000
"""Of one text in a page of messages; a message that is asked for by itself comes whole."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Media types that are served as what they are; everything else could be a page of its own."""

Media: TypeAlias = "ai.BinaryContent | ai.FileUrl | ai.UploadedFile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How messages are shown: under which records, and texts up to which length."""

    state: ViewState
    most_characters: int | None = MOST_CHARACTERS

    @property
    def cut(self) -> int:
        """The first message that the model sees as it is."""
        checkpoint = self.state.checkpoint
        return 0 if checkpoint is None else checkpoint.first_kept_message_index

    def clip(self, text: str) -> tuple[str, int]:
        """Give the text, and how many characters of its end are left out."""
        if self.most_characters is None or len(text) <= self.most_characters:
            return text, 0
        return text[: self.most_characters], len(text) - self.most_characters

    def shown(self, position: Position) -> Literal["whole", "trimmed", "cleared"]:
        """Tell what the model sees of a tool's result."""
        if position in self.state.cleared:
            return "cleared"
        return "trimmed" if position in self.state.trimmed else "whole"


def originals(
    messages: Sequence[ai.ModelMessage], first_index: int, reading: Reading
) -> tuple[Original, ...]:
    """Give messages of the history, the first of which has an index."""
    return tuple(
        _original(encodable(message), index, reading)
        for index, message in enumerate(messages, first_index)
    )


def media_of(message: ai.ModelMessage) -> list[Media]:
    """Give the files of a message in the order in which ``FilePart.file`` counts them."""
    return [item for part in message.parts for item in _media(part)]


def _original(message: ai.ModelMessage, index: int, reading: Reading) -> Original:
    reply = message if isinstance(message, ai.ModelResponse) else None
    return Original(
        index=index,
        role="user" if reply is None else "assistant",
        starts_turn=starts_turn(message),
        in_view=index >= reading.cut,
        truncated=is_truncated(message),
        timestamp=_milliseconds(message),
        input_tokens=0 if reply is None else reply.usage.input_tokens,
        parts=tuple(_parts(message, index, reading)),
    )


def _milliseconds(message: ai.ModelMessage) -> int:
    """Give the time since the epoch, 0 where there is none or none that a clock could show."""
    at = message.timestamp
    if at is None:
        return 0
    try:
        return int(at.timestamp() * 1000)
    except (ValueError, OverflowError):  # of year 1 or 9999 without a zone: that of this machine
        return 0


def _parts(message: ai.ModelMessage, index: int, reading: Reading) -> Iterator[OriginalPart]:
    injected, file = injected_parts(message), 0
    for number, part in enumerate(message.parts):
        match part:
            case ai.UserPromptPart(content=content):
                text, omitted = reading.clip(_prompt_text(content))
                if text:
                    yield TextPart(
                        text=text, omitted_characters=omitted, injected=number < injected
                    )
            case ai.TextPart(content=content):
                text, omitted = reading.clip(content)
                yield TextPart(text=text, omitted_characters=omitted)
            case ai.ThinkingPart(content=content):
                if content:
                    yield ThinkingPart(text=reading.clip(content)[0])
            case ai.ToolCallPart() | ai.NativeToolCallPart():
                yield CallPart(
                    call_id=part.tool_call_id,
                    tool_name=part.tool_name,
                    arguments=reading.clip(part.args_as_json_str())[0],
                )
            case ai.ToolReturnPart() | ai.NativeToolReturnPart():
                yield _result(cast("AnyToolReturn", part), Position(index, number), reading)
            case ai.RetryFeedbackPart():
                yield OtherPart(name="feedback", text=reading.clip(part.model_response())[0])
            case ai.SystemPromptPart(content=content):
                yield OtherPart(name="system", text=reading.clip(content)[0])
            case ai.FilePart():
                pass
            case _:
                yield OtherPart(name=part.part_kind)
        for item in _media(part):
            yield _file(item, file)
            file += 1


def _result(part: AnyToolReturn, position: Position, reading: Reading) -> ResultPart:
    text, omitted = reading.clip(tool_return_text(part))
    return ResultPart(
        call_id=part.tool_call_id,
        tool_name=part.tool_name,
        outcome=part.outcome,
        text=text,
        omitted_characters=omitted,
        shown=reading.shown(position),
    )


def _prompt_text(content: str | Sequence[ai.UserContent]) -> str:
    if isinstance(content, str):
        return content
    texts = [
        item.content if isinstance(item, ai.TextContent) else item
        for item in content
        if isinstance(item, str | ai.TextContent)
    ]
    return "\n".join(texts)


def _media(part: object) -> Iterator[Media]:
    match part:
        case ai.UserPromptPart(content=content) if not isinstance(content, str):
            yield from (item for item in content if isinstance(item, _MEDIA))
        case ai.ToolReturnPart() | ai.NativeToolReturnPart():
            yield from part.files
        case ai.FilePart(content=content):
            yield content
        case _:
            return


_MEDIA = (ai.BinaryContent, ai.FileUrl, ai.UploadedFile)


def _file(item: Media, number: int) -> FilePart:
    match item:
        case ai.FileUrl(url=url):
            return FilePart(media_type="", file=number, url=url)
        case _:
            return FilePart(media_type=item.media_type, file=number)
