"""A history as messages of the OpenAI chat API: for other programs, one way."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from palimpsest.core.excerpt import Json
from palimpsest.formats.media import is_media, media_marker
from palimpsest.formats.pydantic_ai import tool_return_text


def openai_messages(messages: Iterable[ModelMessage]) -> Iterator[dict[str, Json]]:
    """Yield system, user, assistant and tool messages; thinking has no place in this dialect."""
    for message in messages:
        if isinstance(message, ModelResponse):
            yield from _reply(message)
            continue
        for part in message.parts:
            match part:
                case SystemPromptPart():
                    yield {"role": "system", "content": part.content}
                case UserPromptPart():
                    yield {"role": "user", "content": _content(part.content)}
                case ToolReturnPart():
                    output = cast("ToolReturnPart[object]", part)
                    yield {
                        "role": "tool",
                        "tool_call_id": part.tool_call_id,
                        "content": tool_return_text(output),
                    }
                case RetryFeedbackPart():
                    yield {"role": "user", "content": part.model_response()}
                case _:
                    pass


def _reply(message: ModelResponse) -> Iterator[dict[str, Json]]:
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    calls: list[Json] = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": _arguments(part)},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    if text or calls:
        reply: dict[str, Json] = {"role": "assistant", "content": text or None}
        yield {**reply, "tool_calls": calls} if calls else reply


def _arguments(part: ToolCallPart) -> str:
    """Give the arguments as the model wrote them, also where they are no JSON object."""
    return part.args if isinstance(part.args, str) else part.args_as_json_str()


def _content(content: str | Sequence[UserContent]) -> Json:
    if isinstance(content, str):
        return content
    return [_item(item) for item in content if item_text(item)]


def _item(item: object) -> Json:
    match item:
        case BinaryContent() if item.is_image:
            data = base64.b64encode(item.data).decode()
            return {
                "type": "image_url",
                "image_url": {"url": f"data:{item.media_type};base64,{data}"},
            }
        case ImageUrl():
            return {"type": "image_url", "image_url": {"url": item.url}}
        case _:
            return {"type": "text", "text": item_text(item)}


def item_text(item: object) -> str:
    """Give a content item as text, empty for a mere mark; a file is named, with kind and size."""
    if isinstance(item, str):
        return item
    if is_media(item):
        marker = media_marker(item)
        return f"[{marker.what} {marker.media_type}, {marker.bytes} bytes]"
    text: object = getattr(item, "content", "")
    return text if isinstance(text, str) else ""
