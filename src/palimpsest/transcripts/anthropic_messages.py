"""Anthropic messages as JSON: Roo Code histories, Cline sessions, bare lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from palimpsest.formats.anthropic_messages import PROVIDER
from palimpsest.formats.content import (
    as_count,
    as_list,
    as_record,
    as_text,
    as_time,
    image_count,
    text_of,
)
from palimpsest.transcripts.anthropic_blocks import (
    FINISH_REASONS,
    add_user_content,
    reply_parts,
)
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.openai_chat import shown, tools_of
from palimpsest.transcripts.recording import RecordedCompaction, RecordingCounts
from palimpsest.transcripts.view import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record

FORMAT = "anthropic-messages"

_INJECTED = ("<environment_details>", "<system-reminder>", "[Request interrupted by user")
# How Roo Code marks words of the person among the texts that it writes in the user role.
_ROO_TYPED = (
    "<task>",
    "<user_message>",
    "<feedback>",
    "<answer>",
    "New instructions for task continuation:",
    "The user has provided feedback on the results.",
    "The user approved this operation and provided the following context:",
)


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a list of messages, or of an object around it."""
    fields = as_record(document)
    messages = document if isinstance(document, list) else as_list(fields.get("messages"))
    builder = HistoryBuilder(path, range(len(messages)), has_lines=False)
    typed = _roo_typed if _is_roo(messages) else _plain_typed
    for index, item in enumerate(messages):
        _add(builder, index, as_record(item), typed)
    return [
        builder.build(
            format=FORMAT,
            session_id=as_text(fields.get("sessionId")) or path.stem,
            counts=_counts(messages),
            system=text_of(fields.get("system_prompt") or fields.get("system")),
            tools=tools_of(fields.get("tools")),
            model=as_text(fields.get("model")) or None,
        )
    ]


def _is_roo(messages: Sequence[Json]) -> bool:
    """Whether the client wraps what the person types, so that bare text in the role is its own."""
    users = [m for m in map(as_record, messages) if m.get("role") == "user"]
    texts = [as_record(b).get("text") for m in users for b in as_list(m.get("content"))]
    return any(as_text(text).startswith(("<task>", "<environment_details>")) for text in texts)


def _roo_typed(text: str) -> bool:
    return text.lstrip().startswith(_ROO_TYPED)


def _plain_typed(text: str) -> bool:
    return not text.lstrip().startswith(_INJECTED)


def _add(
    builder: HistoryBuilder, index: int, message: Record, typed: Callable[[str], bool]
) -> None:
    content = message.get("content")
    at = as_time(message.get("ts") or message.get("timestamp"))
    if message.get("isSummary") is True:
        summary = RecordedCompaction(kind="summary", message_index=0, summary=text_of(content))
        builder.compaction(summary, first_kept_entry=0)
        builder.set_aside("compaction summary")
    elif message.get("role") == "assistant":
        model = as_record(message.get("modelInfo")).get("id") or message.get("model")
        response = ModelResponse(
            parts=reply_parts(content),
            usage=_usage(message),
            model_name=as_text(model) or None,
            timestamp=at,
            provider_name=PROVIDER,
            finish_reason=FINISH_REASONS.get(as_text(message.get("stop_reason"))),
        )
        builder.reply(response, [Origin(index)])
    else:
        is_user = message.get("role") == "user"
        add_user_content(builder, index, content, at, lambda text: is_user and typed(text))


def _usage(message: Record) -> RequestUsage:
    """Cline's counts, whose input already holds the cached tokens, or the API's own."""
    metrics, usage = as_record(message.get("metrics")), as_record(message.get("usage"))
    read = as_count(metrics.get("cacheReadTokens") or usage.get("cache_read_input_tokens"))
    written = as_count(metrics.get("cacheWriteTokens") or usage.get("cache_creation_input_tokens"))
    whole = as_count(metrics.get("inputTokens"))
    if whole < read + written or not metrics:
        whole += as_count(usage.get("input_tokens")) + read + written
    return RequestUsage(
        input_tokens=whole,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=as_count(metrics.get("outputTokens") or usage.get("output_tokens")),
    )


def _counts(messages: Sequence[Json]) -> RecordingCounts:
    """Every element of the list counts as a message, a summary included."""
    contents = [as_record(message).get("content") for message in messages]
    blocks = [as_record(block) for content in contents for block in as_list(content)]
    kinds = [block.get("type") for block in blocks]
    return RecordingCounts(
        messages=len(messages),
        calls=kinds.count("tool_use"),
        results=kinds.count("tool_result"),
        images=sum(image_count(content) for content in contents),
        interrupted=sum(
            as_text(block.get("text")).startswith("[Request interrupted by user")
            for block in blocks
        ),
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    message: Record = {"role": "user", "content": [{"type": "text", "text": text}]}
    times = [as_record(item)["ts"] for item in replaced if "ts" in as_record(item)]
    # Only clients that store a time beside each message know the mark of a summary.
    return [{**message, "ts": times[-1], "isSummary": True} if times else message]


def _leads(record: Record) -> bool:
    return record.get("isSummary") is not True


WRITING = Writing(summary=_summary, shown=shown, leads=_leads)
