"""Looking at session files, also broken ones: what is wrong, what can be saved, tidying up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import SessionFileError, SessionNotFoundError
from palimpsest.session.opening import open_session_file
from palimpsest.storage.files import Files
from palimpsest.storage.framing import COMMIT_PREFIX, MalformedError, decode_message
from palimpsest.storage.header import SessionHeader
from palimpsest.storage.layout import Source, read_trusted
from palimpsest.storage.scan import UNREADABLE, scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a file.

    Attributes:
        severity: ``broken`` keeps the session from being opened, ``notice`` does not.
        line: 1-based.
        code: of the error class.
        text: what is wrong, without the file's contents.
    """

    severity: Literal["broken", "notice"]
    line: int
    code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What a whole file turned out to be.

    Attributes:
        header: None where line 1 cannot be read.
        message_count: message lines that count, readable or not.
        record_count: records that can be read.
        bytes: size of the file.
        torn_bytes: length of an incomplete commit at the end.
        sealed: the chain of hashes is whole, so that the file is opened without reading it whole.
        canonical: the file is in the canonical two-part layout.
        findings: in the order of the lines, what keeps it from being opened first.
    """

    path: Path
    header: SessionHeader | None
    message_count: int
    record_count: int
    bytes: int
    torn_bytes: int
    sealed: bool
    canonical: bool
    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether the session can be opened."""
        return not any(finding.severity == "broken" for finding in self.findings)


def examine(path: Path, *, files: Files | None = None) -> Examination:
    """Check a file whole; broken contents are findings, never errors. Changes nothing.

    Raises:
        SessionNotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    with _source(path, files) as source:
        found, trusted = scan(source, str(path)), read_trusted(source)
        layout = found.layout
    return Examination(
        path=path,
        header=None if layout.header is UNREADABLE else layout.header,
        message_count=len(found.message_lines),
        record_count=len(layout.records),
        bytes=source.size,
        torn_bytes=source.size - layout.stop,
        sealed=trusted is not None,
        canonical=trusted is not None and trusted.previous_commit is None,
        findings=(
            *(_finding("broken", error) for error in found.problems),
            *(_finding("notice", error) for error in found.notices),
        ),
    )


def tidy(path: Path, *, files: Files | None = None) -> None:
    """Bring a session into the canonical layout, under its lock.

    Raises:
        SessionNotFoundError: there is no such file.
        SessionLockedError: somebody works on it.
        SessionFileError: it is broken; it was not touched.
        SaveFailedError: the operating system refused, or stored messages were changed.
        OSError: it cannot be read.
    """
    session = open_session_file(path, files or Files(), read_only=False)
    try:
        session.tidy()
    finally:
        session.release()


def export_messages(path: Path, *, files: Files | None = None) -> Iterator[ModelMessage]:
    """Read every message of a file that can be read, oldest first, whatever else is broken.

    Messages of an incomplete commit at the end are among them.

    Raises:
        SessionNotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    with _source(path, files) as source:
        for line in source.lines(0, source.size):
            if line.startswith(COMMIT_PREFIX):
                continue
            try:
                yield decode_message(line)
            except MalformedError:  # line 1, or what ``examine`` names
                continue


def _source(path: Path, files: Files | None) -> Source:
    try:
        return Source(files or Files(), path)
    except FileNotFoundError:
        raise SessionNotFoundError(str(path)) from None


def _finding(severity: Literal["broken", "notice"], error: SessionFileError) -> Finding:
    return Finding(severity=severity, line=error.line, code=error.code, text=error.reason)
