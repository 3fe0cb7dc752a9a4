from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from palimpsest.core.errors import CopiedSessionError, SessionBusyError, SessionNotFoundError
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.host import SessionHost
from palimpsest.session.manager import SessionManager
from palimpsest.session.settings import SessionSettings
from palimpsest.testing import Gate, Reply, ScriptedModel

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def opener(script: list[Reply]) -> SessionHost:
    async def open_session(manager: SessionManager) -> AgentSession:
        return await create_agent_session(
            session_manager=manager,
            model=ScriptedModel(script, window=16_000),
            tools=[],
            settings=SessionSettings(summarizer="extractive"),
        )

    return SessionHost(open_session)


async def test_many_sessions_at_once() -> None:
    """The soak has a thousand."""
    host = opener([Reply(text=f"answer {turn}") for turn in range(2)])
    sessions = [await host.open(SessionManager.in_memory()) for _ in range(100)]
    for turn in range(2):
        answers = await asyncio.gather(*(session.prompt(f"q{turn}") for session in sessions))
        assert set(answers) == {f"answer {turn}"}
    assert {len(session.messages) for session in host} == {4}
    assert await host.shut_down() == []
    assert len(host) == 0


async def test_one_object_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    host = opener([Reply(text="one"), Reply(text="two")])
    manager = SessionManager.create(tmp_path)
    session = await host.open(manager)
    await session.prompt("first")
    assert await host.open(manager) is session
    assert host.get(session.id) is session
    await host.close(session.id)
    await host.close(session.id)
    assert host.get(session.id) is None
    assert manager.path is not None
    again = await host.open(await SessionManager.open(manager.path))
    assert again.id == session.id
    await host.shut_down()


async def test_a_busy_session_stays_open_until_all_are_shut_down() -> None:
    gate = Gate()
    host = opener([Reply(text="never", before=gate)])
    session = await host.open(SessionManager.in_memory())
    running = asyncio.ensure_future(session.prompt("go"))
    await gate.reached.wait()
    with pytest.raises(SessionBusyError):
        await host.close(session.id)
    assert await host.shut_down() == []
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("name", ["backup", "11111111-1111-4111-8111-111111111111"])
async def test_a_copy_is_refused_by_its_name_and_never_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    host = opener([Reply(text="one"), Reply(text="two")])
    session = await host.draft()
    await session.prompt("first")
    assert session.path is not None
    copy = session.path.with_name(f"{name}.jsonl")
    copy.write_bytes(session.path.read_bytes())
    listed = {item.path: item for item in await host.stored()}
    assert listed[session.path].kind == "session"
    broken = listed[copy]
    assert broken.kind == "broken"
    assert broken.code == "copied_session"
    assert f"a copy of {session.id}; its name is not its id" in broken.reason
    refusal = CopiedSessionError if len(name) > 6 else SessionNotFoundError
    for for_writing in (True, False):
        with pytest.raises(refusal):
            await host.find(name, for_writing=for_writing)
    with pytest.raises(refusal):
        await host.page(name, limit=1)
    with pytest.raises(CopiedSessionError):
        await host.open(await SessionManager.open(copy))
    assert list(host) == [await host.find(session.id)] == [session]
    await session.prompt("meant for one only")
    assert b"meant for one only" not in copy.read_bytes()
    await host.close(session.id)
    with pytest.raises(refusal):
        await host.find(name)
    assert len(host) == 0
    apart = await host.open(await SessionManager.open(copy))
    assert apart.path == copy
    await host.shut_down()
