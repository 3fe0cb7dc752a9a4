"""A session file read whole: what every line is, and everything that is wrong with it.

This is how a file without a trusted chain is opened (edited by hand, made by another tool, cut
off) and how ``doctor`` looks at any file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias, assert_never

from palimpsest.core.errors import (
    BrokenHeaderError,
    BrokenMessageError,
    BrokenRecordError,
    InvalidMessageError,
    InvalidRecordError,
    OriginalsChangedError,
    OrphanResultError,
    SessionFileError,
    UnansweredCallError,
    UnsupportedSessionError,
)
from palimpsest.core.outline import MessageOutline, Outline
from palimpsest.core.record_checks import check_records
from palimpsest.core.records import Checkpoint
from palimpsest.formats.pydantic_ai import outline
from palimpsest.storage.codec import (
    FORMAT,
    NO_SESSION,
    Chunk,
    read_chunks,
    read_header,
    read_header_records,
)
from palimpsest.storage.covers import PrefixHash, changed_originals
from palimpsest.storage.framing import (
    COMMIT_PREFIX,
    CommitLine,
    MalformedError,
    UnsupportedError,
    decode_message,
    is_sealed,
    load_object,
    read_commit,
    stored_hash,
)
from palimpsest.storage.header import SessionHeader
from palimpsest.storage.layout import Layout, Segment, Source, fold_commit
from palimpsest.storage.pairing import OpenCalls

UNREADABLE = SessionHeader(id="", cwd="", created=0, updated=0)
"""Stands for a header that cannot be read, so that the rest of the file can be looked at."""


@dataclass(slots=True, kw_only=True)
class Scan:
    """What a whole file turned out to be.

    Attributes:
        layout: everything that counts; its header is ``UNREADABLE`` where line 1 is broken.
        message_lines: line number of each message, 1-based.
        record_lines: line number of each record.
        problems: what keeps the file from being opened, in the order of the lines.
        notices: what does not: edited lines, changed originals.
        open_calls: calls of the newest message that wait for their results.
    """

    layout: Layout
    message_lines: list[int] = field(default_factory=list[int])
    record_lines: list[int] = field(default_factory=list[int])
    problems: list[SessionFileError] = field(default_factory=list[SessionFileError])
    notices: list[SessionFileError] = field(default_factory=list[SessionFileError])
    open_calls: OpenCalls = field(default_factory=OpenCalls)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Message lines without a commit line between them."""

    start: int
    stop: int
    line_numbers: tuple[int, ...]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sealed:
    """A commit line, and how it agrees with what stands before it.

    Attributes:
        commit: what it says; None where it cannot be read.
        genuine: its own hash is right, so it was written as it is.
        torn: it stands where it was written, but the messages of its commit are others.
        agrees: everything that it says of what stands before it is true.
    """

    line_number: int
    stop: int
    commit: CommitLine | None
    genuine: bool
    torn: bool
    agrees: bool


_Item: TypeAlias = _Run | _Sealed


def scan(source: Source, path: str) -> Scan:
    """Read and check a whole file; problems are collected, never raised.

    Raises:
        OSError: the file cannot be read.
    """
    line = source.first_line()
    found = Scan(layout=Layout(header=UNREADABLE, records=[], body_start=len(line)))
    chunks = _read_first_line(line, path, found)
    sealed = None if chunks is None else sum(chunk.messages for chunk in chunks)
    grouping = _Grouping(len(line), stored_hash(line), sealed)
    for number, text in enumerate(source.lines(len(line), source.size), 2):
        if text.endswith(b"\n"):
            grouping.add(number, text)
    items = grouping.finish()
    counted = _what_counts(items, sealed)
    found.layout.stop = max([len(line), *(item.stop for item in counted)])
    _lay_out(counted, path, found)
    if not any(isinstance(error, UnsupportedSessionError) for error in found.problems):
        if sealed is not None and sealed > len(found.message_lines):
            missing = f"{sealed - len(found.message_lines)} of the {sealed} messages it lists"
            found.problems.append(BrokenMessageError(path, 1, f"{missing} are missing"))
        elif chunks is not None:
            _check_seal(line, chunks, source, path, found)
        _check_messages(source, path, found)
    if _is_foreign(line, items, found):
        found.problems[:] = [UnsupportedSessionError(path, 1, NO_SESSION)]
    found.problems.sort(key=lambda error: error.line)
    return found


def _is_foreign(line: bytes, items: Sequence[_Item], found: Scan) -> bool:
    """Whether nothing of the file is of a session: neither line 1 nor any other line."""
    if found.layout.header is not UNREADABLE or FORMAT.encode() in line:
        return False
    unread = {error.line for error in found.problems if isinstance(error, BrokenMessageError)}
    return unread.issuperset(found.message_lines) and not any(
        isinstance(item, _Sealed) for item in items
    )


def _read_first_line(line: bytes, path: str, found: Scan) -> list[Chunk] | None:
    """Read the header and its records; gives the chunks that line 1 lists, None without any."""
    chunks: list[Chunk] | None = None
    try:
        if not line.endswith(b"\n"):
            raise MalformedError("the file has no whole first line")
        value = load_object(line)
        found.layout.header = read_header(value)
        chunks = read_chunks(value)
        found.layout.records = read_header_records(value)
        found.record_lines = [1] * len(found.layout.records)
    except UnsupportedError as error:
        found.problems.append(UnsupportedSessionError(path, 1, str(error)))
    except MalformedError as error:
        found.problems.append(BrokenHeaderError(path, 1, f"the header is broken: {error}"))
    except InvalidRecordError as error:
        found.problems.append(BrokenRecordError(path, 1, str(error).removesuffix(".")))
    return chunks


# --- what stands where ---------------------------------------------------------------------------


class _Grouping:
    """Groups the whole lines behind line 1 into runs of messages and commit lines."""

    def __init__(self, body_start: int, chained: str, sealed: int | None) -> None:
        self._items: list[_Item] = []
        self._body_start = body_start
        self._chained = chained
        self._sealed = sealed
        self._count = 0
        self._offset = body_start
        self._begin()

    def _begin(self) -> None:
        self._start = self._offset
        self._numbers: list[int] = []
        self._digest = sha256()

    def _end_run(self) -> None:
        if self._numbers:
            self._items.append(
                _Run(
                    start=self._start,
                    stop=self._offset,
                    line_numbers=tuple(self._numbers),
                    digest=self._digest.hexdigest(),
                )
            )
        self._begin()

    def add(self, number: int, line: bytes) -> None:
        """Add the next line."""
        if line.startswith(COMMIT_PREFIX):
            sealed = self._judge(number, line)
            self._end_run()
            self._items.append(sealed)
            self._offset = sealed.stop
            self._chained = stored_hash(line)
            self._begin()
            return
        self._numbers.append(number)
        self._digest.update(line)
        self._offset += len(line)
        self._count += 1
        if self._count == self._sealed:
            self._end_run()

    def finish(self) -> list[_Item]:
        """Give what was found, in order."""
        self._end_run()
        return self._items

    def _judge(self, number: int, line: bytes) -> _Sealed:
        stop = self._offset + len(line)
        try:
            commit = read_commit(line)
        except MalformedError:
            return _Sealed(
                line_number=number, stop=stop, commit=None, genuine=False, torn=True, agrees=False
            )
        in_place = (
            self._body_start + commit.start == self._start
            and self._body_start + commit.bytes == self._offset
            and commit.messages == self._count
        )
        same = commit.digest == self._digest.hexdigest()
        genuine = is_sealed(line, self._chained) or (not self._chained and in_place and same)
        return _Sealed(
            line_number=number,
            stop=stop,
            commit=commit,
            genuine=genuine,
            torn=in_place and not same,
            agrees=genuine and in_place and same,
        )


def _what_counts(items: Sequence[_Item], sealed: int | None) -> Sequence[_Item]:
    """Leave out what stands behind the last whole commit: it was never acknowledged."""
    genuine = [
        index for index, item in enumerate(items) if isinstance(item, _Sealed) and item.genuine
    ]
    if genuine:
        newest = items[genuine[-1]]
        if not (isinstance(newest, _Sealed) and newest.torn):
            return items[: genuine[-1] + 1]
        if len(genuine) > 1:
            return items[: genuine[-2] + 1]
    if sealed is None:
        return items[: genuine[0]] if genuine else items
    kept = count = 0
    while kept < len(items) and count < (sealed or 0):
        item = items[kept]
        count += len(item.line_numbers) if isinstance(item, _Run) else 0
        kept += 1
    return items[:kept]


def _lay_out(items: Sequence[_Item], path: str, found: Scan) -> None:
    layout = found.layout
    for item in items:
        match item:
            case _Run():
                layout.segments.append(
                    Segment(
                        first=layout.message_count,
                        count=len(item.line_numbers),
                        start=item.start,
                        stop=item.stop,
                        digest=item.digest,
                    )
                )
                found.message_lines += item.line_numbers
            case _Sealed():
                _fold(item, path, found)
            case _:
                assert_never(item)


def _fold(item: _Sealed, path: str, found: Scan) -> None:
    number, commit, before = item.line_number, item.commit, len(found.layout.records)
    if commit is None:
        found.problems.append(BrokenMessageError(path, number, "the commit line is broken"))
        return
    missing = commit.messages - found.layout.message_count
    if missing > 0:
        reason = f"{missing} of the {commit.messages} messages before it are missing"
        found.problems.append(BrokenMessageError(path, number, reason))
    elif not item.agrees:
        reason = "this commit line, or lines before it, were changed"
        found.notices.append(OriginalsChangedError(path, number, reason))
    try:
        fold_commit(found.layout, commit)
    except MalformedError as error:
        found.problems.append(BrokenHeaderError(path, number, f"header changes: {error}"))
    except InvalidRecordError as error:
        found.problems.append(BrokenRecordError(path, number, str(error).removesuffix(".")))
    found.record_lines += [number] * (len(found.layout.records) - before)


# --- what the lines say --------------------------------------------------------------------------


def _check_seal(
    line: bytes, chunks: Sequence[Chunk], source: Source, path: str, found: Scan
) -> None:
    if not is_sealed(line, ""):
        found.notices.append(BrokenHeaderError(path, 1, "the header was changed"))
    lines = stored_lines(source, found.layout)
    stop = 0
    for chunk in chunks:
        digest = sha256()
        for _ in range(chunk.messages):
            digest.update(next(lines, b""))
        stop += chunk.messages
        if digest.hexdigest() != chunk.digest:
            numbers = found.message_lines[stop - chunk.messages : stop] or [1]
            reason = f"lines {numbers[0]} to {numbers[-1]} were changed"
            found.notices.append(OriginalsChangedError(path, numbers[0], reason))


def stored_lines(source: Source, layout: Layout) -> Iterator[bytes]:
    """Read all message lines that count, in order, newlines included."""
    for segment in layout.segments:
        yield from source.lines(segment.start, segment.stop)


def _check_messages(source: Source, path: str, found: Scan) -> None:
    """Read every message; check how calls pair and what the records say, if all can be read."""
    history, calls, prefix = Outline(), OpenCalls(), PrefixHash()
    cuts = _covered_cuts(found.layout)
    readable = True
    for index, line in enumerate(stored_lines(source, found.layout)):
        number = found.message_lines[index]
        prefix = prefix.after([line])
        for checkpoint in cuts.get(prefix.count, ()):
            if checkpoint.covers != prefix.digest:
                reason = changed_originals(checkpoint)
                found.notices.append(OriginalsChangedError(path, number, reason))
        try:
            measured = outline(decode_message(line))
        except MalformedError as error:
            readable, measured = False, MessageOutline(parts=())
            found.problems.append(BrokenMessageError(path, number, f"the line {error}"))
        try:
            calls.require_call_for_each_result(index, measured)
        except InvalidMessageError as error:
            if readable:  # else what it answers may stand on the line that cannot be read
                reason = f"the message {error.reason}"
                found.problems.append(OrphanResultError(path, number, reason))
        history.append(measured)
        calls = calls.after(index, measured)
    found.open_calls = calls
    if not readable:
        return
    try:
        calls.require_answers_before(len(history) - 1)
    except InvalidMessageError as error:
        number = found.message_lines[error.message_index]
        found.problems.append(UnansweredCallError(path, number, f"the message {error.reason}"))
    _check_records(history, path, found)


def _covered_cuts(layout: Layout) -> dict[int, list[Checkpoint]]:
    cuts: dict[int, list[Checkpoint]] = {}
    for stored in layout.records:
        record = stored.record
        if record.kind == "checkpoint" and record.covers:
            cuts.setdefault(record.first_kept_message_index, []).append(record)
    return cuts


def _check_records(history: Outline, path: str, found: Scan) -> None:
    records = [stored.record for stored in found.layout.records]
    for known, number in enumerate(found.record_lines):
        try:
            check_records(records[: known + 1], history, known=known)
        except InvalidRecordError as error:
            reason = str(error).removesuffix(".")
            found.problems.append(BrokenRecordError(path, number, reason))
            return
