from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from palimpsest.core.errors import SessionFileError, SessionNotFoundError
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.host import SessionHost
from palimpsest.session.manager import SessionManager
from palimpsest.session.peeking import peek
from palimpsest.session.settings import SessionSettings
from palimpsest.storage.framing import seal
from palimpsest.testing import Reply, ScriptedModel
from tests.session.helpers import work

pytestmark = pytest.mark.anyio

TURNS = 4


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    return tmp_path


async def read(characters: int = 40, name: str = "") -> str:
    return f"{name}:" + "x" * characters


def host_of(project: Path) -> SessionHost:
    async def open_session(manager: SessionManager) -> AgentSession:
        return await create_agent_session(
            session_manager=manager,
            model=ScriptedModel(
                [*work(TURNS, characters=400, prose=9_000), Reply(text="more")], window=16_000
            ),
            tools=[read],
            settings=SessionSettings(summarizer="extractive"),
        )

    return SessionHost(open_session, project)


async def stored(project: Path) -> tuple[str, Path]:
    """A closed session with a compaction in it."""
    host = host_of(project)
    session = await host.draft()
    for turn in range(TURNS):
        await session.prompt(f"do part {turn}")
    await session.compact()
    assert session.path is not None
    await host.shut_down()
    return session.id, session.path


@pytest.mark.parametrize(
    ("before", "limit"), [(None, 3), (None, 500), (5, 2), (2, 9), (0, 5), (99, 1)]
)
async def test_a_page_is_the_same_whether_its_session_is_open_or_not(
    project: Path, before: int | None, limit: int
) -> None:
    name, _ = await stored(project)
    host = host_of(project)
    closed = await host.page(name, before=before, limit=limit)
    assert len(host) == 0
    session = await host.find(name)
    opened = await host.page(name, before=before, limit=limit)
    assert (list(closed.messages), closed.first, closed.total, closed.state) == (
        list(opened.messages),
        opened.first,
        opened.total,
        opened.state,
    )
    assert closed.state.checkpoint is not None
    assert closed.total == len(session.messages)
    assert len(closed.messages) <= limit
    await host.shut_down()


async def test_a_page_of_a_session_that_others_write_to(project: Path) -> None:
    name, path = await stored(project)
    elsewhere = host_of(project)
    session = await elsewhere.find(name)
    await session.prompt("more")
    page = peek(path, before=None, limit=1)
    assert page is not None
    assert page.total == len(session.messages)
    await elsewhere.shut_down()


def without_hash(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"hash":', b'"h":', 1))


def with_a_broken_message(path: Path) -> None:
    *lines, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines) + last.replace(b'"kind"', b'"kinD"'))


@pytest.mark.parametrize(
    ("change", "is_readable"), [(without_hash, True), (with_a_broken_message, False)]
)
async def test_what_does_not_vouch_for_itself_is_opened(
    project: Path, change: Callable[[Path], None], is_readable: bool
) -> None:
    name, path = await stored(project)
    change(path)
    assert peek(path, before=None, limit=1) is None
    host = host_of(project)
    if is_readable:
        assert (await host.page(name, limit=1)).total > TURNS
        assert len(host) == 1
    else:
        with pytest.raises(SessionFileError):
            await host.page(name, limit=1)
    await host.shut_down()


@pytest.mark.parametrize("name", ["0f0e0d0c-0000-4000-8000-000000000000", "../x", ""])
async def test_no_page_of_no_session(project: Path, name: str) -> None:
    with pytest.raises(SessionNotFoundError):
        await host_of(project).page(name, limit=1)
    with pytest.raises(SessionNotFoundError):
        peek(project / "none.jsonl", before=None, limit=1)


@pytest.mark.parametrize(
    ("messages", "size"),
    [(10**12, None), (3, None), (-1, None), (0, None), (True, None), (1, -1), (1, True), (1, 0)],
)
async def test_what_line_1_says_of_impossible_chunks_is_not_believed(
    project: Path, messages: int, size: int | None
) -> None:
    """A seal tells that line 1 is whole, and anybody can make one."""
    _, path = await stored(project)
    head, body = path.read_bytes().split(b"\n", 1)
    value = json.loads(head)
    del value["hash"]
    line = body.split(b"\n", 1)[0] + b"\n"
    length = len(line) if size is None else size
    value["chunks"] = [[messages, length, sha256(line).hexdigest()]]
    path.write_bytes(seal(value, "")[0] + line)
    assert peek(path, before=None, limit=5) is None
