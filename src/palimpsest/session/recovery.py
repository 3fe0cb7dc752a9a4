"""A torn tail is moved aside, never thrown away."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from palimpsest.session.store import TornTail
from palimpsest.storage.files import Files
from palimpsest.storage.layout import BLOCK_BYTES, Source


def move_torn_tail(files: Files, path: Path, source: Source, stop: int) -> TornTail:
    """Move what stands behind ``stop`` to ``<file>.torn-<time>``; the lock must be held.

    The copy is on the disk before the session file is cut off, so that a crash in between leaves
    it twice, never nowhere.

    Raises:
        OSError: the session file is unchanged.
    """
    descriptor, target = _create_beside(files, path)
    try:
        try:
            for start in range(stop, source.size, BLOCK_BYTES):
                data = source.read(start, min(source.size, start + BLOCK_BYTES))
                files.write(descriptor, start - stop, data)
            files.sync(descriptor)
        finally:
            files.close(descriptor)
        files.sync_directory(path.parent)
    except OSError:
        with suppress(OSError):
            files.remove(target)
        raise
    _cut_off(files, path, stop)
    return TornTail(bytes=source.size - stop, moved_to=str(target))


def _cut_off(files: Files, path: Path, stop: int) -> None:
    descriptor = files.open(path, "update")
    try:
        files.truncate(descriptor, stop)
        files.sync(descriptor)
    finally:
        files.close(descriptor)


def _create_beside(files: Files, path: Path) -> tuple[int, Path]:
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    number = 1
    while True:
        again = "" if number == 1 else f"-{number}"
        target = path.with_name(f"{path.name}.torn-{time}{again}")
        try:
            return files.open(target, "create"), target
        except FileExistsError:
            number += 1
