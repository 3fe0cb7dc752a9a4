"""Writing a compacted conversation in the format of the recording it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.core.errors import NotARecordingError
from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import as_record
from palimpsest.transcripts import claude_code, claude_tree, pi
from palimpsest.transcripts.history import named_apart
from palimpsest.transcripts.read import read_sessions
from palimpsest.transcripts.rewrite_records import load_lines, written_document
from palimpsest.transcripts.view import CompactedView, view_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from palimpsest.transcripts.history import Built
    from palimpsest.transcripts.recording import Recording


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
        lines = claude_tree.view_lines([node.value for node in nodes], built, view)
    elif recording.format == pi.FORMAT:
        entries, found = pi.load(recording.path)
        built = _same(recording, found)
        lines = pi.view_lines([entry.value for entry in entries], built, view)
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
