from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.testing import Reply
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
