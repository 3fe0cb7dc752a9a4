"""One writer a session: a sidecar file, locked by the operating system, that names its holder."""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from palimpsest.core.errors import SessionLockedError

_HOLDER_OFFSET = 1
"""Windows locks the first byte against readers, so the holder's name begins behind it."""

_HOLDER_BYTES = 512
"""Always as long, so that it covers the name before it."""


class SessionLock:
    """The lock of one session file, held from construction until ``release``.

    It ends with the process, however that ends. The sidecar stays, empty; it means nothing
    without its lock.

    Raises:
        SessionLockedError: somebody else holds it.
        OSError: the sidecar cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._sidecar = path.with_name(f"{path.name}.lock")
        self._lock = FileLock(self._sidecar, timeout=0, mode=0o600, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise _locked(path, self._sidecar) from None
        try:
            self._name_holder()
        except BaseException:
            self._lock.release()
            raise

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._lock.is_locked:
            with suppress(OSError):  # a stale name is only a name
                os.truncate(self._sidecar, 0)
            self._lock.release()

    def _name_holder(self) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        holder = {"pid": os.getpid(), "host": platform.node(), "since": since}
        with self._sidecar.open("r+b") as file:
            file.seek(_HOLDER_OFFSET)
            file.write(json.dumps(holder).ljust(_HOLDER_BYTES).encode())


def _locked(path: Path, sidecar: Path) -> SessionLockedError:
    try:
        with sidecar.open("rb") as file:
            file.seek(_HOLDER_OFFSET)
            holder: object = json.loads(file.read())
    except (OSError, ValueError):
        holder = None
    match holder:
        case {"pid": int(pid), "host": str(host), "since": str(since)}:
            return SessionLockedError(str(path), pid, host, since)
        case _:
            return SessionLockedError(str(path), None, "", "")
