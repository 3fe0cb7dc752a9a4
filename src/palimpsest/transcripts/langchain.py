"""LangChain messages as ``messages_to_dict``, ``dumpd`` or ``model_dump`` write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import (
    FinishReason,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from palimpsest.core.estimate import compact_json
from palimpsest.formats.anthropic_messages import known_reply_part
from palimpsest.formats.content import (
    EPOCH,
    as_arguments,
    as_count,
    as_list,
    as_record,
    as_text,
    content_of,
    image_count,
    text_of,
)
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import RecordingCounts
from palimpsest.transcripts.view import Writing, kept_content

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "langchain"

KINDS = frozenset({"human", "ai", "system", "tool", "function", "chat"})
"""What LangChain calls its messages; chunks are the same with a suffix in their class's name."""
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "tool_call_chunk"})
"""Blocks that say again what ``tool_calls`` says."""
_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "STOP": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
}


def is_message(value: Json) -> bool:
    """Whether a value is a LangChain message in one of its written forms."""
    fields = as_record(value)
    inner = _fields(fields)
    is_class = fields.get("lc") is not None and _kind(fields) in KINDS
    return is_class or ("role" not in fields and _kind(fields) in KINDS and "content" in inner)


def _holder(message: Record) -> str:
    """Under which key a message keeps its fields; empty where it is written flat."""
    return next((key for key in ("kwargs", "data") if isinstance(message.get(key), dict)), "")


def _fields(message: Record) -> Record:
    key = _holder(message)
    return as_record(message[key]) if key else message


def _kind(message: Record) -> str:
    kind = as_text(_fields(message).get("type")) or as_text(message.get("type"))
    path = as_list(message.get("id"))
    if kind not in KINDS and path:
        kind = as_text(path[-1])
    return kind.removesuffix("Chunk").removesuffix("Message").lower()


def list_key(document: Record) -> str:
    """Under which key a document, such as the state of a graph, keeps its messages."""
    return "messages" if isinstance(document.get("messages"), list) else ""


def messages_of(document: Json) -> list[Json]:
    """The messages in a document."""
    fields = as_record(document)
    return as_list(fields[key]) if (key := list_key(fields)) else as_list(document)


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a list of messages, or of an object around it."""
    messages = messages_of(document)
    builder = HistoryBuilder(path, range(len(messages)), has_lines=False)
    for index, item in enumerate(messages):
        message = as_record(item)
        is_system = _kind(message) == "system"
        if not (
            is_system
            and builder.take_leading_system(index, text_of(_fields(message).get("content")))
        ):
            _add(builder, index, message)
    return [
        builder.build(
            format=FORMAT,
            session_id=path.stem,
            counts=_counts(messages),
        )
    ]


def _add(builder: HistoryBuilder, index: int, message: Record) -> None:
    fields = _fields(message)
    content = fields.get("content")
    match _kind(message):
        case "ai":
            builder.reply(_reply(fields), [Origin(index)])
        case "tool":
            outcome: Outcome = "failed" if fields.get("status") == "error" else "success"
            call_id = as_text(fields.get("tool_call_id"))
            builder.result(call_id, content_of(content), Origin(index), EPOCH, outcome)
        case kind:
            shown = content_of(content) if isinstance(content, str | list) else compact_json(fields)
            builder.user(shown, [Origin(index)], EPOCH, typed=kind == "human")


def _reply(fields: Record) -> ModelResponse:
    about = as_record(fields.get("response_metadata"))
    stop = as_text(about.get("finish_reason")) or as_text(about.get("stop_reason"))
    model = as_text(about.get("model_name")) or as_text(about.get("model"))
    return ModelResponse(
        parts=[*_said(fields.get("content")), *_calls(fields)],
        usage=_usage(fields.get("usage_metadata")),
        model_name=model or None,
        timestamp=EPOCH,
        provider_name=as_text(about.get("model_provider")) or None,
        provider_response_id=as_text(fields.get("id")) or None,
        finish_reason=_FINISH_REASONS.get(stop),
    )


def _said(content: Json) -> list[ModelResponsePart]:
    if not isinstance(content, list):
        return [TextPart(content=text_of(content))] if content else []
    return [
        _said_block(block)
        for block in content
        if as_text(as_record(block).get("type")) not in _CALL_BLOCKS
    ]


def _said_block(block: Json) -> ModelResponsePart:
    fields = as_record(block)
    if isinstance(block, str):
        return TextPart(content=block)
    if fields.get("type") == "reasoning" and isinstance(fields.get("reasoning"), str):
        return ThinkingPart(content=as_text(fields.get("reasoning")))
    return known_reply_part(fields) or TextPart(content=compact_json(block))


def _calls(fields: Record) -> list[ModelResponsePart]:
    calls = [*as_list(fields.get("tool_calls")), *as_list(fields.get("invalid_tool_calls"))]
    return [
        ToolCallPart(
            tool_name=as_text(call.get("name")) or "unknown",
            args=as_arguments(call.get("args")),
            tool_call_id=as_text(call.get("id")),
        )
        for call in map(as_record, calls)
    ]


def _usage(value: Json) -> RequestUsage:
    usage = as_record(value)
    details = as_record(usage.get("input_token_details"))
    return RequestUsage(
        input_tokens=as_count(usage.get("input_tokens")),
        cache_read_tokens=as_count(details.get("cache_read")),
        cache_write_tokens=as_count(details.get("cache_creation")),
        output_tokens=as_count(usage.get("output_tokens")),
    )


def _counts(messages: Sequence[Json]) -> RecordingCounts:
    """Every element of the list counts as a message, the system text included."""
    records = [as_record(message) for message in messages]
    return RecordingCounts(
        messages=len(records),
        calls=sum(len(as_list(_fields(record).get("tool_calls"))) for record in records),
        results=sum(_kind(record) == "tool" for record in records),
        images=sum(image_count(_fields(record).get("content")) for record in records),
        interrupted=0,
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    """A human message, written as the first one that it replaces."""
    first = as_record(replaced[0] if replaced else None)
    fields: Record = {"content": text, "type": "human"}
    match _holder(first):
        case "kwargs":
            name: list[Json] = ["langchain", "schema", "messages", "HumanMessage"]
            return [{"lc": 1, "type": "constructor", "id": name, "kwargs": fields}]
        case "":
            return [fields]
        case _:
            return [{"type": "human", "data": fields}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    key = _holder(record)
    fields = _fields(record)
    if "content" not in fields:
        return record
    shown = {**fields, "content": kept_content(fields["content"], kept)}
    if kept.cleared:
        shown.pop("artifact", None)
    return {**record, key: shown} if key else shown


def _leads(record: Record) -> bool:
    return _kind(record) == "system"


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
