"""Where everything stands in a session file, read without reading the messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Self

from palimpsest.core.errors import InvalidRecordError
from palimpsest.storage.codec import (
    Chunk,
    StoredRecord,
    read_changes,
    read_chunks,
    read_header,
    read_header_records,
    read_stored_records,
)
from palimpsest.storage.files import Files
from palimpsest.storage.framing import (
    COMMIT_PREFIX,
    CommitLine,
    MalformedError,
    is_sealed,
    load_object,
    read_commit,
    stored_hash,
)
from palimpsest.storage.header import SessionHeader

BLOCK_BYTES = 1 << 18


class Source:
    """A session file open for reading, as long as it was when it was opened.

    Raises:
        OSError: the file cannot be opened or read.
    """

    def __init__(self, files: Files, path: Path) -> None:
        self._files = files
        self._descriptor = files.open(path, "read")
        try:
            self.size = files.size(self._descriptor)
        except BaseException:
            files.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._files.close(self._descriptor)

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes ``start <= offset < stop``."""
        return self._files.read(self._descriptor, start, stop - start)

    def lines(self, start: int, stop: int) -> Iterator[bytes]:
        """Read the lines from an offset on; only the last may lack its newline."""
        rest: list[bytes] = []
        while start < stop:
            block = self.read(start, min(stop, start + BLOCK_BYTES))
            if not block:
                break
            start += len(block)
            *whole, last = block.split(b"\n")
            for line in whole:
                yield b"".join(rest) + line + b"\n"
                rest = []
            rest.append(last)
        if incomplete := b"".join(rest):
            yield incomplete

    def first_line(self) -> bytes:
        """Read line 1; without a newline where the file has no whole line."""
        return next(self.lines(0, self.size), b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Consecutive message lines.

    Attributes:
        first: index in the history of the first message.
        count: how many messages.
        start: offset of the first line in the file.
        stop: offset behind the last.
        digest: SHA-256 of the bytes, or empty where none is known.
    """

    first: int
    count: int
    start: int
    stop: int
    digest: str


@dataclass(slots=True, kw_only=True)
class Layout:
    """What a session file holds, and where.

    Attributes:
        header: as of the newest commit.
        records: all of them, oldest first.
        body_start: length of line 1.
        segments: where the messages stand, in order.
        stop: offset behind what counts; bytes from there on are a torn tail.
        previous_commit: offset of the newest commit line, counted from ``body_start``, or None.
        commit_lines: how many there are.
        hash: of the newest sealed line.
        trusted: the chain of sealed lines is whole.
    """

    header: SessionHeader
    records: list[StoredRecord]
    body_start: int
    segments: list[Segment] = field(default_factory=list[Segment])
    stop: int = 0
    previous_commit: int | None = None
    commit_lines: int = 0
    hash: str = ""
    trusted: bool = False

    @property
    def message_count(self) -> int:
        """Messages of the whole history."""
        return self.segments[-1].first + self.segments[-1].count if self.segments else 0

    def covering(self, start: int, stop: int) -> Sequence[Segment]:
        """Give the segments that hold the messages ``start <= index < stop``."""
        if start >= stop:
            return ()
        low = bisect_right(self.segments, start, key=lambda segment: segment.first) - 1
        high = bisect_right(self.segments, stop - 1, key=lambda segment: segment.first)
        return self.segments[max(0, low) : high]


def sealed_segments(body_start: int, chunks: Sequence[Chunk]) -> list[Segment]:
    """Give the segments that line 1 lists."""
    segments: list[Segment] = []
    first, start = 0, body_start
    for chunk in chunks:
        stop = start + chunk.bytes
        segments.append(
            Segment(first=first, count=chunk.messages, start=start, stop=stop, digest=chunk.digest)
        )
        first, start = first + chunk.messages, stop
    return segments


def read_trusted(source: Source) -> Layout | None:
    """Read line 1 and the commit lines; None where their chain is not whole.

    Only the messages of the newest commit are compared with their digest: a crash can have torn
    no others.
    """
    line = source.first_line()
    try:
        value = load_object(line)
        chunks = read_chunks(value)
        if chunks is None or not is_sealed(line, ""):
            return None
        layout = Layout(
            header=read_header(value),
            records=read_header_records(value),
            body_start=len(line),
            segments=sealed_segments(len(line), chunks),
            hash=stored_hash(line),
            trusted=True,
        )
        layout.stop = layout.segments[-1].stop if layout.segments else len(line)
        whole = layout.stop <= source.size and _follow_commits(source, layout)
    except (MalformedError, InvalidRecordError):
        return None
    return layout if whole else None


def fold_commit(layout: Layout, commit: CommitLine) -> None:
    """Add what a commit line says to the header and the records.

    Raises:
        MalformedError: its header changes cannot be read.
        InvalidRecordError: one of its records cannot be read.
    """
    if commit.records or commit.changes:  # most have neither
        changes, records = read_changes(commit.changes), read_stored_records(commit.records)
        layout.header = changes.apply(layout.header)
        layout.records += records


def _follow_commits(source: Source, layout: Layout) -> bool:
    """Add all commits to a layout of the sealed body; False where the chain breaks."""
    lines = _commit_lines(source, layout)
    if lines is None:
        return False
    for offset, line, commit in lines:
        count = layout.message_count
        fits = (
            is_sealed(line, layout.hash)
            and layout.body_start + commit.start == layout.stop
            and layout.body_start + commit.bytes == offset
            and commit.messages >= count
        )
        if not fits:
            return False
        fold_commit(layout, commit)
        add_commit(layout, commit, line)
    if not lines or not layout.segments:
        return True
    newest = layout.segments[-1]
    return sha256(source.read(newest.start, newest.stop)).hexdigest() == newest.digest


def add_commit(layout: Layout, commit: CommitLine, line: bytes) -> None:
    """Put a commit behind a layout."""
    count, start = layout.message_count, layout.body_start + commit.start
    if commit.messages > count:
        layout.segments.append(
            Segment(
                first=count,
                count=commit.messages - count,
                start=start,
                stop=layout.body_start + commit.bytes,
                digest=commit.digest,
            )
        )
    layout.commit_lines += 1
    layout.previous_commit = commit.bytes
    layout.stop = layout.body_start + commit.bytes + len(line)
    layout.hash = stored_hash(line)


def _commit_lines(source: Source, layout: Layout) -> list[tuple[int, bytes, CommitLine]] | None:
    """Walk from the newest commit line back to the first; gives them oldest first."""
    found = _newest_commit_line(source, layout.stop)
    lines: list[tuple[int, bytes, CommitLine]] = []
    while found is not None:
        offset, line = found
        commit = read_commit(line)
        lines.append((offset, line, commit))
        if commit.previous is None:
            break
        start, stop = layout.body_start + commit.previous, layout.body_start + commit.start
        if not layout.stop <= start < stop <= offset:
            return None
        found = start, source.read(start, stop)
    lines.reverse()
    return lines


def _newest_commit_line(source: Source, base: int) -> tuple[int, bytes] | None:
    """Search backwards for the last whole commit line behind an offset."""
    size = 1 << 14
    while True:
        start = max(base, source.size - size)
        data = source.read(start, source.size)
        position = len(data)
        while (position := data.rfind(COMMIT_PREFIX, 0, position)) >= 0:
            begins_line = data[position - 1 : position] == b"\n" if position else start == base
            end = data.find(b"\n", position)
            if begins_line and end >= 0:
                return start + position, data[position : end + 1]
        if start == base:
            return None
        size *= 4
