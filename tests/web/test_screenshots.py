"""The pictures of the manual: ``SCREENSHOTS=docs/images pytest tests/web/test_screenshots.py``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from playwright.async_api import expect

from palimpsest.lab.stage import stage
from tests.web.browser import needs_browser, site_of

pytestmark = [pytest.mark.anyio, needs_browser]


async def test_the_demo_in_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = Path(os.environ.get("SCREENSHOTS") or tmp_path)
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))  # put back after the stage's own
    monkeypatch.setattr(sys, "executable", "python3")  # the commands in the pictures
    with stage() as (host, first, act):
        await act()
        (session,) = host
        assert session.id == first
        assert session.get_compactions()
        async with site_of(host) as found:
            page = await found.page(session)
            rule = page.get_by_role("region", name="Compaction").last
            await expect(rule).to_contain_text("tokens")
            await page.screenshot(path=pictures / "web.png")
            await rule.get_by_role("button").click()
            await page.get_by_role("heading", name="Receipt").scroll_into_view_if_needed()
            await page.screenshot(path=pictures / "web-compaction.png")
            await page.get_by_role("textbox", name="Prompt").fill("/")
            await expect(page.get_by_role("listbox", name="Commands")).to_be_visible()
            await page.screenshot(path=pictures / "web-menu.png")
            await page.emulate_media(color_scheme="dark")
            await page.set_viewport_size({"width": 390, "height": 760})
            await page.reload()
            await expect(rule).to_contain_text("tokens")
            await page.screenshot(path=pictures / "web-narrow.png")
