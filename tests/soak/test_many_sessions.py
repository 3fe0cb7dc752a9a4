"""A thousand sessions in one process, all at work at once."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest

from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.host import SessionHost
from palimpsest.session.manager import SessionManager
from palimpsest.session.settings import SessionSettings
from palimpsest.testing import Reply, ScriptedModel
from tests.measuring import held_bytes
from tests.scale import SESSIONS

pytestmark = pytest.mark.anyio

MOST_BYTES_A_SESSION = 150_000


async def test_a_thousand_sessions_at_once(
    tmp_path: Path, figures: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))

    async def open_session(manager: SessionManager) -> AgentSession:
        return await create_agent_session(
            session_manager=manager,
            model=ScriptedModel([Reply(text=f"answer {turn}") for turn in range(2)], window=16_000),
            tools=[],
            settings=SessionSettings(summarizer="extractive"),
        )

    before, started = len(asyncio.all_tasks()), perf_counter()
    host = SessionHost(open_session)
    # Files for one in ten: that many locks are held at once.
    managers = [
        SessionManager.create(tmp_path) if number % 10 == 0 else SessionManager.in_memory()
        for number in range(SESSIONS)
    ]
    sessions = [await host.open(manager) for manager in managers]
    for turn in range(2):
        answers = await asyncio.gather(*(session.prompt(f"q{turn}") for session in sessions))
        assert set(answers) == {f"answer {turn}"}
    assert {len(session.messages) for session in host} == {4}
    gc.collect()
    held = held_bytes(*(session._conversation.engine for session in sessions)) / SESSIONS
    assert await host.shut_down() == []
    assert len(host) == 0
    assert len(asyncio.all_tasks()) == before
    figures(
        f"{SESSIONS} sessions, {2 * SESSIONS} prompts: {perf_counter() - started:.0f} s, "
        f"{held / 1e3:.0f} KB a session (≤ {MOST_BYTES_A_SESSION / 1e3:.0f})"
    )
    assert held <= MOST_BYTES_A_SESSION
