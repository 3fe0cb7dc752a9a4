"""The default store: one JSONL file a session (SPEC section 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

import anyio
from anyio import to_thread
from pydantic_ai.messages import ModelMessage

from palimpsest.session.jsonl_file import SessionFile
from palimpsest.session.opening import new_session_file, open_session_file
from palimpsest.session.store import Commit, Loaded
from palimpsest.storage.files import Files
from palimpsest.storage.header import SessionHeader

T = TypeVar("T")


class JsonlStore:
    """A session in a file; see ``Store`` for what holds of every method.

    Made by ``create`` and ``open``. ``close`` leaves the canonical two-part layout, except for
    files of 8 MiB and more: these keep up to 1,000 commit lines until ``doctor.tidy``.
    """

    def __init__(self, file: SessionFile) -> None:
        self._file = file

    @classmethod
    def create(cls, path: Path, header: SessionHeader, *, files: Files | None = None) -> JsonlStore:
        """Prepare a new session; its folder, file and lock are made by the first commit.

        Raises:
            InvalidSettingError: an unknown key of the header has the name of a known one.
        """
        return cls(new_session_file(path, files or Files(), header))

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        session_id: str | None = None,
        files: Files | None = None,
    ) -> JsonlStore:
        """Open a session file, check it and take its lock.

        Args:
            path: the file.
            read_only: take no lock, ignore a torn tail, change nothing; another process may be
                working on the session, and what it commits from now on is not seen.
            session_id: the session that the file must hold; None takes any.
            files: the file operations to use.

        Raises:
            SessionNotFoundError: there is no such file.
            SessionLockedError: somebody else works on it.
            SessionFileError: it is broken; it was not touched.
            SaveFailedError: it cannot be locked, or its torn tail cannot be moved aside.
            OSError: it cannot be read.
        """
        opened: list[SessionFile] = []

        def work() -> None:
            opened.append(
                open_session_file(
                    path, files or Files(), read_only=read_only, session_id=session_id
                )
            )

        try:
            await finish(work)
        except BaseException:
            for file in opened:  # the caller was cancelled
                file.release()
            raise
        return cls(opened[0])

    async def load(self) -> Loaded:
        """Load everything; see ``Store``."""
        return await self.load_tail(0)

    async def load_tail(self, first_message_index: int | None = None) -> Loaded:
        """Load everything but the messages before an index; see ``Store``."""
        return await to_thread.run_sync(self._file.load_tail, first_message_index)

    async def read_range(self, start: int, stop: int) -> Sequence[ModelMessage]:
        """Load a range of messages; see ``Store``."""
        return await to_thread.run_sync(self._file.read_range, start, stop)

    async def commit(self, commit: Commit) -> None:
        """Append a commit; see ``Store``."""
        await finish(partial(self._file.commit, commit))

    async def close(self) -> None:
        """Leave the canonical layout where that is due, and give the lock back; see ``Store``."""
        await finish(self._file.close)


async def finish(work: Callable[[], T]) -> T:
    """Run something in a thread to its end, whoever is cancelled meanwhile.

    A cancellation that arrives is raised afterwards. Work that fails while its caller is being
    cancelled is tried once more, so it must be repeatable; its error goes before the cancellation.
    """
    running, results = Lock(), list[T]()

    def once() -> None:
        with running:
            if not results:
                results.append(work())

    cancellation: BaseException | None = None
    with anyio.CancelScope(shield=True):
        while not results:
            try:
                await to_thread.run_sync(once)
            except anyio.get_cancelled_exc_class() as error:
                cancellation = error  # the shield is no help against the task's own cancel()
    if cancellation is not None:
        raise cancellation
    return results[0]
