"""The canonical layout: one line with header and records, then one line a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from palimpsest.storage.codec import Chunk, StoredRecord, header_object
from palimpsest.storage.files import Files
from palimpsest.storage.framing import seal
from palimpsest.storage.header import SessionHeader
from palimpsest.storage.layout import BLOCK_BYTES, Layout, Source, sealed_segments


class ChangedError(Exception):
    """Stored messages are not those that were committed, so they must not be sealed anew."""


def put_in_place(files: Files, path: Path, pieces: Iterator[bytes]) -> None:
    """Write a file whole beside its place and put it there in one step.

    The directory is yet to be synchronised.

    Raises:
        OSError: the file that stood there, if any, is unchanged.
    """
    new = path.with_name(f"{path.name}.new")
    with suppress(FileNotFoundError):
        files.remove(new)  # left by a crash
    try:
        descriptor, offset = files.open(new, "create"), 0
        try:
            for piece in pieces:
                files.write(descriptor, offset, piece)
                offset += len(piece)
            files.sync(descriptor)
        finally:
            files.close(descriptor)
        files.replace(new, path)
    except (OSError, ChangedError):
        with suppress(OSError):
            files.remove(new)
        raise


def write_canonical(
    files: Files,
    path: Path,
    layout: Layout,
    header: SessionHeader,
    records: Sequence[StoredRecord],
) -> Layout:
    """Write a session's file anew in the canonical layout and give where all stands in it.

    The directory is yet to be synchronised.

    Raises:
        ChangedError: messages differ from their digests; the file is unchanged.
        OSError: the file is unchanged.
    """
    with Source(files, path) as source:
        chunks = list(_chunks(source, layout))
        line, chained = seal(header_object(header, records, chunks), "")
        put_in_place(files, path, _pieces(line, source, layout))
    segments = sealed_segments(len(line), chunks)
    return Layout(
        header=header,
        records=list(records),
        body_start=len(line),
        segments=segments,
        stop=segments[-1].stop if segments else len(line),
        hash=chained,
        trusted=True,
    )


def _pieces(line: bytes, source: Source, layout: Layout) -> Iterator[bytes]:
    yield line
    for segment in layout.segments:
        for start in range(segment.start, segment.stop, BLOCK_BYTES):
            yield source.read(start, min(segment.stop, start + BLOCK_BYTES))


def _chunks(source: Source, layout: Layout) -> Iterator[Chunk]:
    """Group all message lines into chunks of about a block, checking what was known of them."""
    digest, size, messages = sha256(), 0, 0
    for segment in layout.segments:
        check = sha256()
        for line in source.lines(segment.start, segment.stop):
            check.update(line)
            digest.update(line)
            size, messages = size + len(line), messages + 1
            if size >= BLOCK_BYTES:
                yield Chunk(messages=messages, bytes=size, digest=digest.hexdigest())
                digest, size, messages = sha256(), 0, 0
        if check.hexdigest() != segment.digest:
            raise ChangedError
    if messages:
        yield Chunk(messages=messages, bytes=size, digest=digest.hexdigest())
