"""Reading recorded sessions from files, folders and patterns."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from palimpsest.core.errors import NotARecordingError, UnknownFormatError
from palimpsest.transcripts import (
    anthropic_messages,
    claude_code,
    mini_swe_agent,
    openai_chat,
    pi,
    swe_agent,
)
from palimpsest.transcripts.detect import (
    DocumentFormat,
    LineFormat,
    check_text,
    document_format,
    line_format,
    results_in,
)
from palimpsest.transcripts.history import named_apart
from palimpsest.transcripts.jsonl import read_documents
from palimpsest.transcripts.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from palimpsest.core.excerpt import Json
    from palimpsest.transcripts.history import Built
    from palimpsest.transcripts.recording import Recording

Format: TypeAlias = Literal[LineFormat, DocumentFormat]

FORMATS: tuple[Format, ...] = (
    "claude-code",
    "pi",
    "swe-agent",
    "mini-swe-agent",
    "openai-chat",
    "anthropic-messages",
)
_SUFFIXES = (".jsonl", ".json", ".traj")


class DocumentSession(NamedTuple):
    """A session and the JSON value it stands in."""

    built: Built
    document: Json


class FoundPath(NamedTuple):
    """A file to read; ``named`` says that it was asked for by name, so that it must be one."""

    path: Path
    named: bool


def read_recordings(path: Path, *, format: str | None = None) -> Iterator[Recording]:
    """Every session of a file, in the file's order.

    Args:
        path: the file.
        format: one of ``FORMATS``; None tells it from the content.

    Raises:
        NotARecordingError: the file is no recording, or none of that format.
        UnknownFormatError: there is no such format.
    """
    known = None if format is None else _format_named(format)
    try:
        check_text(path)
        found = _built(path, known)
    except OSError as error:
        reason = f"it cannot be read ({error.strerror or error})."
        raise NotARecordingError(str(path), reason) from error
    yield from (built.recording for built in found)


def _format_named(name: str) -> Format:
    for known in FORMATS:
        if known == name:
            return known
    raise UnknownFormatError(name, FORMATS)


def _built(path: Path, known: Format | None) -> list[Built]:
    lines = known or line_format(path)
    if lines == "claude-code":
        return _with_messages(path, claude_code.read(path), known)
    if lines == "pi":
        return _with_messages(path, pi.read(path), known)
    return _with_messages(path, [session.built for session in read_sessions(path, lines)], known)


def read_sessions(path: Path, format: str | None) -> list[DocumentSession]:
    """The sessions of a file of JSON documents, each with the value that holds it.

    Raises:
        NotARecordingError: the file holds no JSON, or JSON of no known shape.
        OSError: the file cannot be read.
    """
    documents, stopped = read_documents(path.read_bytes())
    if not documents:
        raise NotARecordingError(str(path), f"{stopped or 'it is empty'}.")
    sessions: list[DocumentSession] = []
    for document in documents:
        known = format or document_format(document)
        if known is None and sessions:
            stopped = "its JSON has no known shape"
            continue
        found = _built_document(path, document, known)
        holders = results_in(document) if known == openai_chat.FORMAT else []
        sessions.extend(map(DocumentSession, found, holders or [document]))
    if stopped:
        what = f"Something behind the first session could not be read: {stopped}."
        problem = Problem(path=str(path), line=None, what=what, kind="lost")
        sessions[-1].built.recording.problems.append(problem)
    return sessions


def _with_messages(path: Path, found: list[Built], known: Format | None) -> list[Built]:
    if any(built.recording.messages for built in found):
        return list(named_apart(found))
    asked = f" of the format {known}" if known else ""
    raise NotARecordingError(str(path), f"it holds no message{asked}.")


def _known() -> str:
    return f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"


def _built_document(path: Path, document: Json, format: str | None) -> list[Built]:
    match format:
        case swe_agent.FORMAT:
            return swe_agent.read(path, document)
        case mini_swe_agent.FORMAT:
            return mini_swe_agent.read(path, document)
        case openai_chat.FORMAT:
            return openai_chat.read(path, document)
        case anthropic_messages.FORMAT:
            return anthropic_messages.read(path, document)
        case _:
            raise NotARecordingError(str(path), f"its JSON has none of the shapes of {_known()}.")


def expand_paths(arguments: Iterable[str | Path]) -> Iterator[FoundPath]:
    """The files that arguments name: files themselves, folders recursively, patterns.

    Of folders, and of patterns, only ``.jsonl``, ``.json`` and ``.traj`` files; each sorted by
    name, no file twice.

    Raises:
        NotARecordingError: an argument names nothing.
    """
    seen = set[str]()
    for argument in arguments:
        if not str(argument):
            raise NotARecordingError("''", "the name is empty.")
        for found in _expanded(Path(argument)):
            key = os.path.realpath(found.path)
            if key not in seen:
                seen.add(key)
                yield found


def _expanded(path: Path) -> Iterator[FoundPath]:
    if path.is_dir():
        yield from _walked(path)
    elif path.exists() or not glob.has_magic(str(path)):
        yield FoundPath(path, named=True)
    else:
        matches = _matches(path)
        if not matches:
            raise NotARecordingError(str(path), "nothing matches the pattern.")
        for match in matches:
            if match.is_dir():
                yield from _walked(match)
            elif match.suffix in _SUFFIXES:
                yield FoundPath(match, named=False)


def _matches(pattern: Path) -> list[Path]:
    try:
        return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    except ValueError as error:
        raise NotARecordingError(str(pattern), f"the pattern is none ({error}).") from error


def _walked(folder: Path) -> Iterator[FoundPath]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith(_SUFFIXES):
                yield FoundPath(Path(parent, name), named=False)


def read_paths(
    arguments: Iterable[str | Path],
    *,
    format: str | None = None,
    on_skipped: Callable[[NotARecordingError], None],
) -> Iterator[Recording]:
    """Every session of everything that arguments name, file by file.

    A file of a folder or pattern that is no recording is given to ``on_skipped`` and passed over.

    Raises:
        NotARecordingError: a file asked for by name is no recording.
        UnknownFormatError: there is no such format.
    """
    for found in expand_paths(arguments):
        try:
            yield from read_recordings(found.path, format=format)
        except NotARecordingError as error:
            if found.named:
                raise
            on_skipped(error)
