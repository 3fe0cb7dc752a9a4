"""How a session file is opened: found, locked, checked, and a torn tail moved aside."""

from __future__ import annotations

from pathlib import Path

from palimpsest.core.errors import (
    CopiedSessionError,
    InvalidMessageError,
    SaveFailedError,
    SessionNotFoundError,
)
from palimpsest.core.records import fold_records
from palimpsest.formats.pydantic_ai import outline
from palimpsest.session.jsonl_file import SessionFile, os_reason
from palimpsest.session.lock import SessionLock
from palimpsest.session.recovery import move_torn_tail
from palimpsest.session.store import TornTail
from palimpsest.storage.codec import header_object, read_header
from palimpsest.storage.files import Files
from palimpsest.storage.framing import MalformedError, decode_message, dump_json, load_object
from palimpsest.storage.header import SessionHeader
from palimpsest.storage.layout import Layout, Source, read_trusted
from palimpsest.storage.pairing import OpenCalls
from palimpsest.storage.scan import scan


def new_session_file(path: Path, files: Files, header: SessionHeader) -> SessionFile:
    """Prepare a new session; nothing is made on the disk before its first commit.

    Raises:
        InvalidSettingError: an unknown key of the header has the name of a known one.
    """
    own = read_header(load_object(dump_json(header_object(header, (), ()))))
    return SessionFile(
        path=path,
        files=files,
        layout=Layout(header=own, records=[], body_start=0),
        open_calls=OpenCalls(),
        lock=None,
        source=None,
        recovered=None,
        is_new=True,
    )


def open_session_file(
    path: Path, files: Files, *, read_only: bool, session_id: str | None = None
) -> SessionFile:
    """Open an existing session, check it, and move a torn tail aside unless read-only.

    Args:
        path: the file.
        files: the file operations to use.
        read_only: take no lock and change nothing.
        session_id: the session that it must hold; None takes any.

    Raises:
        SessionNotFoundError: there is no such file.
        SessionLockedError: somebody else works on it.
        SessionFileError: it is broken; it was not touched.
        SaveFailedError: its torn tail could not be moved aside.
        OSError: it cannot be read.
    """
    try:
        source = Source(files, path)
    except FileNotFoundError:
        raise SessionNotFoundError(str(path)) from None
    if read_only:
        try:
            return _opened(path, files, source, None, session_id)
        except BaseException:
            source.close()
            raise
    source.close()  # it was only to learn that there is one, before a lock is made beside it
    try:
        lock = SessionLock(path)
    except OSError as error:
        raise SaveFailedError(str(path), os_reason(error)) from error
    try:
        with Source(files, path) as locked:
            return _opened(path, files, locked, lock, session_id)
    except BaseException:
        lock.release()
        raise


def _opened(
    path: Path, files: Files, source: Source, lock: SessionLock | None, session_id: str | None
) -> SessionFile:
    layout, open_calls = read_layout(source, str(path))
    if session_id not in (None, layout.header.id):
        raise CopiedSessionError(str(path), layout.header.id)
    recovered = None
    if layout.stop < source.size:
        if lock is None:
            recovered = TornTail(bytes=source.size - layout.stop, moved_to="")
        else:
            try:
                recovered = move_torn_tail(files, path, source, layout.stop)
            except OSError as error:
                raise SaveFailedError(str(path), os_reason(error)) from error
    return SessionFile(
        path=path,
        files=files,
        layout=layout,
        open_calls=open_calls,
        lock=lock,
        source=source if lock is None else None,
        recovered=recovered,
        is_new=False,
    )


def read_layout(source: Source, path: str) -> tuple[Layout, OpenCalls]:
    """Read where everything stands, by the chain if it is whole, else by looking at every line.

    Raises:
        SessionFileError: the file is broken.
    """
    layout = read_trusted(source)
    if layout is not None:
        calls = _open_calls(source, layout)
        if calls is not None:
            return layout, calls
    found = scan(source, path)
    if found.problems:
        raise found.problems[0]
    return found.layout, found.open_calls


def _open_calls(source: Source, layout: Layout) -> OpenCalls | None:
    """Check the live tail of a trusted file; None where something is wrong with it."""
    try:
        active = fold_records(stored.record for stored in layout.records).checkpoint
    except KeyError:
        return None
    start = 0 if active is None else active.first_kept_message_index
    calls = OpenCalls()
    for segment in layout.covering(start, layout.message_count):
        for index, line in enumerate(source.lines(segment.start, segment.stop), segment.first):
            if index < start:
                continue
            try:
                measured = outline(decode_message(line))
                calls.require_call_for_each_result(index, measured)
                calls = calls.after(index, measured)
                calls.require_answers_before(index)
            except (MalformedError, InvalidMessageError):
                return None
    return calls
