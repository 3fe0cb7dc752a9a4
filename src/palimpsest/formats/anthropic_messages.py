"""Messages of the Anthropic API: written from a history, and kept by callers of their own."""

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
    NativeToolCallPart,
    NativeToolReturnPart,
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
from palimpsest.formats.arguments import parse_arguments
from palimpsest.formats.content import (
    Record,
    as_arguments,
    as_list,
    as_record,
    as_text,
    block_content,
    content_of,
    joined,
    with_plain_text,
)
from palimpsest.formats.dialect import (
    CallBook,
    OpaqueBlock,
    Scan,
    ShownResult,
    check_content,
    checked_role,
    one_by_one,
    reply_of,
    request_of,
    shown_content,
)
from palimpsest.formats.openai_chat import item_text
from palimpsest.formats.pydantic_ai import tool_return_text

PROVIDER = "anthropic"

_ROLES = ("user", "assistant")
_NATIVE_CALLS = ("server_tool_use", "mcp_tool_use")
_NATIVE_RESULT = "_tool_result"


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


def known_reply_part(fields: Record) -> ModelResponsePart | None:
    """Read one block of a reply; None for one of a kind that only moves with its message."""
    match fields.get("type"):
        case "text" if isinstance(fields.get("text"), str):
            return TextPart(content=as_text(fields.get("text")))
        case "thinking":
            return ThinkingPart(
                content=as_text(fields.get("thinking")),
                signature=as_text(fields.get("signature")) or None,
                provider_name=PROVIDER,
            )
        case "redacted_thinking":
            return ThinkingPart(
                content="",
                id="redacted_thinking",
                signature=as_text(fields.get("data")) or None,
                provider_name=PROVIDER,
            )
        case "tool_use":
            return ToolCallPart(
                tool_name=as_text(fields.get("name")) or "unknown",
                args=as_arguments(fields.get("input")),
                tool_call_id=as_text(fields.get("id")),
            )
        case _:
            return None


class AnthropicMessages:
    """Messages of the Anthropic API, as callers keep them.

    Replies are moved whole, so thinking keeps its signature and stands where it stood; what the
    provider's own tools did is opaque.
    """

    name = "anthropic-messages"

    def scan(self, messages: Sequence[Record]) -> Scan:
        """Check roles, content, calls and results; each message stands for itself."""
        book = CallBook()
        for index, message in enumerate(messages):
            fields, role = checked_role(index, message, _ROLES)
            check_content(index, fields.get("content"))
            for block in map(as_record, as_list(fields.get("content"))):
                if role == "assistant" and block["type"] == "tool_use":
                    if not isinstance(block.get("input"), dict):
                        name = as_text(block.get("name"))
                        broken = f"holds a call of {name!r} whose input is no object"
                        raise InvalidMessageError(index, broken)
                    book.call(index, block.get("id"), block.get("name"))
                if role == "user" and block["type"] == "tool_result":
                    book.result(index, block.get("tool_use_id"))
        return one_by_one(messages, lambda message: self._read(message, book.tool_names))

    def _read(self, message: Record, tool_names: Mapping[str, str]) -> ModelMessage:
        content = message.get("content")
        if message.get("role") == "assistant":
            if not isinstance(content, list):
                return ModelResponse(parts=[TextPart(content=as_text(content))])
            return reply_of([_reply_part(as_record(block)) for block in content])
        if not isinstance(content, list):
            return ModelRequest(parts=[UserPromptPart(content=as_text(content))])
        parts: list[object] = []
        said: list[UserContent] = []
        for block in map(as_record, content):
            if block.get("type") != "tool_result":
                said.append(block_content(block))
                continue
            call_id = as_text(block.get("tool_use_id"))
            part = ToolReturnPart[object](
                tool_name=tool_names.get(call_id, "unknown"),
                content=content_of(block.get("content")),
                tool_call_id=call_id,
                outcome="failed" if block.get("is_error") is True else "success",
            )
            parts.append(part)
        if said:
            parts.append(UserPromptPart(content=joined(said)))
        return request_of(parts)

    def identity(self, message: Record) -> Json:
        """Everything; one text block is the same as its text."""
        return with_plain_text(message)

    def with_results(
        self, unit: Sequence[Record], shown: Mapping[int, ShownResult | None]
    ) -> list[Record]:
        """Edit results in their blocks; a block keeps its mark for the prompt cache."""
        [message] = unit
        blocks: list[Json] = []
        number = 0
        for block in as_list(message.get("content")):
            fields = as_record(block)
            if fields.get("type") != "tool_result":
                blocks.append(block)
                continue
            result = shown.get(number)
            if result is not None:
                content = shown_content(fields.get("content"), result)
                blocks.append({**fields, "content": content})
            elif number not in shown:
                blocks.append(block)
            number += 1
        return [{**message, "content": blocks}] if blocks else []

    def summary(self, text: str, replaced: Sequence[Record]) -> Record:
        """Give a user message; the last mark for the prompt cache among what it replaces moves."""
        mark = next((found for found in map(_last_mark, reversed(replaced)) if found), None)
        block: Record = {"type": "text", "text": text}
        return {"role": "user", "content": [{**block, "cache_control": mark} if mark else block]}

    def stand_in(self, unit: Sequence[Record], call: RepairRow, text: str) -> Record:
        """Give a user message with a result."""
        del unit
        block: Record = {
            "type": "tool_result",
            "tool_use_id": call.call_id,
            "content": text,
            "is_error": True,
        }
        return {"role": "user", "content": [block]}

    def joined(self, made_up: Record, following: Record) -> Record | None:
        """Roles alternate, and results stand in front of whatever else a message says."""
        if following.get("role") != "user":
            return None
        blocks = [*_blocks_of(made_up), *_blocks_of(following)]
        blocks.sort(key=lambda block: as_record(block).get("type") != "tool_result")
        return {**following, "content": blocks}


def _reply_part(block: Record) -> object:
    known = known_reply_part(block)
    if known is not None:
        return known
    kind = as_text(block.get("type"))
    if kind in _NATIVE_CALLS:
        return NativeToolCallPart(
            tool_name=as_text(block.get("name")) or kind,
            args=as_arguments(block.get("input")),
            tool_call_id=as_text(block.get("id")),
            provider_name=PROVIDER,
        )
    if kind.endswith(_NATIVE_RESULT):
        return NativeToolReturnPart(
            tool_name=kind.removesuffix(_NATIVE_RESULT),
            content=block.get("content"),
            tool_call_id=as_text(block.get("tool_use_id")),
            provider_name=PROVIDER,
        )
    return OpaqueBlock(block=block)


def _last_mark(message: Record) -> Json:
    marks = [as_record(block).get("cache_control") for block in as_list(message.get("content"))]
    return next((mark for mark in reversed(marks) if mark), None)


def _blocks_of(message: Record) -> list[Json]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
