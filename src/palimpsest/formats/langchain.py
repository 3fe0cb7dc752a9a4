"""LangChain messages, as its agents keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.errors import InvalidMessageError
from palimpsest.core.excerpt import Json
from palimpsest.core.view import RepairRow
from palimpsest.formats.anthropic_messages import known_reply_part
from palimpsest.formats.content import Record, as_record, as_text, content_of, text_of
from palimpsest.formats.dialect import (
    CallBook,
    OpaqueBlock,
    Scan,
    ShownResult,
    one_by_one,
    reply_of,
    shown_content,
)

_KNOWN = (AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage)
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "tool_call_chunk"})
"""Blocks that say again what ``tool_calls`` says."""


class LangChainMessages:
    """LangChain messages; the ids and metadata that it adds later do not count."""

    name = "langchain"

    def scan(self, messages: Sequence[BaseMessage]) -> Scan:
        """Check kinds, calls and results; each message stands for itself."""
        book = CallBook()
        for index, message in enumerate(messages):
            if not isinstance(message, _KNOWN):
                kind = type(message).__name__
                raise InvalidMessageError(index, f"is a {kind}, which no model is sent")
            if isinstance(message, AIMessage):
                _check_calls(book, index, message)
            elif isinstance(message, ToolMessage):
                book.result(index, message.tool_call_id)
        book.close()
        return one_by_one(messages, lambda message: _read(message, book.tool_names))

    def identity(self, message: BaseMessage) -> Json:
        """Kind, content and calls."""
        said: list[object] = [message.type, message.content, message.name]
        if isinstance(message, AIMessage):
            said.append([[call["id"], call["name"], call["args"]] for call in message.tool_calls])
        elif isinstance(message, ToolMessage):
            said += [message.tool_call_id, message.status]
        return cast("Json", said)

    def with_results(
        self, unit: Sequence[BaseMessage], shown: Mapping[int, ShownResult | None]
    ) -> list[BaseMessage]:
        """Edit the one result of a tool message."""
        [message] = unit
        result = shown[0]
        if result is None:
            return []
        content = shown_content(cast("Json", message.content), result)
        return [message.model_copy(update={"content": content})]

    def summary(self, text: str, replaced: Sequence[BaseMessage]) -> BaseMessage:
        """Give a human message."""
        del replaced
        return HumanMessage(content=text)

    def stand_in(self, unit: Sequence[BaseMessage], call: RepairRow, text: str) -> BaseMessage:
        """Give a tool message."""
        del unit
        return ToolMessage(
            content=text, tool_call_id=call.call_id, name=call.tool_name, status="error"
        )

    def joined(self, made_up: BaseMessage, following: BaseMessage) -> None:
        """Nothing has to be joined: LangChain's adapters do it where a provider asks for it."""
        del made_up, following


def _check_calls(book: CallBook, index: int, message: AIMessage) -> None:
    if isinstance(message, AIMessageChunk) and message.invalid_tool_calls:
        name = message.invalid_tool_calls[0]["name"]
        broken = f"holds a call of {name!r} whose arguments break off"
        raise InvalidMessageError(index, f"{broken}; hand it over once it is whole")
    for call in message.tool_calls:
        book.call(index, call["id"], call["name"])


def _read(message: BaseMessage, tool_names: Mapping[str, str]) -> ModelMessage:
    content = cast("Json", message.content)
    match message:
        case AIMessage():
            return reply_of([*_said(content), *_calls(message)])
        case ToolMessage():
            part = ToolReturnPart[object](
                tool_name=tool_names.get(message.tool_call_id) or message.name or "unknown",
                content=content_of(content),
                tool_call_id=message.tool_call_id,
                outcome="success" if message.status == "success" else "failed",
            )
            return ModelRequest(parts=[part])
        case HumanMessage():
            return ModelRequest(parts=[UserPromptPart(content=content_of(content))])
        case _:
            return ModelRequest(parts=[SystemPromptPart(text_of(content))])


def _said(content: Json) -> list[object]:
    if isinstance(content, str):
        return [TextPart(content=content)] if content else []
    parts: list[object] = []
    for block in content if isinstance(content, list) else []:
        fields: Record = {"type": "text", "text": block} if isinstance(block, str) else {}
        fields = fields or as_record(block)
        if fields.get("type") in _CALL_BLOCKS:
            continue
        if fields.get("type") == "reasoning":
            parts.append(ThinkingPart(content=as_text(fields.get("reasoning"))))
        else:
            parts.append(known_reply_part(fields) or OpaqueBlock(block=fields))
    return parts


def _calls(message: AIMessage) -> list[object]:
    made: list[object] = [
        ToolCallPart(tool_name=call["name"], args=call["args"], tool_call_id=call["id"] or "")
        for call in message.tool_calls
    ]
    broken = [OpaqueBlock(block=cast("Json", dict(call))) for call in message.invalid_tool_calls]
    return [*made, *broken]
