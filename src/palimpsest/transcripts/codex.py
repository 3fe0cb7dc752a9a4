"""Codex rollouts: items of the Responses API, one on each line, between events for the screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic_ai.messages import (
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
    text_of,
)
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin, read_lines
from palimpsest.transcripts.recording import RecordedCompaction, RecordingCounts
from palimpsest.transcripts.view import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Content, Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.jsonl import Entry
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "codex"

# Text in the user role that the client wrote: none of it is a prompt of the person.
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "# AGENTS.md instructions",
)
_EXIT_CODE = re.compile(r"(?:exited with code|Exit code:) (-?\d+)")
# The exit code stands in the lines that the client writes above a command's own output.
_EXIT_CODE_WITHIN = 400


def read(path: Path) -> list[Built]:
    """The one session of the file."""
    return load(path)[1]


def load(path: Path) -> tuple[list[Entry], list[Built]]:
    """The lines of the file and its session."""
    entries, builder = read_lines(path)
    values = [entry.value for entry in entries]
    taken_back = _taken_back(values)
    reader = _Reader(builder)
    for index, value in enumerate(values):
        if index in taken_back:
            builder.set_aside("turn taken back")
        else:
            reader.add(index, value)
    reader.end_reply()
    metas = [as_record(v.get("payload")) for v in values if v.get("type") == "session_meta"]
    meta = metas[0] if metas else {}
    instructions = meta.get("base_instructions") or meta.get("instructions")
    built = builder.build(
        format=FORMAT,
        session_id=as_text(meta.get("id")) or path.stem,
        counts=_counts(values),
        system=as_text(as_record(instructions).get("text")) or as_text(instructions),
        model=reader.model,
    )
    return entries, [built]


def _taken_back(lines: Sequence[Record]) -> set[int]:
    """Items and compactions of turns that the person undid."""
    undone, starts = set[int](), list[int]()
    for index, line in enumerate(lines):
        payload = as_record(line.get("payload"))
        if line.get("type") == "response_item" and _is_prompt(payload):
            starts.append(index)
        elif payload.get("type") == "thread_rolled_back" and starts:
            turns = min(as_count(payload.get("num_turns")), len(starts))
            kept = len(starts) - turns
            undone.update(range(starts[kept], index) if turns else ())
            del starts[kept:]
    return {i for i in undone if as_text(lines[i].get("type")) in {"response_item", "compacted"}}


def _is_prompt(item: Record) -> bool:
    """Whether an item is text in the user role that the client did not write."""
    said = text_of(item.get("content"))
    return item.get("role") == "user" and not said.startswith(_INJECTED)


class _Reader:
    """Adds lines in order; the items of one reply stand on consecutive lines."""

    def __init__(self, builder: HistoryBuilder) -> None:
        self.model: str | None = None
        self._builder = builder
        self._parts = list[ModelResponsePart]()
        self._origins = list[Origin]()
        self._at: datetime | None = None
        self._uncounted: ModelResponse | None = None

    def add(self, index: int, line: Record) -> None:
        """Add one line."""
        kind = as_text(line.get("type")) or "unreadable record"
        payload = as_record(line.get("payload"))
        if kind == "response_item":
            self._add_item(index, payload, as_time(line.get("timestamp")))
            return
        self._builder.set_aside(kind)
        if kind == "turn_context":
            self.model = as_text(payload.get("model")) or self.model
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._count(as_record(payload.get("info")))
        elif kind == "compacted":
            self.end_reply()
            summary = as_text(payload.get("message"))
            self._builder.compaction(
                RecordedCompaction(kind="summary", message_index=0, summary=summary)
            )

    def _add_item(self, index: int, item: Record, at: datetime) -> None:
        kind, role = as_text(item.get("type")), item.get("role")
        is_said = kind == "message" and role == "assistant"
        if is_said or kind == "reasoning" or kind.endswith("_call"):
            self._parts.append(_reply_part(item))
            self._origins.append(Origin(index))
            self._at = self._at or at
            return
        if kind == "ghost_snapshot":
            self._builder.set_aside(kind)
            return
        self.end_reply()
        if kind.endswith("_output") and "call_id" in item:
            content, outcome = _output(item.get("output", item))
            self._builder.result(as_text(item.get("call_id")), content, Origin(index), at, outcome)
        elif kind == "message":
            content = content_of(item.get("content"))
            self._builder.user(content, [Origin(index)], at, typed=_is_prompt(item))
        else:
            self._builder.user(compact_json(item), [Origin(index)], at, typed=False)

    def end_reply(self) -> None:
        """Nothing more belongs to the reply that was begun."""
        if self._at is None:
            return
        reply = ModelResponse(parts=self._parts, model_name=self.model, timestamp=self._at)
        self._builder.reply(reply, self._origins)
        self._parts, self._origins, self._at = [], [], None
        self._uncounted = reply

    def _count(self, info: Record) -> None:
        """The provider's count of the newest request; the same one may be reported again."""
        usage = as_record(info.get("last_token_usage"))
        if self._at is not None:
            self.end_reply()
        if usage and self._uncounted is not None:
            self._uncounted.usage = RequestUsage(
                input_tokens=as_count(usage.get("input_tokens")),
                cache_read_tokens=as_count(usage.get("cached_input_tokens")),
                output_tokens=as_count(usage.get("output_tokens")),
            )
            self._uncounted = None


def _reply_part(item: Record) -> ModelResponsePart:
    kind = as_text(item.get("type"))
    if kind == "message":
        return TextPart(content=text_of(item.get("content")))
    if kind == "reasoning":
        said = [*as_list(item.get("summary")), *as_list(item.get("content"))]
        signature = as_text(item.get("encrypted_content")) or None
        return ThinkingPart(
            content="\n".join(as_text(as_record(piece).get("text")) for piece in said),
            signature=signature,
            provider_name="openai" if signature else None,
        )
    if _is_call(item):
        arguments = item.get("arguments", item.get("input", item.get("action")))
        return ToolCallPart(
            tool_name=as_text(item.get("name")) or kind.removesuffix("_call"),
            args=as_arguments(arguments),
            tool_call_id=as_text(item.get("call_id")),
        )
    return TextPart(content=compact_json(item))


def _is_call(item: Record) -> bool:
    """Whether an item asks for a result; calls that the provider answers itself do not."""
    return as_text(item.get("type")).endswith("_call") and isinstance(item.get("call_id"), str)


def _output(output: Json) -> tuple[Content, Outcome]:
    """What a tool gave, and how it ended as far as the client wrote that down."""
    fields = as_record(output)
    if fields:
        failed = fields.get("success") is False
        return content_of(fields.get("content", output)), "failed" if failed else "success"
    code = _EXIT_CODE.search(as_text(output)[:_EXIT_CODE_WITHIN])
    failed = code is not None and code[1] != "0"
    return content_of(output), "failed" if failed else "success"


def _counts(lines: Sequence[Record]) -> RecordingCounts:
    """Every item of the history counts as a message."""
    items = [as_record(v.get("payload")) for v in lines if v.get("type") == "response_item"]
    events = [as_record(v.get("payload")) for v in lines if v.get("type") == "event_msg"]
    kinds = [as_text(item.get("type")) for item in items]
    blocks = [as_record(b) for item in items for b in as_list(item.get("content"))]
    return RecordingCounts(
        messages=len(items),
        calls=sum(_is_call(item) for item in items),
        results=sum(kind.endswith("_output") for kind in kinds),
        images=sum(block.get("type") == "input_image" for block in blocks),
        interrupted=sum(event.get("type") == "turn_aborted" for event in events),
    )


def _summary(text: str, records: Sequence[Json]) -> list[Json]:
    times = [as_text(as_record(record).get("timestamp")) for record in records]
    content: list[Json] = [{"type": "input_text", "text": text}]
    history: list[Json] = [{"type": "message", "role": "user", "content": content}]
    payload: Record = {"message": text, "replacement_history": history}
    return [{"timestamp": times[-1] if times else "", "type": "compacted", "payload": payload}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    if None not in kept.cleared:
        return record
    return {**record, "payload": {**as_record(record.get("payload")), "output": kept.cleared[None]}}


def _leads(record: Record) -> bool:
    return as_text(record.get("type")) in {"session_meta", "turn_context"}


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
