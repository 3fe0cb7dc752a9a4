"""Google contents: saved chats of the Gemini CLI, its error reports, bare lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelResponse, ToolCallPart

from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import EPOCH, as_list, as_record, as_text
from palimpsest.formats.google_contents import part_field
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
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import RecordedCompaction, RecordingCounts
from palimpsest.transcripts.view import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "gemini-contents"


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a list of contents, or of an object around it."""
    contents = contents_of(document)
    builder = HistoryBuilder(path, range(len(contents)), has_lines=False)
    asked: list[tuple[str, str]] = []
    for index, content in enumerate(contents):
        asked = _add(builder, index, content, asked)
    fields = as_record(document)
    return [
        builder.build(
            format=FORMAT,
            session_id=as_text(fields.get("sessionId")) or path.stem,
            counts=_counts(contents),
            model=as_text(fields.get("model")) or None,
        )
    ]


def contents_of(document: Json) -> list[Json]:
    """The list of contents in a document: a saved chat, an error report, or the list itself."""
    fields = as_record(document)
    key = list_key(fields)
    contents = as_list(fields[key]) if key else as_list(document)
    # An error report may end with nothing but the parts.
    return [{"role": "user", "parts": c} if isinstance(c, list) else c for c in contents]


def list_key(document: Record) -> str:
    """Under which key a document keeps its contents; empty where it does not."""
    keys = ("context", "history", "contents")
    return next((key for key in keys if isinstance(document.get(key), list)), "")


def _add(
    builder: HistoryBuilder, index: int, content: Json, asked: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Add one content and give the calls that are still open, id and name."""
    parts = parts_of(as_record(content).get("parts"))
    fields = as_record(content)
    if fields.get("role") == "model":
        made = [reply_part(part, f"call-{index}-{number}") for number, part in enumerate(parts)]
        builder.reply(ModelResponse(parts=made, timestamp=EPOCH), [Origin(index)])
        calls = [part for part in made if isinstance(part, ToolCallPart)]
        return [(call.tool_call_id, call.tool_name) for call in calls]
    if not parts:
        builder.user(_unshaped(content), [Origin(index)], EPOCH, typed=False)
        return asked
    if text_of_part(parts[0]).startswith(SNAPSHOT):
        summary = "\n".join(text_of_part(part) for part in parts)
        builder.compaction(RecordedCompaction(kind="summary", message_index=0, summary=summary))
        builder.set_aside("compaction summary")
        return asked
    others: list[tuple[int, Json]] = []
    for number, part in enumerate(parts):
        key, response = part_field(as_record(part), "functionResponse")
        if key:
            result, outcome = result_content([part])
            call_id = _answered(asked, response)
            builder.result(call_id, result, Origin(index, number), EPOCH, outcome)
        else:
            others.append((number, part))
    if others:
        alone = len(others) == len(parts) and fields.get("role") == "user"
        text = text_of_part(parts[0])
        origins = [Origin(index, number) for number, _ in others]
        typed = alone and not text.lstrip().startswith(INJECTED)
        builder.user(said([part for _, part in others]), origins, EPOCH, typed=typed)
    return asked


def _unshaped(content: Json) -> str:
    return "" if as_record(content).get("role") == "user" else compact_json(content)


def _answered(asked: list[tuple[str, str]], response: Record) -> str:
    """The id of the call that a response answers: by id, else the first open one of its name."""
    call_id, name = as_text(response.get("id")), as_text(response.get("name"))
    for found in (
        next((call for call in asked if call[0] == call_id), None),
        next((call for call in asked if call[1] == name), None),
    ):
        if found is not None:
            asked.remove(found)
            return found[0]
    return call_id


def _counts(contents: Sequence[Json]) -> RecordingCounts:
    """Every element of the list counts as a message, a summary included."""
    parts = [
        as_record(part)
        for content in contents
        for part in parts_of(as_record(content).get("parts"))
    ]
    return RecordingCounts(
        messages=len(contents),
        calls=sum(bool(part_field(part, "functionCall")[0]) for part in parts),
        results=sum(bool(part_field(part, "functionResponse")[0]) for part in parts),
        images=sum(bool(part_field(part, "inlineData")[0]) for part in parts),
        interrupted=0,
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    del replaced
    return [{"role": "user", "parts": [{"text": text}]}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    if not isinstance(record.get("parts"), list):
        return record
    parts = [
        cleared_response(part, kept.cleared[number]) if number in kept.cleared else part
        for number, part in enumerate(as_list(record.get("parts")))
        if kept.blocks is None or number in kept.blocks
    ]
    return {**record, "parts": parts}


def _leads(record: Record) -> bool:
    return record.get("role") == "system"


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
