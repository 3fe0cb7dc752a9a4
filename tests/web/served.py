"""The web application for tests: a scripted model behind it, and a client with its token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI
from pydantic_ai import Tool

from palimpsest.models.limits import LimitChoices
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.host import SessionHost
from palimpsest.session.manager import SessionManager
from palimpsest.session.settings import SessionSettings
from palimpsest.session.store import Store
from palimpsest.testing import FailingStore, Gate, Reply, ScriptedModel
from palimpsest.web.app import create_app

BASE = "http://127.0.0.1:8000"


async def read(characters: int = 40, name: str = "") -> str:
    return f"{name}:" + "x" * characters


async def deploy(to: str) -> str:
    return f"deployed to {to}"


@dataclass
class Served:
    """An application and somebody who asks it."""

    app: FastAPI
    host: SessionHost
    client: httpx2.AsyncClient

    async def draft(self) -> str:
        answer = await self.client.post("/api/sessions", json={})
        assert answer.status_code == 201
        name: str = answer.json()["id"]
        return name

    def session(self, name: str) -> AgentSession:
        found = self.host.get(name)
        assert found is not None
        return found

    async def post(self, path: str, body: object = None) -> httpx2.Response:
        return await self.client.post(f"/api/sessions/{path}", json=body or {})

    async def get(self, path: str, **query: Any) -> httpx2.Response:
        return await self.client.get(f"/api/sessions/{path}", params=query)

    async def ask(self, name: str, *texts: str) -> None:
        """Prompt, and wait until each run settled."""
        for text in texts:
            answer = await self.post(f"{name}/prompt", {"requestId": text, "text": text})
            assert answer.status_code == 202, answer.text
            await self.session(name).wait_for_idle()


def sessions(
    script: Iterable[Reply],
    cwd: Path,
    *,
    summarizer: Any = "extractive",
    failing_commits: int = 0,
    approving: str = "",
    skill_directories: tuple[str, ...] = (),
    opening: Gate | None = None,
    window: int = 16_000,
    **model: Any,
) -> SessionHost:
    """A host whose sessions all answer from one script, and open once a gate does."""
    scripted = ScriptedModel(script, window=window, **model)

    async def open_session(manager: SessionManager) -> AgentSession:
        if opening is not None:
            await opening.wait()
        if failing_commits:
            manager = failing(manager, failing_commits)
        return await create_agent_session(
            session_manager=manager,
            model=scripted,
            tools=[
                read,
                *([Tool(deploy, name=approving, requires_approval=True)] if approving else []),
            ],
            settings=SessionSettings(
                summarizer=summarizer,
                limits=LimitChoices(window=window, max_output=1_024),
                skill_directories=skill_directories,
            ),
        )

    return SessionHost(open_session, cwd)


def failing(manager: SessionManager, commits: int) -> SessionManager:
    """The same storage, whose first commits fail."""

    async def open_store() -> Store:
        return FailingStore(await manager.open_store(), "commit", times=commits)

    return SessionManager(open_store, cwd=manager.cwd, path=manager.path)


@asynccontextmanager
async def served(
    script: Iterable[Reply], cwd: Path, *, page: Path | None = None, **choices: Any
) -> AsyncGenerator[Served]:
    host = sessions(script, cwd, **choices)
    app = create_app(host, page=page)
    token = app.state.access.token
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app),
        base_url=BASE,
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        yield Served(app=app, host=host, client=client)
    await asyncio.shield(host.shut_down())
