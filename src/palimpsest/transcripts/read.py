"""Reading recorded sessions from files, folders and patterns."""

from __future__ import annotations

import gc
import glob
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from palimpsest.core.errors import NotARecordingError, UnknownFormatError
from palimpsest.transcripts import (
    aider,
    anthropic_messages,
    claude_code,
    codex,
    gemini_cli,
    gemini_contents,
    inspect_ai,
    kimi,
    langchain,
    mini_swe_agent,
    openai_chat,
    opencode,
    opencode_storage,
    openhands,
    own_session,
    pi,
    pydantic_ai,
    smolagents,
    swe_agent,
)
from palimpsest.transcripts.detect import Format, Sniffed, check_text, sniff
from palimpsest.transcripts.documents import load_documents
from palimpsest.transcripts.history import named_apart
from palimpsest.transcripts.jsonl import NO_JSON
from palimpsest.transcripts.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from palimpsest.core.excerpt import Json
    from palimpsest.transcripts.history import Built
    from palimpsest.transcripts.recording import Recording

_LINE_READERS: Mapping[str, Callable[[Path], list[Built]]] = {
    module.FORMAT: module.read for module in (claude_code, codex, pi, kimi, own_session)
}
_DOCUMENT_READERS: Mapping[str, Callable[[Path, Json], list[Built]]] = {
    module.FORMAT: module.read
    for module in (
        opencode,
        gemini_cli,
        gemini_contents,
        openhands,
        swe_agent,
        mini_swe_agent,
        inspect_ai,
        smolagents,
        aider,
        pydantic_ai,
        langchain,
        openai_chat,
        anthropic_messages,
    )
}
FORMATS: tuple[str, ...] = get_args(Format)
_SUFFIXES = (".jsonl", ".json", ".traj", ".eval", ".aider.chat.history.md")


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
    if format is not None and format not in FORMATS:
        raise UnknownFormatError(format, FORMATS)
    try:
        check_text(path)
        with _nothing_collected():
            found = _built(path, format)
    except RecursionError as error:
        raise NotARecordingError(str(path), "its JSON is nested too deep.") from error
    except OSError as error:
        reason = f"it cannot be read ({error.strerror or error})."
        raise NotARecordingError(str(path), reason) from error
    yield from (built.recording for built in found)


@contextmanager
def _nothing_collected() -> Generator[None]:
    """Hold the collector of cycles back while all that is made stays.

    Each of its passes would look at every message so far and find nothing, a third of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _built(path: Path, known: str | None) -> list[Built]:
    sniffed = sniff(path)
    format = known or sniffed.format
    if read := _LINE_READERS.get(format or ""):
        found = read(path)
    elif format == sniffed.format == gemini_cli.FORMAT:
        found = gemini_cli.load(path)[1]
    else:
        found = [session.built for session in _sessions(path, format, sniffed)]
    if any(built.recording.messages for built in found):
        return list(named_apart(found))
    asked = f" of the format {known}" if known else ""
    raise NotARecordingError(str(path), f"it holds no message{asked}.")


def read_sessions(path: Path, format: str | None) -> list[DocumentSession]:
    """The sessions of a file of JSON documents, each with the value that holds it.

    Raises:
        NotARecordingError: the file holds no JSON, or JSON of no known shape.
        OSError: the file cannot be read.
    """
    return _sessions(path, format, sniff(path))


def _sessions(path: Path, format: str | None, sniffed: Sniffed) -> list[DocumentSession]:
    loaded = load_documents(path, format, sniffed)
    stopped = loaded.stopped
    if not loaded.values and stopped == NO_JSON:
        raise NotARecordingError(str(path), f"it has none of the known formats: {_known()}.")
    if not loaded.values:
        raise NotARecordingError(str(path), f"{stopped or 'it is empty'}.")
    sessions: list[DocumentSession] = []
    for document, known in loaded.values:
        if known is None and sessions:
            stopped = "its JSON has no known shape"
            continue
        found = _built_document(path, document, known)
        sessions.extend(DocumentSession(built, document) for built in found)
    first, last = sessions[0].built.recording, sessions[-1].built.recording
    first.problems[:0] = loaded.problems
    if stopped:
        what = f"Something behind the first session could not be read: {stopped}."
        last.problems.append(Problem(path=str(path), line=None, what=what, kind="lost"))
    return sessions


def _known() -> str:
    return f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"


def _built_document(path: Path, document: Json, format: str | None) -> list[Built]:
    if read := _DOCUMENT_READERS.get(format or ""):
        return read(path, document)
    raise NotARecordingError(str(path), f"its JSON has none of the shapes of {_known()}.")


def expand_paths(arguments: Iterable[str | Path]) -> Iterator[FoundPath]:
    """The files that arguments name: files themselves, folders recursively, patterns.

    Of folders, and of patterns, only files with the endings of recordings; each sorted by name, no
    file twice. A folder of events is one recording, of opencode's storage its sessions are.

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
    if openhands.event_files(path):
        yield FoundPath(path, named=True)
    elif path.is_dir():
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
            elif match.name.endswith(_SUFFIXES):
                yield FoundPath(match, named=False)


def _matches(pattern: Path) -> list[Path]:
    try:
        return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    except ValueError as error:
        raise NotARecordingError(str(pattern), f"the pattern is none ({error}).") from error


def _walked(folder: Path) -> Iterator[FoundPath]:
    for parent, folders, files in os.walk(folder):
        if set(folders) >= opencode_storage.FOLDERS:
            folders[:] = ["session"]
        folders.sort()
        if openhands.event_files(Path(parent, "events")):
            folders.remove("events")
            yield FoundPath(Path(parent, "events"), named=False)
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
