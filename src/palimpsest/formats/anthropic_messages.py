"""A history as a request of the Anthropic Messages API: for other programs, one way."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import cast

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.excerpt import Json
from palimpsest.formats.arguments import parse_arguments
from palimpsest.formats.openai_chat import item_text
from palimpsest.formats.pydantic_ai import tool_return_text


def anthropic_request(messages: Iterable[ModelMessage]) -> dict[str, Json]:
    """Give ``system`` and ``messages``; neighbours of one role make one message, as the API asks.

    Thinking is carried where it has the signature without which the API refuses it.
    """
    system: list[str] = []
    turns: list[Json] = []
    role, blocks = "", list[Json]()
    for message in messages:
        system += [part.content for part in message.parts if isinstance(part, SystemPromptPart)]
        said = "assistant" if isinstance(message, ModelResponse) else "user"
        added = [block for part in message.parts for block in _blocks(part)]
        if not added:
            continue
        if said != role:
            role, blocks = said, []
            turns.append({"role": role, "content": blocks})
        blocks += added
    request: dict[str, Json] = {"messages": turns}
    return {"system": "\n\n".join(system), **request} if system else request


def _blocks(part: object) -> Iterator[Json]:
    match part:
        case UserPromptPart(content=content):
            items = [content] if isinstance(content, str) else content
            yield from (_item(item) for item in items if item_text(item))
        case ToolReturnPart():
            output = cast("ToolReturnPart[object]", part)
            yield {
                "type": "tool_result",
                "tool_use_id": output.tool_call_id,
                "content": tool_return_text(output),
                "is_error": output.outcome != "success",
            }
        case RetryFeedbackPart():
            yield {"type": "text", "text": part.model_response()}
        case TextPart(content=text) if text:
            yield {"type": "text", "text": text}
        case ThinkingPart(content=text, signature=str(signature)):
            yield {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCallPart():
            arguments = parse_arguments(part.args)
            yield {
                "type": "tool_use",
                "id": part.tool_call_id,
                "name": part.tool_name,
                "input": arguments if isinstance(arguments, dict) else {"arguments": arguments},
            }
        case _:
            return


def _item(item: object) -> Json:
    match item:
        case BinaryContent() if item.is_image or item.media_type == "application/pdf":
            return {
                "type": "image" if item.is_image else "document",
                "source": {
                    "type": "base64",
                    "media_type": item.media_type,
                    "data": base64.b64encode(item.data).decode(),
                },
            }
        case ImageUrl():
            return {"type": "image", "source": {"type": "url", "url": item.url}}
        case _:
            return {"type": "text", "text": item_text(item)}
