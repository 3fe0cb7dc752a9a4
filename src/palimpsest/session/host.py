"""Many sessions of one project in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from palimpsest.core.errors import (
    CopiedSessionError,
    PalimpsestError,
    SessionLockedError,
    SessionNotFoundError,
)
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.listing import BrokenSession, Listed, newest_first
from palimpsest.session.manager import SessionManager
from palimpsest.session.peeking import Page, page_bounds, peek
from palimpsest.session.places import is_session_id, session_path

OpenSession = Callable[[SessionManager], Awaitable[AgentSession]]
"""Opens a session over its storage: a model, tools and settings are the caller's choice."""


class SessionHost:
    """Holds open sessions by id; each goes on by itself.

    Opening the same session twice gives the same object: one process holds its lock once.

    Attributes:
        cwd: the project whose sessions are listed, found and drafted.
    """

    def __init__(self, open_session: OpenSession, cwd: Path | str = ".") -> None:
        self.cwd = Path(cwd).absolute()
        self._open_session = open_session
        self._sessions: dict[str, AgentSession] = {}
        self._opening = asyncio.Lock()

    def __iter__(self) -> Iterator[AgentSession]:
        return iter(tuple(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: str) -> AgentSession | None:
        """Give an open session, or None."""
        return self._sessions.get(session_id)

    async def stored(self) -> list[Listed]:
        """Every stored session of the project, newest first, then the broken ones by name.

        A file that is not named for its session is broken here: ``find`` would refuse it.
        """
        listed = await asyncio.to_thread(SessionManager.list, self.cwd)
        return newest_first(map(_refuse_copy, listed))

    async def draft(self) -> AgentSession:
        """Open a new session of the project; nothing is stored before its first prompt."""
        return await self.open(SessionManager.draft(self.cwd))

    async def find(self, session_id: str, *, for_writing: bool = True) -> AgentSession:
        """Give a session of the project, opened where it is not open yet.

        Args:
            session_id: UUID, lower case.
            for_writing: False takes one that another process works on for reading only; once it
                is free, a later call with True opens it for writing.

        Raises:
            SessionNotFoundError: the project has no such session.
            SessionLockedError: another process works on it.
            SessionFileError: it is broken, or a copy that was given its name.
        """
        async with self._opening:
            session = self.get(session_id)
            if session is not None and not (for_writing and session.state.read_only):
                return session
            path = self._path_of(session_id)
            try:
                manager = await SessionManager.open(path, session_id=session_id)
            except SessionLockedError:
                if for_writing:
                    raise
                manager = await SessionManager.open(path, read_only=True, session_id=session_id)
            await self.close(session_id)
            return await self._open(manager)

    async def page(self, session_id: str, *, before: int | None = None, limit: int) -> Page:
        """Give a page of a session's history; one that is not open need not be opened for it.

        Args:
            session_id: UUID, lower case.
            before: the page ends before this index; None is the end.
            limit: messages at most.

        Raises:
            SessionNotFoundError: the project has no such session.
            SessionFileError: it is broken.
        """
        session = self.get(session_id)
        if session is None:
            path = self._path_of(session_id)
            peeked = await asyncio.to_thread(peek, path, before=before, limit=limit)
            if peeked is not None:
                return peeked
            session = await self.find(session_id, for_writing=False)
        history, state = session.messages, session.view_state
        start, stop = page_bounds(len(history), before=before, limit=limit)
        messages = await asyncio.to_thread(lambda: history[start:stop])
        return Page(messages=messages, first=start, total=len(history), state=state)

    async def open(self, manager: SessionManager) -> AgentSession:
        """Open a session, or give the one that is open already.

        Raises:
            SessionLockedError: another process works on it.
            SessionFileError: it is broken, or a copy of a session that is open.
        """
        async with self._opening:
            for session in self._sessions.values():
                if manager.path is not None and session.path == manager.path:
                    return session
            return await self._open(manager)

    async def close(self, session_id: str, *, discard_pending: bool = False) -> None:
        """Dispose of a session and forget it; an unknown id is none that is open.

        Raises:
            SessionBusyError, PendingSaveError: it stays open.
        """
        session = self._sessions.get(session_id)
        if session is not None:
            await session.dispose(discard_pending=discard_pending)
            del self._sessions[session_id]

    async def shut_down(self) -> list[PalimpsestError]:
        """Abort and dispose of every session; give what could not be saved.

        A session whose save fails once more is given up, and its error is among the results.
        """
        closings = (self._shut(session) for session in self)
        errors = await asyncio.gather(*closings)
        self._sessions.clear()
        return [error for error in errors if error is not None]

    def _path_of(self, session_id: str) -> Path:
        path = session_path(self.cwd, session_id) if is_session_id(session_id) else None
        if path is None or not path.is_file():
            raise SessionNotFoundError(session_id)
        return path

    async def _open(self, manager: SessionManager) -> AgentSession:
        session = await self._open_session(manager)
        if session.id in self._sessions:
            await session.dispose()
            raise CopiedSessionError(str(session.path), session.id)
        self._sessions[session.id] = session
        return session

    async def _shut(self, session: AgentSession) -> PalimpsestError | None:
        await session.abort()
        error: PalimpsestError | None = None
        if session.state.has_pending_save:
            try:
                await session.flush()
            except PalimpsestError as failure:
                error = failure
        await session.dispose(discard_pending=True)
        return error


def _refuse_copy(listed: Listed) -> Listed:
    if listed.kind == "broken" or listed.header.id == listed.path.stem:
        return listed
    error = CopiedSessionError(str(listed.path), listed.header.id)
    return BrokenSession(path=listed.path, code=error.code, reason=str(error))
