"""pi: a header line and entries, linear in version 1, a tree over ``id`` from version 2 on."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
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
from palimpsest.formats.content import (
    as_arguments,
    as_count,
    as_list,
    as_record,
    as_text,
    as_time,
    content_of,
    image_count,
)
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.jsonl import Entry, read_entries
from palimpsest.transcripts.recording import Problem, RecordedCompaction, RecordingCounts
from palimpsest.transcripts.view import kept_records, made_up_id, uncounted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.view import CompactedView, KeptRecord

FORMAT = "pi"

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "toolUse": "tool_call",
    "length": "length",
    "error": "error",
}
_ENTRIES_IN_CONTEXT = frozenset({"message", "custom_message", "branch_summary"})


def read(path: Path) -> list[Built]:
    """Every session of the file; each begins at a header."""
    return load(path)[1]


def load(path: Path) -> tuple[list[Entry], list[Built]]:
    """The entries of the file and its sessions."""
    problems = list[Problem]()
    entries = list(read_entries(path, problems))
    lost = sorted({found.line or 0 for found in problems if found.kind == "lost"})
    # Version 1 counts entries, and an entry that can no longer be read was one of them.
    ordinals = [index + bisect_left(lost, entry.line) for index, entry in enumerate(entries)]
    heads = [index for index, entry in enumerate(entries) if entry.value.get("type") == "session"]
    starts = sorted({0, *heads[1:]}) if entries else []
    ends = [*starts[1:], len(entries)]
    built = [
        _session(path, entries, range(start, end), ordinals)
        for start, end in zip(starts, ends, strict=False)
    ]
    if built:
        built[0].recording.problems[:0] = problems
    return entries, built


def _session(
    path: Path, entries: Sequence[Entry], members: range, ordinals: Sequence[int]
) -> Built:
    builder = HistoryBuilder(path, [entry.line for entry in entries], has_lines=True)
    chosen = _branch(entries, members, builder)
    for index in members:
        value = entries[index].value
        kind = as_text(value.get("type")) or "unreadable record"
        if kind == "compaction" and index in chosen:
            first_kept = _first_kept(value, entries, members, ordinals)
            builder.compaction(_compaction(value), first_kept)
            builder.set_aside(kind)
        elif kind not in _ENTRIES_IN_CONTEXT:
            builder.set_aside(kind)
        elif index not in chosen:
            builder.set_aside("abandoned branch")
        elif kind == "message":
            _add_message(builder, index, value)
        else:
            text = content_of(value.get("summary" if kind == "branch_summary" else "content"))
            at = as_time(value.get("timestamp"))
            builder.user(text, [Origin(index)], at, typed=False)
    header = as_record(entries[members[0]].value)
    return builder.build(
        format=FORMAT,
        session_id=as_text(header.get("id")) or path.stem,
        counts=_counts([entries[index].value for index in members]),
        model=as_text(header.get("modelId")) or None,
    )


def _branch(entries: Sequence[Entry], members: range, builder: HistoryBuilder) -> frozenset[int]:
    """The entries on the branch of the last one; all of them where there is no tree."""
    body = [index for index in members if entries[index].value.get("type") != "session"]
    by_id = {as_text(entries[index].value.get("id")): index for index in reversed(body)}
    by_id.pop("", None)
    if not by_id:
        return frozenset(body)
    before = dict(zip(body[1:], body, strict=False))
    chosen = set[int]()
    current: int | None = body[-1]
    while current is not None and current not in chosen:
        chosen.add(current)
        parent = as_text(entries[current].value.get("parentId"))
        if parent in by_id:
            current = by_id[parent]
            continue
        if parent:
            what = "Its parent is not in the file; the entry before it was taken instead."
            builder.problem(current, what, "repaired")
        has_parent = bool(parent) or not entries[current].value.get("id")
        current = before.get(current) if has_parent else None
    if current is not None:
        builder.problem(current, "Its parents form a circle; the walk ended there.", "repaired")
    return frozenset(chosen)


def _compaction(value: Record) -> RecordedCompaction:
    tokens = value.get("tokensBefore")
    return RecordedCompaction(
        kind="summary",
        message_index=0,
        tokens_before=as_count(tokens) if tokens is not None else None,
        summary=as_text(value.get("summary")),
    )


def _first_kept(
    value: Record, entries: Sequence[Entry], members: range, ordinals: Sequence[int]
) -> int | None:
    if kept := as_text(value.get("firstKeptEntryId")):
        return next((i for i in members if entries[i].value.get("id") == kept), None)
    if value.get("firstKeptEntryIndex") is None:
        return None
    wanted = ordinals[members[0]] + as_count(value.get("firstKeptEntryIndex"))
    return next((index for index in members if ordinals[index] >= wanted), None)


def _add_message(builder: HistoryBuilder, index: int, value: Record) -> None:
    message = as_record(value.get("message"))
    at = as_time(message.get("timestamp") or value.get("timestamp"))
    content = message.get("content")
    match message.get("role"):
        case "user":
            builder.user(content_of(content), [Origin(index)], at, typed=True)
        case "assistant":
            builder.reply(_reply(message, at), [Origin(index)])
        case "toolResult":
            outcome: Outcome = "failed" if message.get("isError") is True else "success"
            call_id = as_text(message.get("toolCallId"))
            builder.result(call_id, content_of(content), Origin(index), at, outcome)
        case "bashExecution" if message.get("excludeFromContext") is True:
            builder.set_aside("bashExecution outside the context")
        case "bashExecution":
            builder.user(_execution_text(message), [Origin(index)], at, typed=False)
        case _:
            shown = content if content is not None else message
            builder.user(content_of(shown), [Origin(index)], at, typed=False)


def _execution_text(message: Record) -> str:
    """A command the person ran beside the conversation, as the model reads it."""
    code = message.get("exitCode")
    lines = [f"Ran `{as_text(message.get('command'))}`", as_text(message.get("output"))]
    if message.get("cancelled") is True:
        lines.append("(command cancelled)")
    elif code not in (None, 0):
        lines.append(f"Command exited with code {compact_json(code)}")
    if message.get("truncated") is True:
        lines.append(f"[Output truncated. Full output: {as_text(message.get('fullOutputPath'))}]")
    return "\n".join(lines)


def _reply(message: Record, at: datetime) -> ModelResponse:
    stop = as_text(message.get("stopReason"))
    provider = as_text(message.get("provider")) or None
    error = as_text(message.get("errorMessage"))
    return ModelResponse(
        parts=[_reply_part(block, provider) for block in _blocks(message.get("content"))],
        usage=_usage(message.get("usage")),
        model_name=as_text(message.get("model")) or None,
        timestamp=at,
        provider_name=provider,
        finish_reason=_FINISH_REASONS.get(stop),
        metadata={"error": error} if error else None,
        state="interrupted" if stop in {"aborted", "error"} else "complete",
    )


def _blocks(content: Json) -> list[Json]:
    return as_list(content) if content is None or isinstance(content, list) else [content]


def _reply_part(block: Json, provider: str | None) -> ModelResponsePart:
    fields = as_record(block)
    match fields.get("type"):
        case "text" if isinstance(fields.get("text"), str):
            return TextPart(content=as_text(fields.get("text")))
        case "thinking":
            signature = as_text(fields.get("thinkingSignature")) or None
            return ThinkingPart(
                content=as_text(fields.get("thinking")),
                signature=signature,
                provider_name=provider if signature else None,
            )
        case "toolCall":
            partial = as_text(fields.get("partialJson"))
            return ToolCallPart(
                tool_name=as_text(fields.get("name")) or "unknown",
                args=as_arguments(partial or fields.get("arguments")),
                tool_call_id=as_text(fields.get("id")),
            )
        case _:
            return TextPart(content=block if isinstance(block, str) else compact_json(block))


def _usage(value: Json) -> RequestUsage:
    usage = as_record(value)
    read, written = as_count(usage.get("cacheRead")), as_count(usage.get("cacheWrite"))
    return RequestUsage(
        input_tokens=as_count(usage.get("input")) + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=as_count(usage.get("output")),
    )


def _counts(values: Sequence[Record]) -> RecordingCounts:
    """Every message entry counts once; an aborted reply is an interruption."""
    messages = [as_record(v.get("message")) for v in values if v.get("type") == "message"]
    blocks = [as_record(block) for m in messages for block in as_list(m.get("content"))]
    return RecordingCounts(
        messages=len(messages),
        calls=sum(block.get("type") == "toolCall" for block in blocks),
        results=sum(message.get("role") == "toolResult" for message in messages),
        images=sum(image_count(message.get("content")) for message in messages),
        interrupted=sum(message.get("stopReason") == "aborted" for message in messages),
    )


def view_lines(values: Sequence[Record], built: Built, view: CompactedView) -> Iterable[Record]:
    """Header, compaction entry, kept entries: what comes behind a compaction is its context."""
    records = kept_records(built, view)
    kept = [*records.before_summary, *records.after_summary]
    first_entry = min((record.entry for record in kept), default=len(values))
    heads = [value for value in values[:first_entry] if value.get("type") == "session"]
    header = heads[-1] if heads else {}
    is_tree = as_count(header.get("version")) > 1
    if header:
        yield header
    parent: str | None = None
    if view.summary is not None:
        entry: Record = {
            "type": "compaction",
            "timestamp": (values[first_entry] if kept else header).get("timestamp"),
            "summary": view.summary,
            "tokensBefore": 0,
        }
        if is_tree:
            parent = hashlib.sha256(view.summary.encode(errors="replace")).hexdigest()[:8]
            first_id = _entry_id(values, kept[0]) if kept else parent
            entry |= {"id": parent, "parentId": None, "firstKeptEntryId": first_id}
        else:
            entry["firstKeptEntryIndex"] = 1 + bool(header)
        yield entry
    for record in kept:
        value = dict(values[record.entry])
        message = uncounted(as_record(value.get("message")))
        if message:
            value["message"] = message
        if None in record.cleared:
            text: list[Json] = [{"type": "text", "text": record.cleared[None]}]
            cleared = {key: item for key, item in message.items() if key != "details"}
            value["message"] = {**cleared, "content": text}
        if is_tree:
            value["parentId"] = parent
            parent = _entry_id(values, record)
            value["id"] = parent
        yield value


def _entry_id(values: Sequence[Record], record: KeptRecord) -> str:
    """The id of an entry, made up where it has none: readers pass over such an entry."""
    return as_text(values[record.entry].get("id")) or made_up_id(record)[:8]
