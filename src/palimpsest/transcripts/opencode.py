"""opencode: sessions as exported, as a stream of storage records, and in the storage folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserContent,
)
from pydantic_ai.usage import RequestUsage

from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import (
    as_count,
    as_list,
    as_record,
    as_text,
    as_time,
    joined,
    linked_image,
)
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import RecordedCompaction, RecordingCounts
from palimpsest.transcripts.view import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "opencode"

_BOOKKEEPING = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry"})


class _Message(NamedTuple):
    position: int
    info: Record
    parts: list[Record]
    at: datetime


def read(path: Path, document: Json) -> list[Built]:
    """The one session of an export."""
    fields = as_record(document)
    session = as_record(fields.get("info"))
    raw = as_list(fields.get("messages"))
    builder = HistoryBuilder(path, range(len(raw)), has_lines=False)
    messages = [_message(index, as_record(item)) for index, item in enumerate(raw)]
    by_id = {as_text(message.info.get("id")): message for message in reversed(messages)}
    clearings = _clearings(messages)
    for message in messages:
        while clearings and clearings[-1][0] <= message.at:
            _add_clearing(builder, clearings.pop()[1])
        _add(builder, message, by_id)
    for _, call_ids in reversed(clearings):
        _add_clearing(builder, call_ids)
    session_id = as_text(session.get("id")) or path.stem
    return [builder.build(format=FORMAT, session_id=session_id, counts=_counts(messages))]


def _message(index: int, item: Record) -> _Message:
    info = as_record(item.get("info"))
    at = as_time(as_record(info.get("time")).get("created"))
    return _Message(index, info, [as_record(part) for part in as_list(item.get("parts"))], at)


def _clearings(messages: Sequence[_Message]) -> list[tuple[datetime, list[str]]]:
    """Calls whose results opencode pruned, by the time it did so, newest first."""
    found: dict[datetime, list[str]] = {}
    for message in messages:
        for part in message.parts:
            when = as_record(as_record(part.get("state")).get("time")).get("compacted")
            if when is not None:
                found.setdefault(as_time(when), []).append(as_text(part.get("callID")))
    return sorted(found.items(), reverse=True)


def _add_clearing(builder: HistoryBuilder, call_ids: Sequence[str]) -> None:
    record = RecordedCompaction(
        kind="clearing", message_index=0, trigger="auto", cleared_call_ids=tuple(call_ids)
    )
    builder.compaction(record)


def _add(builder: HistoryBuilder, message: _Message, by_id: dict[str, _Message]) -> None:
    if message.info.get("role") == "assistant":
        if message.info.get("summary") is True:
            _add_summary(builder, message, by_id)
        else:
            _add_steps(builder, message)
    elif message.parts and all(part.get("type") == "compaction" for part in message.parts):
        builder.set_aside("compaction")
    else:
        _add_user(builder, message)


def _add_summary(builder: HistoryBuilder, message: _Message, by_id: dict[str, _Message]) -> None:
    asked = by_id.get(as_text(message.info.get("parentID")))
    parts = asked.parts if asked else []
    request = as_record(next((p for p in parts if p.get("type") == "compaction"), None))
    tail = by_id.get(as_text(request.get("tail_start_id")))
    trigger = "auto" if request.get("auto") is True else "manual"
    record = RecordedCompaction(
        kind="summary",
        message_index=0,
        trigger=trigger if request else "",
        summary="\n\n".join(as_text(p.get("text")) for p in message.parts if p.get("text")),
    )
    builder.compaction(record, tail.position if tail else None)
    builder.set_aside("compaction summary")


def _add_user(builder: HistoryBuilder, message: _Message) -> None:
    """Text that opencode wrote beside the person's is marked as synthetic."""
    typed: list[tuple[int, UserContent]] = []
    injected: list[tuple[int, UserContent]] = []
    for number, part in enumerate(message.parts):
        if part.get("ignored") is True or as_text(part.get("type")) in _BOOKKEEPING:
            continue
        own = as_text(part.get("type")) in {"text", "file"} and part.get("synthetic") is not True
        (typed if own else injected).append((number, _content(part)))
    for group, is_typed in ((typed, message.info.get("role") == "user"), (injected, False)):
        if group:
            origins = [Origin(message.position, number) for number, _ in group]
            content = joined([piece for _, piece in group])
            builder.user(content, origins, message.at, typed=is_typed)
    if not typed and not injected:
        builder.set_aside("message without content")


def _content(part: Record) -> UserContent:
    if part.get("type") == "text" and isinstance(part.get("text"), str):
        return as_text(part.get("text"))
    found = linked_image(as_text(part.get("url"))) if part.get("type") == "file" else None
    return compact_json(part) if found is None else found


def _add_steps(builder: HistoryBuilder, message: _Message) -> None:
    """Each step of a message is a reply of its own, with the results of its calls."""
    steps: list[list[int]] = [[]]
    for number, part in enumerate(message.parts):
        if part.get("type") == "step-start" and steps[-1]:
            steps.append([])
        steps[-1].append(number)
    added = False
    for step in steps:
        said = [n for n in step if as_text(message.parts[n].get("type")) not in _BOOKKEEPING]
        if said:
            _add_step(builder, message, step, said)
            added = True
    if not added:
        builder.set_aside("message without content")


def _add_step(
    builder: HistoryBuilder, message: _Message, step: Sequence[int], said: Sequence[int]
) -> None:
    provider = as_text(message.info.get("providerID")) or None
    finish = [message.parts[n] for n in step if message.parts[n].get("type") == "step-finish"]
    tokens = finish[-1].get("tokens") if finish else message.info.get("tokens")
    aborted = as_record(message.info.get("error")).get("name") == "MessageAbortedError"
    response = ModelResponse(
        parts=[_reply_part(message, number, provider) for number in said],
        usage=_usage(tokens),
        model_name=as_text(message.info.get("modelID")) or None,
        timestamp=message.at,
        provider_name=provider,
        state="interrupted" if aborted else "complete",
    )
    builder.reply(response, [Origin(message.position, number) for number in said])
    for number in said:
        part = message.parts[number]
        state = as_record(part.get("state"))
        ended = {"completed": "output", "error": "error"}.get(as_text(state.get("status")))
        if part.get("type") == "tool" and ended is not None:
            outcome: Outcome = "success" if ended == "output" else "failed"
            at = as_time(as_record(state.get("time")).get("end"))
            call_id = _call_id(message, number)
            origin = Origin(message.position, number)
            builder.result(call_id, as_text(state.get(ended)), origin, at, outcome)


def _call_id(message: _Message, number: int) -> str:
    return as_text(message.parts[number].get("callID")) or f"call-{message.position}-{number}"


def _reply_part(message: _Message, number: int, provider: str | None) -> ModelResponsePart:
    part = message.parts[number]
    text = part.get("text")
    match part.get("type"):
        case "text" if isinstance(text, str):
            return TextPart(content=text)
        case "reasoning" if isinstance(text, str):
            kept = as_record(as_record(part.get("metadata")).get("anthropic"))
            signature = as_text(kept.get("signature")) or None
            return ThinkingPart(
                content=text, signature=signature, provider_name=provider if signature else None
            )
        case "tool":
            return ToolCallPart(
                tool_name=as_text(part.get("tool")) or "unknown",
                args=as_record(as_record(part.get("state")).get("input")),
                tool_call_id=_call_id(message, number),
            )
        case _:
            return TextPart(content=compact_json(part))


def _usage(value: Json) -> RequestUsage:
    tokens = as_record(value)
    cache = as_record(tokens.get("cache"))
    read, written = as_count(cache.get("read")), as_count(cache.get("write"))
    return RequestUsage(
        input_tokens=as_count(tokens.get("input")) + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=as_count(tokens.get("output")) + as_count(tokens.get("reasoning")),
    )


def _counts(messages: Sequence[_Message]) -> RecordingCounts:
    """Every message of the export counts, those of compactions too."""
    parts = [part for message in messages for part in message.parts]
    tools = [
        as_text(as_record(p.get("state")).get("status")) for p in parts if p.get("type") == "tool"
    ]
    errors = [as_record(message.info.get("error")).get("name") for message in messages]
    return RecordingCounts(
        messages=len(messages),
        calls=len(tools),
        results=sum(status in {"completed", "error"} for status in tools),
        images=sum(as_text(part.get("mime")).startswith("image/") for part in parts),
        interrupted=errors.count("MessageAbortedError"),
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    """What opencode itself leaves behind; its ids sort before any that hold a time."""
    session = next((as_record(as_record(r).get("info")).get("sessionID") for r in replaced), "")
    asked, answer = "msg_00000000palimpsest0", "msg_00000000palimpsest1"
    shared: Record = {"sessionID": session, "time": {"created": 0}}
    request: Record = {"id": f"prt_{asked}", "messageID": asked, "type": "compaction"}
    said: Record = {"id": f"prt_{answer}", "messageID": answer, "type": "text", "text": text}
    parent: Record = {"parentID": asked, "summary": True, "finish": "stop"}
    return [
        {"info": {"id": asked, "role": "user", **shared}, "parts": [{**request, "auto": False}]},
        {"info": {"id": answer, "role": "assistant", **shared, **parent}, "parts": [said]},
    ]


def _shown(record: Record, kept: KeptRecord) -> Json:
    parts: list[Json] = []
    for number, part in enumerate(as_list(record.get("parts"))):
        fields = as_record(part)
        stays = kept.blocks is None or number in kept.blocks
        if number in kept.cleared:
            state = as_record(fields.get("state"))
            key = "error" if state.get("status") == "error" else "output"
            bare = {name: value for name, value in state.items() if name != "metadata"}
            parts.append({**fields, "state": {**bare, key: kept.cleared[number]}})
        elif stays or as_text(fields.get("type")) in _BOOKKEEPING:
            parts.append(part)
    return {**record, "parts": parts}


def _leads(record: Record) -> bool:
    del record
    return False


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
