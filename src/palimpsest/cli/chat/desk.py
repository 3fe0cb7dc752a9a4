"""The session that a chat works with, and how another one is put in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from palimpsest.cli.open import Choices, open_session, skill_loader
from palimpsest.core.errors import MissingExtraError, PalimpsestError
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.events import SessionEvent
from palimpsest.session.manager import SessionManager


class Desk:
    """Holds one open session at a time, and the person's answers that hold for it.

    Attributes:
        session: the open one.
        cwd: the folder it works in.
        skills: names of the skills that a prompt may mention.
        allowed_tools: tools that the person let run for the rest of the session.
    """

    def __init__(
        self, session: AgentSession, cwd: Path, choices: Choices, skills: tuple[str, ...]
    ) -> None:
        self.session = session
        self.cwd = cwd
        self.skills = skills
        self.allowed_tools: set[str] = set()
        self._choices = choices

    @classmethod
    async def open(cls, manager: SessionManager, choices: Choices) -> Desk:
        """Open a session; see ``open_session`` for what may be raised."""
        session = await open_session(manager, choices)
        return cls(session, manager.cwd, choices, await _skill_names(manager.cwd))

    async def begin_another(self, listener: Callable[[SessionEvent], None]) -> None:
        """Begin a new session, of the same project and with the same model; see ``_exchange``."""
        choices = replace(
            self._choices, session=None, goes_on=False, model=self.session.state.model
        )
        await self._exchange(SessionManager.draft(self.cwd), choices, listener)

    async def resume(self, path: Path, listener: Callable[[SessionEvent], None]) -> None:
        """Go on with a stored session; see ``_exchange``."""
        choices = replace(self._choices, session=str(path), goes_on=False, model=None)
        await self._exchange(await SessionManager.open(path), choices, listener)

    async def _exchange(
        self, manager: SessionManager, choices: Choices, listener: Callable[[SessionEvent], None]
    ) -> None:
        """Put another session in the place of this one, which is closed.

        Raises:
            PalimpsestError: the other one cannot be opened, or this one has unsaved work; this
                one stays.
        """
        session = await open_session(manager, choices)
        try:
            await self.session.dispose()
        except PalimpsestError:
            await session.dispose()
            raise
        self.session, self.cwd = session, manager.cwd
        self.skills = await _skill_names(manager.cwd)
        self.allowed_tools.clear()
        session.subscribe(listener)


async def _skill_names(cwd: Path) -> tuple[str, ...]:
    try:
        return await skill_loader(cwd).names()
    except MissingExtraError:
        return ()
