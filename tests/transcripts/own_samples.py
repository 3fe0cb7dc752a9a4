"""Sessions of Palimpsest's own, made by running one."""

from __future__ import annotations

import asyncio
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from palimpsest.session.environment import SystemEnvironment
from palimpsest.session.jsonl import JsonlStore
from tests.session.helpers import HEADER, rig, work


class OwnSession(NamedTuple):
    """A session's file while it was open, and after it was closed."""

    open: str
    closed: str


@cache
def own_session() -> OwnSession:
    """Five prompts with two reads each; outputs cleared, one compaction, and its undoing."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder, f"{HEADER.id}.jsonl")))


async def _run(path: Path) -> OwnSession:
    store = JsonlStore.create(path, HEADER)
    script = work(5, characters=3_000)
    found = await rig(script, window=8_000, store=store, environment=SystemEnvironment())
    for turn in range(4):
        await found.session.prompt(f"prompt {turn}")
    await found.session.compact()
    await found.session.restore(None)
    await found.session.prompt("prompt 4")
    written = path.read_text()
    await found.session.dispose()
    return OwnSession(written, path.read_text())
