"""Waiting for a session without a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from palimpsest.session.agent_session import AgentSession


async def until(session: AgentSession, holds: Callable[[], bool]) -> None:
    """Wait until something holds; looked at after every event of the session."""
    happened = asyncio.Event()
    stop = session.subscribe(lambda _: happened.set())
    try:
        while not holds():
            happened.clear()
            await happened.wait()
    finally:
        stop()
