"""kimi-cli contexts: OpenAI messages, one on each line, between marks and token counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponse, ModelResponsePart, ThinkingPart
from pydantic_ai.usage import RequestUsage

from palimpsest.formats.content import (
    EPOCH,
    as_count,
    as_list,
    as_record,
    as_text,
    content_of,
    text_of,
)
from palimpsest.formats.openai_chat import reply_parts
from palimpsest.transcripts import openai_chat
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin, read_lines
from palimpsest.transcripts.recording import RecordedCompaction
from palimpsest.transcripts.view import Writing, kept_content

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.jsonl import Entry
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "kimi"

_SUMMARY_MARK = "<system>Previous context has been compacted."
_SUMMARY_LEAD_IN = f"{_SUMMARY_MARK} Here is the compaction output:</system>"
_INJECTED = ("<system>", "<system-reminder>")
_FAILED = ("<system>ERROR", "<system>Command failed")
_MARK: Record = {"role": "_checkpoint", "id": 0}
"""What kimi writes first into a file, and again after a compaction."""


def read(path: Path) -> list[Built]:
    """The one session of the file."""
    return load(path)[1]


def load(path: Path) -> tuple[list[Entry], list[Built]]:
    """The lines of the file and its session."""
    entries, builder = read_lines(path)
    system = _add(builder, entries)
    messages: list[Json] = [
        entry.value for entry in entries if not as_text(entry.value.get("role")).startswith("_")
    ]
    built = builder.build(
        format=FORMAT,
        session_id=path.stem,
        counts=openai_chat.counts(messages),
        system=system,
    )
    return entries, [built]


def _add(builder: HistoryBuilder, entries: Sequence[Entry]) -> str:
    """Add the messages and give the system text.

    A count in front of a reply is its context; one right behind it has the reply added.
    """
    system, before = "", 0
    newest: ModelResponse | None = None
    for index, (_, line) in enumerate(entries):
        role = as_text(line.get("role")) or "unreadable record"
        if role == "_usage":
            count = as_count(line.get("token_count"))
            if newest is not None and newest.usage.input_tokens:
                output = max(0, count - newest.usage.input_tokens)
                newest.usage = RequestUsage(
                    input_tokens=newest.usage.input_tokens, output_tokens=output
                )
            newest, before = None, count
            builder.set_aside(role)
        elif role == "assistant":
            newest = _reply(line, before)
            builder.reply(newest, [Origin(index)])
            before = 0
        elif role.startswith("_"):
            system = text_of(line.get("content")) if role == "_system_prompt" else system
            builder.set_aside(role)
        else:
            newest, before = None, 0
            _add_other(builder, index, line)
    return system


def _reply(line: Record, input_tokens: int) -> ModelResponse:
    content = line.get("content")
    blocks = as_list(content)
    thoughts = [block for block in blocks if as_record(block).get("type") == "think"]
    said = [block for block in blocks if as_record(block).get("type") != "think"]
    parts: list[ModelResponsePart] = [_thought(as_record(block)) for block in thoughts]
    parts += reply_parts({**line, "content": said} if thoughts else line)
    usage = RequestUsage(input_tokens=input_tokens)
    return ModelResponse(parts=parts, timestamp=EPOCH, usage=usage)


def _thought(block: Record) -> ThinkingPart:
    signature = as_text(block.get("encrypted")) or None
    return ThinkingPart(
        content=as_text(block.get("think")),
        signature=signature,
        provider_name=FORMAT if signature else None,
    )


def _add_other(builder: HistoryBuilder, index: int, line: Record) -> None:
    content = line.get("content")
    text = text_of(content)
    if line.get("role") == "tool":
        outcome: Outcome = "failed" if text.startswith(_FAILED) else "success"
        call_id = as_text(line.get("tool_call_id"))
        builder.result(call_id, content_of(content), Origin(index), EPOCH, outcome)
    elif line.get("role") != "user":
        openai_chat.add_message(builder, index, line)
    elif text.startswith(_SUMMARY_MARK):
        _, _, summary = text.partition("</system>")
        found = RecordedCompaction(
            kind="summary", message_index=0, summary=summary.removeprefix("\n")
        )
        builder.compaction(found)
        builder.set_aside("compaction summary")
    else:
        typed = not text.lstrip().startswith(_INJECTED)
        builder.user(content_of(content), [Origin(index)], EPOCH, typed=typed)


def _summary(text: str, records: Sequence[Json]) -> list[Json]:
    del records
    blocks: list[Json] = [{"type": "text", "text": said} for said in (_SUMMARY_LEAD_IN, text)]
    return [_MARK, {"role": "user", "content": blocks}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    return {**record, "content": kept_content(record.get("content"), kept)}


def _leads(record: Record) -> bool:
    return as_text(record.get("role")) in {"_system_prompt", "_checkpoint"}


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
