"""Messages of the OpenAI chat API: written from a history, and kept by callers of their own."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from palimpsest.core.errors import InvalidMessageError
from palimpsest.core.excerpt import Json
from palimpsest.core.view import RepairRow
from palimpsest.formats.arguments import is_complete
from palimpsest.formats.content import (
    Record,
    as_arguments,
    as_list,
    as_record,
    as_text,
    block_content,
    content_of,
    joined,
    text_of,
    with_plain_text,
)
from palimpsest.formats.dialect import (
    CallBook,
    Scan,
    ShownResult,
    check_content,
    checked_role,
    one_by_one,
    shown_content,
)
from palimpsest.formats.media import is_media, media_marker
from palimpsest.formats.pydantic_ai import tool_return_text

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


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


def reply_parts(message: Record) -> list[ModelResponsePart]:
    """Read the parts of an assistant message: reasoning, text, refusal, calls."""
    parts = list[ModelResponsePart]()
    for key in ("reasoning_content", "thinking"):
        if thought := as_text(message.get(key)):
            parts.append(ThinkingPart(content=thought))
            break
    content = message.get("content")
    pieces = [block_content(block) for block in content] if isinstance(content, list) else []
    texts = [piece if isinstance(piece, str) else "[media]" for piece in pieces]
    text = joined(texts) if pieces else content_of(content)
    if isinstance(text, str) and text:
        parts.append(TextPart(content=text))
    if refusal := as_text(message.get("refusal")):
        parts.append(TextPart(content=refusal))
    calls = as_list(message.get("tool_calls"))
    if isinstance(message.get("function_call"), dict) and not calls:
        calls = [{"function": message.get("function_call")}]
    parts.extend(_call(call) for call in calls)
    return parts


def _call(call: Json) -> ToolCallPart:
    fields = as_record(call)
    function = as_record(fields.get("function") or fields.get("custom"))
    return ToolCallPart(
        tool_name=as_text(function.get("name")) or "unknown",
        args=as_arguments(function.get("arguments", function.get("input"))),
        tool_call_id=as_text(fields.get("id")),
    )


class OpenAIChat:
    """Messages of the OpenAI chat API, as callers keep them."""

    name = "openai-chat"

    def scan(self, messages: Sequence[Record]) -> Scan:
        """Check roles, content, calls and results; each message stands for itself."""
        book = CallBook()
        for index, message in enumerate(messages):
            fields, role = checked_role(index, message, _ROLES)
            content = fields.get("content")
            if role == "assistant":
                _check_calls(book, index, fields)
            if content is not None or role not in {"assistant", "function"}:
                check_content(index, content)
            if role == "tool":
                book.result(index, fields.get("tool_call_id"))
        book.close()
        return one_by_one(messages, lambda message: self._read(message, book.tool_names))

    def _read(self, message: Record, tool_names: Mapping[str, str]) -> ModelMessage:
        content = content_of(message.get("content"))
        match message.get("role"):
            case "assistant":
                return ModelResponse(parts=reply_parts(message))
            case "tool" | "function":
                call_id = as_text(message.get("tool_call_id"))
                name = tool_names.get(call_id) or as_text(message.get("name")) or "unknown"
                part = ToolReturnPart[object](tool_name=name, content=content, tool_call_id=call_id)
                return ModelRequest(parts=[part])
            case "user":
                return ModelRequest(parts=[UserPromptPart(content=content)])
            case _:
                return ModelRequest(parts=[SystemPromptPart(text_of(message.get("content")))])

    def identity(self, message: Record) -> Json:
        """Everything; one text block is the same as its text."""
        return with_plain_text(message)

    def with_results(
        self, unit: Sequence[Record], shown: Mapping[int, ShownResult | None]
    ) -> list[Record]:
        """Edit the one result of a tool message."""
        [message] = unit
        result = shown[0]
        if result is None:
            return []
        return [{**message, "content": shown_content(message.get("content"), result)}]

    def summary(self, text: str, replaced: Sequence[Record]) -> Record:
        """Give a user message."""
        del replaced
        return {"role": "user", "content": text}

    def stand_in(self, unit: Sequence[Record], call: RepairRow, text: str) -> Record:
        """Give a tool message."""
        del unit
        return {"role": "tool", "tool_call_id": call.call_id, "content": text}

    def joined(self, made_up: Record, following: Record) -> None:
        """Nothing has to be joined: user messages may follow each other."""
        del made_up, following


def _check_calls(book: CallBook, index: int, message: Record) -> None:
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise InvalidMessageError(index, "has tool calls that are no list")
    for call in as_list(calls):
        fields = as_record(call)
        inner = as_record(fields.get("function") or fields.get("custom"))
        arguments = inner.get("arguments", inner.get("input"))
        if not isinstance(arguments, str):
            name = as_text(inner.get("name"))
            raise InvalidMessageError(
                index, f"holds a call of {name!r} whose arguments are no text"
            )
        complete = "custom" in fields or is_complete(arguments)
        book.call(index, fields.get("id"), inner.get("name"), complete=complete)
