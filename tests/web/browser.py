"""The page in a real Chromium, against a real server in the same loop."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

import palimpsest.web
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.host import SessionHost
from palimpsest.testing import Reply
from palimpsest.web.server import listen, serve
from tests.web.served import sessions

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
BUILT = (Path(palimpsest.web.__file__).parent / "static" / "index.html").is_file()

PATIENCE_MS = 15_000
"""After which a test gives up; none waits that long."""

expect.set_options(timeout=PATIENCE_MS)

needs_browser = pytest.mark.skipif(
    CHROMIUM is None or not BUILT,
    reason="no Chromium on this machine" if CHROMIUM is None else "`make page` was not run",
)


@dataclass
class Site:
    """A server and a browser that came by its link."""

    host: SessionHost
    address: str
    context: BrowserContext
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    async def page(self, session: AgentSession | None = None) -> Page:
        """Open a tab, on a session or on none."""
        page = await self.context.new_page()
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self._hear(said.type, said.text))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        await page.goto(self.address + (f"/#{session.id}" if session else "/"))
        return page

    def _hear(self, kind: str, text: str) -> None:
        # An answer that refuses is part of what is tested; the browser logs each.
        if kind == "error" and not text.startswith("Failed to load resource"):
            self.complaints.append(text)

    def check(self) -> None:
        """Nothing was asked of anybody else, and the page had nothing to complain of."""
        assert {url for url in self.asked if not url.startswith((self.address, "data:"))} == set()
        assert self.complaints == []


@asynccontextmanager
async def site(
    script: Iterable[Reply], cwd: Path, *, browser: dict[str, Any] | None = None, **choices: Any
) -> AsyncGenerator[Site]:
    """Serve a script's sessions and open a browser; at the end both are gone, and all was calm."""
    async with site_of(sessions(script, cwd, **choices), browser=browser) as opened:
        yield opened


@asynccontextmanager
async def site_of(
    host: SessionHost, *, browser: dict[str, Any] | None = None
) -> AsyncGenerator[Site]:
    """Serve a host's sessions and open a browser."""
    links: asyncio.Queue[str] = asyncio.Queue()
    serving = asyncio.ensure_future(serve(host, listen("127.0.0.1", 0), links.put_nowait))
    link = await links.get()
    try:
        async with _chromium(link, host, browser or {}) as opened:
            yield opened
            opened.check()
    finally:
        serving.cancel()
        await asyncio.wait([serving])


@asynccontextmanager
async def _chromium(link: str, host: SessionHost, look: dict[str, Any]) -> AsyncGenerator[Site]:
    async with async_playwright() as driver:
        chromium: Browser = await driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"] if os.name == "posix" else []
        )
        settings = {"locale": "en-GB", "viewport": {"width": 1280, "height": 800}}
        context = await chromium.new_context(**(settings | look))
        context.set_default_timeout(PATIENCE_MS)
        opened = Site(host=host, address=link.partition("/?")[0], context=context)
        page = await context.new_page()
        await page.goto(link)
        await page.close()
        yield opened
        await chromium.close()
