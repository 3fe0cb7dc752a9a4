"""Gemini CLI sessions: a call and its result in one record; one document, or lines since 0.40."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from palimpsest.formats.content import as_count, as_list, as_record, as_text, as_time
from palimpsest.transcripts.gemini_parts import (
    INJECTED,
    SNAPSHOT,
    cleared_response,
    parts_of,
    reply_part,
    result_content,
    said,
    text_of_part,
)
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin, read_lines
from palimpsest.transcripts.recording import RecordedCompaction, RecordingCounts
from palimpsest.transcripts.view import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.jsonl import Entry
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "gemini-cli"

_NO_CONTEXT = frozenset({"info", "error", "warning"})


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a document."""
    fields = as_record(document)
    messages = as_list(fields.get("messages"))
    builder = HistoryBuilder(path, range(len(messages)), has_lines=False)
    for index, message in enumerate(messages):
        _add(builder, index, as_record(message))
    session_id = as_text(fields.get("sessionId")) or path.stem
    return [builder.build(format=FORMAT, session_id=session_id, counts=_counts(messages))]


def load(path: Path) -> tuple[list[Entry], list[Built]]:
    """The lines of a file and its session: a later line of one id stands for the earlier one."""
    entries, builder = read_lines(path)
    replaced = _replaced([entry.value for entry in entries])
    session_id = path.stem
    for index, (_, line) in enumerate(entries):
        if reason := replaced.get(index):
            builder.set_aside(reason)
        elif "type" in line:
            _add(builder, index, line)
        else:
            session_id = as_text(line.get("sessionId")) or session_id
            builder.set_aside("metadata")
    messages: list[Json] = [entry.value for entry in entries if "type" in entry.value]
    built = builder.build(format=FORMAT, session_id=session_id, counts=_counts(messages))
    return entries, [built]


def _replaced(lines: Sequence[Record]) -> dict[int, str]:
    """Lines that a later one took back, and why."""
    found = dict[int, str]()
    at = dict[str, int]()
    for index, line in enumerate(lines):
        name = as_text(line.get("id"))
        if "type" in line and name:
            if name in at:
                found[at[name]] = "earlier state of a message"
            at[name] = index
        elif (target := as_text(line.get("$rewindTo"))) in at:
            start = at[target]
            gone = {key: place for key, place in at.items() if place >= start}
            found |= dict.fromkeys(gone.values(), "rewound message")
            at = {key: place for key, place in at.items() if place < start}
    return found


def _add(builder: HistoryBuilder, index: int, message: Record) -> None:
    kind = as_text(message.get("type"))
    at = as_time(message.get("timestamp"))
    if kind in _NO_CONTEXT:
        builder.set_aside(kind)
    elif kind == "gemini":
        _add_reply(builder, index, message, at)
    else:
        parts = parts_of(message.get("content"))
        text = text_of_part(parts[0]).lstrip() if parts else ""
        if kind == "user" and text.startswith(SNAPSHOT):
            record = RecordedCompaction(kind="summary", message_index=0, summary=text)
            builder.compaction(record)
            builder.set_aside("compaction summary")
            return
        typed = kind == "user" and not text.startswith(INJECTED)
        builder.user(said(parts), [Origin(index)], at, typed=typed)


def _add_reply(builder: HistoryBuilder, index: int, message: Record, at: datetime) -> None:
    calls = [as_record(call) for call in as_list(message.get("toolCalls"))]
    names = [as_text(call.get("id")) or f"call-{index}-{n}" for n, call in enumerate(calls)]
    parts: list[ModelResponsePart] = [
        ThinkingPart(content=_thought(as_record(thought)))
        for thought in as_list(message.get("thoughts"))
    ]
    content = parts_of(message.get("content"))
    if text := "".join(text_of_part(part) for part in content if isinstance(part, str)):
        parts.append(TextPart(content=text))
    parts += [reply_part(part, "") for part in content if not isinstance(part, str)]
    parts += [
        ToolCallPart(
            tool_name=as_text(call.get("name")) or "unknown",
            args=as_record(call.get("args")),
            tool_call_id=name,
        )
        for name, call in zip(names, calls, strict=True)
    ]
    response = ModelResponse(
        parts=parts,
        usage=_usage(message.get("tokens")),
        model_name=as_text(message.get("model")) or None,
        timestamp=at,
    )
    builder.reply(response, [Origin(index)])
    for number, (name, call) in enumerate(zip(names, calls, strict=True)):
        if call.get("result") is not None:
            shown, outcome = result_content(parts_of(call.get("result")))
            ended = as_time(call.get("timestamp"))
            builder.result(name, shown, Origin(index, number), ended, _ended(call, outcome))


def _thought(thought: Record) -> str:
    said_there = (as_text(thought.get("subject")), as_text(thought.get("description")))
    return "\n".join(text for text in said_there if text)


def _ended(call: Record, outcome: Outcome) -> Outcome:
    match call.get("status"):
        case "cancelled":
            return "interrupted"
        case "error":
            return "failed"
        case _:
            return outcome


def _usage(value: Json) -> RequestUsage:
    tokens = as_record(value)
    return RequestUsage(
        input_tokens=as_count(tokens.get("input")),
        cache_read_tokens=as_count(tokens.get("cached")),
        output_tokens=as_count(tokens.get("output")) + as_count(tokens.get("thoughts")),
    )


def _counts(messages: Sequence[Json]) -> RecordingCounts:
    """Every record counts as a message; a cancelled call is an interruption."""
    records = [as_record(message) for message in messages]
    calls = [as_record(call) for record in records for call in as_list(record.get("toolCalls"))]
    parts = [as_record(part) for record in records for part in as_list(record.get("content"))]
    return RecordingCounts(
        messages=len(records),
        calls=len(calls),
        results=sum(call.get("result") is not None for call in calls),
        images=sum("inlineData" in part for part in parts),
        interrupted=sum(call.get("status") == "cancelled" for call in calls),
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    times = [as_text(as_record(record).get("timestamp")) for record in replaced]
    time = times[-1] if times else ""
    return [{"id": "palimpsest-summary", "timestamp": time, "type": "user", "content": text}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    """Results hold a copy for the screen, too."""
    calls: list[Json] = []
    for number, call in enumerate(as_list(record.get("toolCalls"))):
        fields = as_record(call)
        if number in kept.cleared:
            fields = {name: value for name, value in fields.items() if name != "resultDisplay"}
            first = next(iter(parts_of(fields.get("result"))), None)
            fields["result"] = [cleared_response(first, kept.cleared[number])]
        calls.append(fields or call)
    return {**record, "toolCalls": calls} if calls else record


def _leads(record: Record) -> bool:
    return "sessionId" in record


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
