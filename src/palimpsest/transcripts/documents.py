"""The JSON values of a file, whatever holds them: text, lines, an archive, a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from palimpsest.core.errors import NotARecordingError
from palimpsest.transcripts import (
    aider,
    inspect_ai,
    openai_chat,
    opencode_storage,
    openhands,
    smolagents,
)
from palimpsest.transcripts.detect import document_format
from palimpsest.transcripts.jsonl import BOM, read_documents, read_entries
from palimpsest.transcripts.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.transcripts.detect import Sniffed

_SNIFFED_BYTES = 65_536
_LINES = (openhands.FORMAT, smolagents.FORMAT)
"""Formats that have a document on each line; every other file of lines is one session."""


class Documents(NamedTuple):
    """What a file holds.

    Attributes:
        values: documents of one session each, and the format of each where it is known.
        stopped: why reading ended early; empty where it did not.
        problems: what was damaged on the way.
    """

    values: list[tuple[Json, str | None]]
    stopped: str
    problems: list[Problem]


def load_documents(path: Path, format: str | None, sniffed: Sniffed) -> Documents:
    """Read a file, an archive, or a folder of events.

    Args:
        path: the file or folder.
        format: the format of all documents; None tells it from each.
        sniffed: what its beginning told.

    Raises:
        NotARecordingError: an archive that is no recording, or text that is none of aider's.
        OSError: something cannot be read.
    """
    problems = list[Problem]()
    if path.is_dir():
        events = _values_of(openhands.event_files(path), problems)
        document: Json = {"id": path.parent.name, "history": events}
        return Documents([(document, openhands.FORMAT)], "", problems)
    if inspect_ai.is_archive(path):
        found, stopped, format = [inspect_ai.log_in(path, problems)], "", inspect_ai.FORMAT
    elif _is_aider(path, format):
        text = path.read_bytes().decode(errors="replace")
        if not aider.is_marked(text):
            reason = "no line of it is aider's: neither the start of a chat nor a prompt."
            raise NotARecordingError(str(path), reason)
        found, stopped, format = aider.sessions_in(text), "", aider.FORMAT
    elif sniffed.only is None and format in _LINES and format == sniffed.format:
        found, stopped = [entry.value for entry in read_entries(path, problems)], ""
    else:
        if sniffed.only is None:
            found, stopped = read_documents(path.read_bytes())
        else:
            found, stopped = [sniffed.only], ""
        if any(map(opencode_storage.is_record, found)):
            found += _values_of(opencode_storage.beside(path, found[0]), problems)
            found = opencode_storage.gathered(found)
    named = [(value, format or document_format(value)) for value in found]
    return Documents([pair for value in named for pair in _single(*value)], stopped, problems)


def files_of(path: Path) -> list[Path]:
    """The files that the recordings of a path are read from; a change of any of them is one.

    Args:
        path: a file, or a folder of events.

    Raises:
        OSError: something cannot be read.
    """
    if path.is_dir():
        return openhands.event_files(path)
    if not opencode_storage.holds(path):
        return [path]
    found, _ = read_documents(path.read_bytes())
    beside = opencode_storage.beside(path, found[0]) if found else ()
    return [path, *beside]


def _single(document: Json, format: str | None) -> list[tuple[Json, str | None]]:
    """Documents with one session each."""
    sessions: list[Json] = []
    if format == inspect_ai.FORMAT:
        sessions = inspect_ai.sessions_in(document)
    elif format == openai_chat.FORMAT:
        sessions = openai_chat.results_in(document)
    return [(session, format) for session in sessions or [document]]


def _is_aider(path: Path, format: str | None) -> bool:
    if format is not None:
        return format == aider.FORMAT
    with path.open("rb") as file:
        head = file.read(_SNIFFED_BYTES).removeprefix(BOM).decode(errors="replace")
    return head.lstrip(" \t\r\n\x00")[:1] not in ("{", "[") and aider.is_history(head)


def _values_of(files: Iterable[Path], problems: list[Problem]) -> list[Json]:
    """What files of one record each hold; one that cannot be read is reported."""
    values: list[Json] = []
    for path in files:
        # A pipe, or a device, would be waited for, and may never end.
        found, stopped = (
            read_documents(path.read_bytes()) if path.is_file() else ([], "it is no regular file")
        )
        if stopped:
            what = f"The record {path.name} could not be read: {stopped}."
            problems.append(Problem(path=str(path), line=None, what=what, kind="lost"))
        values += found
    return values
