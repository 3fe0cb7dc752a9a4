"""Palimpsest's own session files."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING, NamedTuple, assert_never

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturnPart

from palimpsest.core.errors import (
    BrokenHeaderError,
    BrokenMessageError,
    BrokenRecordError,
    NotARecordingError,
    UnsupportedSessionError,
)
from palimpsest.core.records import Checkpoint, Clearing, Restore, Trim
from palimpsest.formats.content import EPOCH, as_count, as_record, as_text
from palimpsest.formats.prompts import injected_parts, starts_turn
from palimpsest.storage import codec
from palimpsest.storage.files import Files
from palimpsest.storage.framing import MalformedError, decode_message, is_commit, load_object
from palimpsest.storage.layout import Source
from palimpsest.storage.scan import scan, stored_lines
from palimpsest.transcripts import pydantic_ai
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.jsonl import Entry
from palimpsest.transcripts.recording import Problem, RecordedCompaction
from palimpsest.transcripts.view import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage

    from palimpsest.core.excerpt import Json
    from palimpsest.core.records import Record as StoredDecision
    from palimpsest.formats.content import Record
    from palimpsest.storage.codec import StoredRecord
    from palimpsest.storage.scan import Scan
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "palimpsest"


class _File(NamedTuple):
    """What stands in a session file.

    Attributes:
        found: what every line is, and what is wrong.
        header: line 1; empty where it cannot be read.
        lines: the messages that count.
        commit_lines: lines between the messages.
        torn_bytes: length of what stands behind the last whole commit.
    """

    found: Scan
    header: Record
    lines: list[bytes]
    commit_lines: int
    torn_bytes: int


def is_line(line: Record) -> bool:
    """Whether a line is one that only session files have: line 1, or the end of a commit."""
    return line.get("format") == codec.FORMAT or is_commit(line)


def read(path: Path) -> list[Built]:
    """The one session of the file.

    Raises:
        NotARecordingError: it is of a version that cannot be read.
        OSError: it cannot be read.
    """
    return load(path)[1]


def load(path: Path) -> tuple[list[Entry], list[Built]]:
    """Line 1 as it stands above other messages, the lines of the messages, and the session.

    Raises:
        NotARecordingError: it is of a version that cannot be read.
        OSError: it cannot be read.
    """
    file = _load(path)
    layout, numbers = file.found.layout, file.found.message_lines
    builder = HistoryBuilder(path, [1, *numbers], has_lines=True)
    builder.problems += _problems(path, file)
    builder.set_aside("header")
    builder.set_aside("commit", file.commit_lines)
    messages = [_message(line) for line in file.lines]
    told = {problem.line for problem in builder.problems}
    for number, message in zip(numbers, messages, strict=True):
        if message is None and number not in told:  # below another tool's line 1
            builder.problems.append(_lost(path, number, "the line is no message"))
    system = _add(builder, messages, layout.records)
    head: Record = {
        key: item for key, item in file.header.items() if key not in codec.KEYS_OF_PLACES
    }
    values: list[Record] = [
        {} if message is None else load_object(line)
        for message, line in zip(messages, file.lines, strict=True)
    ]
    built = builder.build(
        format=FORMAT,
        session_id=layout.header.id or path.stem,
        counts=pydantic_ai.counts(values),
        system=system,
        model=layout.header.model or None,
    )
    return [Entry(1, head), *map(Entry, numbers, values)], [built]


def _load(path: Path) -> _File:
    with Source(Files(), path) as source:
        found = scan(source, str(path))
        first, stop = source.first_line(), found.layout.stop
        counted = sum(1 for _ in source.lines(0, stop))
        lines = list(stored_lines(source, found.layout))
        torn = source.size - stop
    try:
        header = load_object(first)
    except MalformedError:
        header = {}
    is_own = header.get("format") == codec.FORMAT  # else line 1 is gone, or damaged
    for error in found.problems:
        if isinstance(error, UnsupportedSessionError) and is_own:
            raise NotARecordingError(str(path), f"{error.reason}.")
    return _File(found, header, lines, counted - 1 - len(lines), torn)


def _message(line: bytes) -> ModelMessage | None:
    try:
        return decode_message(line)
    except MalformedError:  # the scan has reported it
        return None


def _problems(path: Path, file: _File) -> list[Problem]:
    """What cannot be read is lost; how calls and results pair is the builder's to tell."""
    lost = (BrokenHeaderError, BrokenMessageError, BrokenRecordError, UnsupportedSessionError)
    problems = [
        _lost(path, error.line, error.reason)
        for error in file.found.problems
        if isinstance(error, lost)
    ]
    for notice in file.found.notices:
        what = f"Read all the same: {notice.reason}."
        problems.append(Problem(path=str(path), line=notice.line, what=what, kind="repaired"))
    if file.torn_bytes:
        line = 2 + len(file.lines) + file.commit_lines
        what = f"The last {file.torn_bytes:,} bytes are a save that was never finished."
        problems.append(Problem(path=str(path), line=line, what=what, kind="lost"))
    return problems


def _lost(path: Path, line: int, reason: str) -> Problem:
    return Problem(path=str(path), line=line, what=f"Lost: {reason}.", kind="lost")


# --- messages and records ------------------------------------------------------------------------


def _add(
    builder: HistoryBuilder, messages: Sequence[ModelMessage | None], records: list[StoredRecord]
) -> str:
    """Add the messages with the records between them, and give the system text."""
    places = _places([stored.record for stored in records], messages)
    leading, instructions, done = list[str](), "", 0
    for index, message in enumerate(messages):
        while done < len(records) and places[done] <= index:
            _add_record(builder, records[done], messages)
            done += 1
        match message:
            case ModelResponse():
                builder.reply(message, [Origin(index + 1)])
            case ModelRequest():
                instructions = message.instructions or instructions
                _add_request(builder, index, message, leading)
            case None:
                pass
            case _:
                assert_never(message)
    for stored in records[done:]:
        _add_record(builder, stored, messages)
    return "\n\n".join(text for text in (*leading, instructions) if text)


def _add_request(
    builder: HistoryBuilder, index: int, message: ModelRequest, leading: list[str]
) -> None:
    typed_from = injected_parts(message) if starts_turn(message) else len(message.parts)
    system = pydantic_ai.leading_system(message.parts) if index == 0 else []
    leading += system
    for number, part in enumerate(message.parts):
        if number >= len(system):
            origin = Origin(index + 1, number)
            pydantic_ai.add_part(builder, part, origin, typed=number >= typed_from)
    if len(system) == len(message.parts):
        builder.set_aside("system" if system else "message without parts")


def _places(
    records: Sequence[StoredDecision], messages: Sequence[ModelMessage | None]
) -> list[int]:
    """How many messages stood before each record.

    Checkpoints say so; of the others only the time is known, and what they are about.
    """
    limits = [len(messages)]
    for record in reversed(records):
        own = record.history_message_count if isinstance(record, Checkpoint) else limits[-1]
        limits.append(min(own, limits[-1]))
    places, place = list[int](), 0
    for record, limit in zip(records, reversed(limits[1:]), strict=True):
        place = min(max(place, _earliest(record)), limit)
        for index in range(place, limit):
            made = _made_ms(messages[index])
            if made is not None and made > record.timestamp:
                break
            if made is not None:
                place = index + 1
        places.append(place)
    return places


def _earliest(record: StoredDecision) -> int:
    """The messages that a record is about stood before it."""
    match record:
        case Checkpoint():
            return record.history_message_count
        case Clearing():
            return max((place.message + 1 for place, _ in record.placeholders), default=0)
        case Trim():
            return record.position.message + 1
        case Restore():
            return 0
        case _:
            assert_never(record)


def _made_ms(message: ModelMessage | None) -> int | None:
    """When a request was made, in milliseconds; a reply has the time of another machine."""
    at = message.timestamp if isinstance(message, ModelRequest) else None
    if at is None:
        return None
    # Not ``timestamp``: it asks the machine's time zone about times without one.
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def _add_record(
    builder: HistoryBuilder, stored: StoredRecord, messages: Sequence[ModelMessage | None]
) -> None:
    match stored.record:
        case Checkpoint() as record:
            receipt = load_object(stored.receipt) if stored.receipt else {}
            figures = as_record(receipt.get("figures"))
            summary = RecordedCompaction(
                kind="summary",
                message_index=0,
                trigger=as_text(figures.get("trigger")),
                tokens_before=as_count(figures.get("tokens_before")) or None,
                summary=record.summary,
            )
            builder.compaction(summary, record.first_kept_message_index + 1)
        case Clearing() as record:
            ids = [
                _call_id(messages, place.message, place.part) for place, _ in record.placeholders
            ]
            cleared = tuple(call_id for call_id in ids if call_id)
            builder.compaction(
                RecordedCompaction(kind="clearing", message_index=0, cleared_call_ids=cleared)
            )
        case Trim() | Restore() as record:
            builder.set_aside(record.kind)
        case _:
            assert_never(stored.record)


def _call_id(messages: Sequence[ModelMessage | None], message: int, part: int) -> str:
    """The call whose result stands at a place; empty where none does, in a damaged file."""
    found = messages[message] if message < len(messages) else None
    if found is None or part >= len(found.parts):
        return ""
    result = found.parts[part]
    return result.tool_call_id if isinstance(result, ToolReturnPart) else ""


# --- writing -------------------------------------------------------------------------------------


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    """A request that nobody typed; a session that is gone on with begins with it.

    The first of what is replaced is line 1, the next the first message.
    """
    system = pydantic_ai.system_parts(replaced[1] if len(replaced) > 1 else None)
    said: Record = {"part_kind": "user-prompt", "content": text, "timestamp": EPOCH.isoformat()}
    mark: Json = {"palimpsest": {"prompt": False}}
    return [{"kind": "request", "parts": [*system, said], "metadata": mark}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    return pydantic_ai.WRITING.shown(record, kept)


def _leads(record: Record) -> bool:
    return is_line(record) or pydantic_ai.WRITING.leads(record)


WRITING = Writing(summary=_summary, shown=_shown, leads=_leads)
