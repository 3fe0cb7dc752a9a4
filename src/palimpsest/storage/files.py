"""Every operation on a session's files, in one place, so that each of them can be made to fail."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Literal, TypeAlias

if sys.platform == "darwin":
    import fcntl

OpenMode: TypeAlias = Literal["read", "update", "create"]
"""``update`` reads and writes what exists; ``create`` refuses what exists."""

_FLAGS: dict[OpenMode, int] = {
    "read": os.O_RDONLY,
    "update": os.O_RDWR,
    "create": os.O_RDWR | os.O_CREAT | os.O_EXCL,
}
if sys.platform == "win32":
    _ALWAYS = os.O_BINARY
else:
    _ALWAYS = os.O_NONBLOCK  # a pipe would keep us waiting until somebody writes to it


class Files:
    """The operating system's files; every method raises ``OSError``.

    Not thread-safe for one descriptor. Files are made for their owner only.
    """

    def open(self, path: Path, mode: OpenMode) -> int:
        """Open a file and give its descriptor; a directory, pipe or device is refused."""
        descriptor = os.open(path, _FLAGS[mode] | _ALWAYS, 0o600)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", str(path))

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)

    def size(self, descriptor: int) -> int:
        """Give the size of an open file in bytes."""
        return os.fstat(descriptor).st_size

    def read(self, descriptor: int, offset: int, size: int) -> bytes:
        """Read at most ``size`` bytes; fewer at the end of the file only."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        pieces: list[bytes] = []
        while size > 0 and (piece := os.read(descriptor, size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def write(self, descriptor: int, offset: int, data: bytes) -> None:
        """Write all of ``data``."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file off."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Wait until a file's contents and size are on the disk."""
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """Put a file in the place of another, which may not exist, in one step."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def make_directory(self, path: Path) -> None:
        """Make a directory and those above it, each for its owner only; existing ones stay."""
        if path.is_dir():
            return
        self.make_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)

    def sync_directory(self, path: Path) -> None:
        """Wait until a directory's names are on the disk; Windows has no such call."""
        if sys.platform == "win32":
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
