"""Many sessions in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from palimpsest.core.errors import PalimpsestError
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.manager import SessionManager

OpenSession = Callable[[SessionManager], Awaitable[AgentSession]]
"""Opens a session over its storage: a model, tools and settings are the caller's choice."""


class SessionHost:
    """Holds open sessions by id; each goes on by itself.

    Opening the same session twice gives the same object: one process holds its lock once.
    """

    def __init__(self, open_session: OpenSession) -> None:
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

    async def open(self, manager: SessionManager) -> AgentSession:
        """Open a session, or give the one that is open already.

        Raises:
            SessionLockedError: another process works on it.
            SessionFileError: it is broken.
        """
        async with self._opening:
            for session in self._sessions.values():
                if manager.path is not None and session.path == manager.path:
                    return session
            session = await self._open_session(manager)
            self._sessions[session.id] = session
            return session

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
