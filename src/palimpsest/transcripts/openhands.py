"""OpenHands event logs: lists of events, results of evaluations, folders of events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart

from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import as_list, as_record, as_text, as_time
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.openai_chat import tools_of
from palimpsest.transcripts.openhands_events import (
    Acted,
    Aside,
    Condensed,
    Observed,
    SystemSaid,
    UserSaid,
    event_of,
    is_sdk,
)
from palimpsest.transcripts.recording import RecordedCompaction, RecordingCounts
from palimpsest.transcripts.view import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "openhands"

_FILE = re.compile(r"(?:event-)?(\d+)(?:-.*)?\.json")


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a list of events, or of an evaluation's line around it."""
    events = events_of(document)
    builder = HistoryBuilder(path, range(len(events)), has_lines=False)
    reader = _Reader(builder, events)
    for index, event in enumerate(events):
        reader.add(index, as_record(event))
    fields = as_record(document)
    built = builder.build(
        format=FORMAT,
        session_id=as_text(fields.get("instance_id")) or as_text(fields.get("id")) or path.stem,
        counts=RecordingCounts(messages=0, calls=0, results=0, images=0, interrupted=0),
        tools=tools_of(reader.tools),
    )
    built.recording.counts = _counts(built, reader)
    return [built]


def events_of(document: Json) -> list[Json]:
    """The events in a document; old evaluations stored pairs of action and observation."""
    events = as_list(as_record(document).get("history", document))
    if events and all(isinstance(event, list) for event in events):
        return [event for pair in events for event in as_list(pair)]
    return events


def event_files(folder: Path) -> list[Path]:
    """The files of a folder of events, in the order of their numbers; empty for any other folder.

    Raises:
        OSError: the folder cannot be read.
    """
    if folder.name != "events" or not folder.is_dir():
        return []
    named = [(_FILE.fullmatch(path.name), path) for path in folder.iterdir()]
    return [path for _, path in sorted((int(found[1]), path) for found, path in named if found)]


class _Reader:
    """Adds events in order; those of one reply are read together, at the first of them."""

    def __init__(self, builder: HistoryBuilder, events: Sequence[Json]) -> None:
        self.tools: Json = None
        self.messages = self.images = 0
        self._builder = builder
        self._meanings = [event_of(as_record(event)) for event in events]
        self._at = {_id(as_record(event)): index for index, event in enumerate(events)}
        self._replies = dict[str, list[int]]()
        for index, meaning in enumerate(self._meanings):
            if isinstance(meaning, Acted) and meaning.reply_id:
                self._replies.setdefault(meaning.reply_id, []).append(index)

    def add(self, index: int, event: Record) -> None:
        """Add one event."""
        at = as_time(event.get("timestamp"))
        meaning = self._meanings[index]
        self.messages += isinstance(meaning, UserSaid | Acted | Observed)
        if isinstance(meaning, UserSaid | Observed) and not isinstance(meaning.content, str):
            self.images += sum(not isinstance(piece, str) for piece in meaning.content)
        match meaning:
            case SystemSaid():
                self._builder.system(meaning.text)
                self.tools = self.tools or meaning.tools
            case UserSaid():
                self._builder.user(meaning.content, [Origin(index)], at, typed=meaning.typed)
            case Acted():
                self._add_reply(index, meaning, at)
            case Observed():
                self._builder.result(
                    meaning.call_id, meaning.content, Origin(index), at, meaning.outcome
                )
            case Condensed():
                last = max((self._at.get(name, -1) for name in meaning.forgotten), default=-1)
                record = RecordedCompaction(
                    kind="summary", message_index=0, summary=meaning.summary
                )
                self._builder.compaction(record, last + 1 if last >= 0 else None)
                self._builder.set_aside("condensation")
            case Aside():
                self._builder.set_aside(meaning.reason)
            case _:
                assert_never(meaning)

    def _add_reply(self, index: int, acted: Acted, at: datetime) -> None:
        members = self._replies.get(acted.reply_id, [index])
        if members[0] != index:
            return
        events = [meaning for m in members if isinstance(meaning := self._meanings[m], Acted)]
        parts = [part for event in events for part in event.parts]
        whole = acted.whole or ModelResponse(
            parts=parts, timestamp=at, provider_response_id=acted.reply_id or None
        )
        self._builder.reply(whole, [Origin(member) for member in members])


def _id(event: Record) -> str:
    name = event.get("id")
    return name if isinstance(name, str) else compact_json(name)


def _counts(built: Built, reader: _Reader) -> RecordingCounts:
    """Every event that reaches the model counts as a message."""
    parts = [part for m in built.recording.messages for part in m.message.parts]
    return RecordingCounts(
        messages=reader.messages,
        calls=sum(isinstance(part, ToolCallPart) for part in parts),
        results=sum(isinstance(part, ToolReturnPart) for part in parts),
        images=reader.images,
        interrupted=0,
    )


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    if any(is_sdk(as_record(event)) for event in replaced):
        made: Record = {"id": "palimpsest-summary", "kind": "Condensation"}
        return [{**made, "forgotten_event_ids": [], "summary": text, "summary_offset": 0}]
    args: Record = {"forgotten_event_ids": [], "summary": text, "summary_offset": 0}
    return [{"id": -1, "source": "agent", "action": "condensation", "args": args}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    if None not in kept.cleared:
        return record
    text = kept.cleared[None]
    if not is_sdk(record):
        extras = as_record(record.get("extras"))
        few: Record = {key: extras[key] for key in ("exit_code", "metadata") if key in extras}
        return {**record, "content": text, "extras": few}
    match record.get("kind"):
        case "AgentErrorEvent":
            return {**record, "error": text}
        case "UserRejectObservation":
            return {**record, "rejection_reason": text}
        case _:
            seen = as_record(record.get("observation"))
            few = {key: seen[key] for key in ("kind", "is_error", "exit_code") if key in seen}
            return {**record, "observation": {**few, "content": [{"type": "text", "text": text}]}}


def _leads(record: Record) -> bool:
    return isinstance(event_of(record), SystemSaid)


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
