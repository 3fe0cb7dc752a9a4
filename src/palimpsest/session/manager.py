"""One session's storage, and where it comes from."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

from palimpsest.core.errors import NoSessionYetError
from palimpsest.session.environment import Environment, SystemEnvironment
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.listing import Listed, list_sessions
from palimpsest.session.memory import MemoryStore
from palimpsest.session.places import project_directory, session_path
from palimpsest.session.store import Store
from palimpsest.storage.header import SessionHeader


class SessionManager:
    """Storage of one session; made by one of the class methods, handed to ``create_agent_session``.

    It may be handed over again after that session was disposed of; before, a session on file is
    locked.

    Attributes:
        cwd: the folder the session works in.
        path: the session's file, or None in memory.
    """

    def __init__(
        self, open_store: Callable[[], Awaitable[Store]], *, cwd: Path, path: Path | None
    ) -> None:
        self.cwd = cwd
        self.path = path
        self._open_store = open_store

    async def open_store(self) -> Store:
        """Open the storage and take its lock.

        Raises:
            SessionLockedError: another process works on the session.
            SessionNotFoundError, SessionFileError: there is no such file, or it is broken.
        """
        return await self._open_store()

    @classmethod
    def in_memory(cls, cwd: Path | str = ".", *, environment: Environment | None = None) -> Self:
        """A session that lives as long as the process."""
        folder = Path(cwd).absolute()
        header = _new_header(folder, environment or SystemEnvironment())

        async def open_store() -> Store:
            return MemoryStore(header)

        return cls(open_store, cwd=folder, path=None)

    @classmethod
    def create(
        cls,
        cwd: Path | str = ".",
        *,
        path: Path | None = None,
        environment: Environment | None = None,
    ) -> Self:
        """A new session of a project; its file is made when its first message is stored.

        Args:
            cwd: the project's folder.
            path: the session's file, which must not exist yet; None places it among the project's.
            environment: clock and ids.
        """
        folder = Path(cwd).absolute()
        header = _new_header(folder, environment or SystemEnvironment())
        file = path or session_path(folder, header.id)

        async def open_store() -> Store:
            return JsonlStore.create(file, header)

        return cls(open_store, cwd=folder, path=file)

    @classmethod
    def draft(cls, cwd: Path | str = ".", *, environment: Environment | None = None) -> Self:
        """The same as ``create``: nothing stands on disk before the first message."""
        return cls.create(cwd, environment=environment)

    @classmethod
    async def open(
        cls, path: Path | str, *, read_only: bool = False, session_id: str | None = None
    ) -> Self:
        """A session that exists.

        Args:
            path: its file.
            read_only: take no lock and change nothing; prompts are then refused.
            session_id: the session that the file must hold; None takes any.

        Raises:
            SessionNotFoundError: there is no such file.
            SessionLockedError: another process works on it.
            SessionFileError: it is broken; it was not touched.
        """
        file = Path(path)
        store = await JsonlStore.open(file, read_only=read_only, session_id=session_id)
        header = (await store.load_tail(sys.maxsize)).header  # without a message
        opened = [store]

        async def open_store() -> Store:
            return opened.pop() if opened else await JsonlStore.open(file, read_only=read_only)

        return cls(open_store, cwd=Path(header.cwd), path=file)

    @classmethod
    async def continue_recent(cls, cwd: Path | str = ".") -> Self:
        """The project's session that was used last, of those that can be opened.

        Raises:
            NoSessionYetError: the project has none.
            SessionLockedError: another process works on it.
            SessionFileError: none can be opened; the error is that of one of them.
        """
        for listed in cls.list(cwd):  # the broken ones come last, and are refused
            return await cls.open(listed.path)
        raise NoSessionYetError(_absolute(cwd))

    @staticmethod
    def list(cwd: Path | str = ".") -> list[Listed]:
        """Every session of a project, newest first, then the broken ones by name."""
        return list_sessions(project_directory(Path(cwd)))


def _new_header(cwd: Path, environment: Environment) -> SessionHeader:
    now = environment.now_ms()
    return SessionHeader(id=environment.new_id(), cwd=str(cwd), created=now, updated=now)


def _absolute(folder: Path | str) -> str:
    return str(Path(folder).absolute())
