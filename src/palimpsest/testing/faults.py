"""Storage that fails on purpose: single file operations, whole crashes, whole stores."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import SaveFailedError
from palimpsest.session.store import Commit, Loaded, Store
from palimpsest.storage.files import Files, OpenMode

StoreCall: TypeAlias = Literal["load", "load_tail", "read_range", "commit", "close"]


class SimulatedCrash(Exception):
    """The process is gone: this operation and all after it did nothing."""


class FaultyFiles(Files):
    """Files that work until one operation fails, or the process seems to die in it.

    Operations are counted from 0, in the order of ``operations``; closing a file is none, and
    always works. Without ``fail_at`` and ``crash_at`` everything works and is counted. Nothing is
    really synchronised: a simulated crash cuts no power, and tests are quicker without.

    Args:
        fail_at: the operation that raises ``error``.
        for_ever: all operations after ``fail_at`` raise it too.
        error: what is raised; a full disk by default.
        crash_at: the operation that raises ``SimulatedCrash``, like all after it.
        written: bytes that a write reaches the disk with before it fails or crashes.

    Attributes:
        operations: names of the operations so far.
        bytes_read: bytes read so far.
        bytes_written: bytes written so far.
    """

    def __init__(
        self,
        *,
        fail_at: int | None = None,
        for_ever: bool = False,
        error: OSError | None = None,
        crash_at: int | None = None,
        written: int = 0,
    ) -> None:
        self.operations: list[str] = []
        self.bytes_read = 0
        self.bytes_written = 0
        self._fail_at = fail_at
        self._for_ever = for_ever
        self._error = error or OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._crash_at = crash_at
        self._written = written

    def open(self, path: Path, mode: OpenMode) -> int:
        """Open a file, or fail."""
        self._begin("open")
        return super().open(path, mode)

    def size(self, descriptor: int) -> int:
        """Give a size, or fail."""
        self._begin("size")
        return super().size(descriptor)

    def read(self, descriptor: int, offset: int, size: int) -> bytes:
        """Read, or fail."""
        self._begin("read")
        data = super().read(descriptor, offset, size)
        self.bytes_read += len(data)
        return data

    def write(self, descriptor: int, offset: int, data: bytes) -> None:
        """Write, or fail when some bytes are written."""
        try:
            self._begin("write")
        except (OSError, SimulatedCrash):
            if self._written and len(self.operations) - 1 in (self._fail_at, self._crash_at):
                super().write(descriptor, offset, data[: self._written])
            raise
        super().write(descriptor, offset, data)
        self.bytes_written += len(data)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file off, or fail."""
        self._begin("truncate")
        super().truncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Count, or fail."""
        self._begin("sync")

    def replace(self, source: Path, target: Path) -> None:
        """Replace a file, or fail."""
        self._begin("replace")
        super().replace(source, target)

    def remove(self, path: Path) -> None:
        """Remove a file, or fail."""
        self._begin("remove")
        super().remove(path)

    def make_directory(self, path: Path) -> None:
        """Make a directory, or fail."""
        self._begin("make_directory")
        super().make_directory(path)

    def sync_directory(self, path: Path) -> None:
        """Count, or fail."""
        self._begin("sync_directory")

    def _begin(self, name: str) -> None:
        number = len(self.operations)
        self.operations.append(name)
        if self._crash_at is not None and number >= self._crash_at:
            raise SimulatedCrash(f"{name} was operation {number}")
        if self._fail_at is not None and (
            number == self._fail_at or (self._for_ever and number > self._fail_at)
        ):
            raise self._error


class FailingStore:
    """A store that fails before it does what was asked of it, then works again.

    Args:
        store: what works otherwise.
        call: the method that fails.
        after: how many of its calls work first.
        times: how many of its calls then fail; None is for ever.
        error: what is raised; a ``SaveFailedError`` of a full disk by default.
    """

    def __init__(
        self,
        store: Store,
        call: StoreCall,
        *,
        after: int = 0,
        times: int | None = 1,
        error: Exception | None = None,
    ) -> None:
        self._store = store
        self._call = call
        self._works = after
        self._fails = times
        self._error = error or SaveFailedError("session.jsonl", os.strerror(errno.ENOSPC))

    async def load(self) -> Loaded:
        """Load everything, or fail."""
        self._begin("load")
        return await self._store.load()

    async def load_tail(self, first_message_index: int | None = None) -> Loaded:
        """Load a tail, or fail."""
        self._begin("load_tail")
        return await self._store.load_tail(first_message_index)

    async def read_range(self, start: int, stop: int) -> Sequence[ModelMessage]:
        """Load a range, or fail."""
        self._begin("read_range")
        return await self._store.read_range(start, stop)

    async def commit(self, commit: Commit) -> None:
        """Commit, or fail."""
        self._begin("commit")
        await self._store.commit(commit)

    async def close(self) -> None:
        """Close, or fail."""
        self._begin("close")
        await self._store.close()

    def _begin(self, call: StoreCall) -> None:
        if call != self._call:
            return
        if self._works:
            self._works -= 1
        elif self._fails is None:
            raise self._error
        elif self._fails:
            self._fails -= 1
            raise self._error
