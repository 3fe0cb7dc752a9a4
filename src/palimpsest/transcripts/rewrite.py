"""Writing a compacted conversation in the format of the recording it was made from."""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING

from palimpsest.core.errors import NotARecordingError
from palimpsest.formats.content import as_count, as_record, as_text, compact_json
from palimpsest.transcripts import claude_code, pi
from palimpsest.transcripts.history import named_apart
from palimpsest.transcripts.read import read_sessions
from palimpsest.transcripts.rewrite_records import load_lines, written_document
from palimpsest.transcripts.view import (
    CompactedView,
    kept_content,
    kept_records,
    uncounted,
    view_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Built
    from palimpsest.transcripts.recording import Recording
    from palimpsest.transcripts.view import KeptRecord


def rewrite(recording: Recording, view: CompactedView, out: TextIO) -> None:
    """Write the view, and only the view, as a recording of the same format.

    The file of the recording is read again. Our reader gives the kept messages back; the summary
    is a compaction where the format knows such a thing, else a user message.

    Raises:
        NotARecordingError: the file changed since it was read, or is nested too deep to write.
        InvalidSettingError: the view names messages that the recording does not have.
        OSError: the file cannot be read.
    """
    try:
        _rewrite(recording, view, out)
    except RecursionError as error:
        raise NotARecordingError(str(recording.path), "its JSON is nested too deep.") from error


def _rewrite(recording: Recording, view: CompactedView, out: TextIO) -> None:
    if recording.format == claude_code.FORMAT:
        nodes, found = claude_code.load(recording.path, slim=False)
        built = _same(recording, found)
        lines = _claude_lines([node.value for node in nodes], built, view)
    elif recording.format == pi.FORMAT:
        entries, found = pi.load(recording.path)
        built = _same(recording, found)
        lines = _pi_lines([entry.value for entry in entries], built, view)
    elif loaded := load_lines(recording.path, recording.format):
        entries, found, writing = loaded
        built = _same(recording, found)
        shown = view_records([entry.value for entry in entries], built, view, writing)
        lines = map(as_record, shown)
    else:
        sessions = read_sessions(recording.path, recording.format)
        built = _same(recording, [session.built for session in sessions])
        [document] = [session.document for session in sessions if session.built is built]
        out.write(written_document(document, built, view))
        return
    for line in lines:
        out.write(compact_json(line) + "\n")


def _same(recording: Recording, found: Sequence[Built]) -> Built:
    for built in named_apart(found):
        again = built.recording
        if again.session_id == recording.session_id and len(again.messages) == len(
            recording.messages
        ):
            return built
    raise NotARecordingError(str(recording.path), "it changed since it was read.")


def _claude_lines(values: Sequence[Record], built: Built, view: CompactedView) -> Iterable[Record]:
    """Boundary and summary, then the kept lines, each the child of the one before it."""
    records = kept_records(built, view)
    kept = [*records.before_summary, *records.after_summary]
    first = values[kept[0].entry] if kept else {}
    envelope: Record = {
        key: value
        for key, value in first.items()
        if key in {"cwd", "sessionId", "version", "gitBranch", "userType", "timestamp"}
    }
    parent: str | None = None
    if view.summary is not None:
        name = f"palimpsest:{built.recording.session_id}:{view.summary}"
        name = name.encode(errors="backslashreplace").decode()  # a lone surrogate has no bytes
        boundary = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
        parent = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}:summary"))
        yield {
            **envelope,
            "parentUuid": None,
            "isSidechain": False,
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "uuid": boundary,
            "level": "info",
            "compactMetadata": {"trigger": "manual"},
        }
        yield {
            **envelope,
            "parentUuid": boundary,
            "isSidechain": False,
            "type": "user",
            "message": {"role": "user", "content": view.summary},
            "isCompactSummary": True,
            "isVisibleInTranscriptOnly": True,
            "uuid": parent,
        }
    for record in kept:
        value = dict(values[record.entry])
        if record.cleared:
            value.pop("toolUseResult", None)
        message = as_record(value.get("message"))
        if message:
            content = kept_content(message.get("content"), record)
            value["message"] = {**uncounted(message), "content": content}
        value.pop("logicalParentUuid", None)
        value["parentUuid"] = parent
        # Readers pass over a line that has no id of its own.
        parent = as_text(value.get("uuid")) or str(uuid.UUID(_made_up_id(record)[:32]))
        value["uuid"] = parent
        yield value


def _pi_lines(values: Sequence[Record], built: Built, view: CompactedView) -> Iterable[Record]:
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
            first_id = _pi_id(values, kept[0]) if kept else parent
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
            parent = _pi_id(values, record)
            value["id"] = parent
        yield value


def _made_up_id(record: KeptRecord) -> str:
    return hashlib.sha256(f"palimpsest:{record.entry}".encode()).hexdigest()


def _pi_id(values: Sequence[Record], record: KeptRecord) -> str:
    """The id of an entry, made up where it has none: readers pass over such an entry."""
    return as_text(values[record.entry].get("id")) or _made_up_id(record)[:8]
