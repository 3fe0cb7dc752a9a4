from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse, TextPart

from palimpsest.session.manager import SessionManager
from palimpsest.session.store import Commit
from palimpsest.testing import Reply
from tests.session.builders import turn
from tests.web.served import Served, served

pytestmark = pytest.mark.anyio


async def titles(found: Served) -> list[str]:
    listed = (await found.client.get("/api/sessions")).json()["sessions"]
    return [entry["title"] for entry in listed]


async def test_a_session_is_listed_by_its_title_else_by_its_first_words(project: Path) -> None:
    async with served([Reply(text="ok")] * 2, project) as found:
        name = await found.draft()
        assert await titles(found) == [""]
        text = "Why does\n  the date test fail? " + "x" * 500
        await found.post(f"{name}/prompt", {"requestId": "first", "text": text})
        await found.session(name).wait_for_idle()
        await found.ask(name, "and now?")
        (title,) = await titles(found)
        assert title.startswith("Why does the date test fail? xxx")
        assert len(title) <= 200
        await found.client.put(f"/api/sessions/{name}/title", json={"title": "Dates"})
        assert await titles(found) == ["Dates"]


async def test_first_words_that_come_after_a_session_was_listed_are_shown(project: Path) -> None:
    store = await SessionManager.draft(project).open_store()
    await store.commit(Commit(messages=[ModelResponse(parts=[TextPart("Hello.")])]))
    async with served([], project) as found:
        assert await titles(found) == [""]
        await store.commit(Commit(messages=turn(1)))
        (title,) = await titles(found)
        assert title
    await store.close()
