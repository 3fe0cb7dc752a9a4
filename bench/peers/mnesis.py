"""mnesis: a session in SQLite; a call and its result are one part of a reply."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import structlog
from mnesis import CompactionConfig, MnesisConfig, MnesisSession
from mnesis.events.bus import MnesisEvent
from mnesis.models.message import TextPart, TokenUsage, ToolPart, ToolStatus

from peers.histories import REPLY, Item, Prompt
from peers.library import MakeLibrary
from peers.vocabularies import use_shipped

os.environ["MNESIS_MOCK_LLM"] = "1"  # its own stub of a summariser
use_shipped()
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


class Session:
    """Records each prompt and each step, waits for its compaction, and asks for the context."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._folder = tempfile.TemporaryDirectory()
        self._path = str(Path(self._folder.name, "session.db"))
        self._stack = AsyncExitStack()
        self._session: MnesisSession | None = None
        self._waiting: list[Item] = []
        self._context: list[dict[str, Any]] = []
        self._changes = 0

    def take(self, items: Sequence[Item]) -> None:
        self._waiting += items

    async def manage(self) -> None:
        session = self._session or await self._opened()
        for item in self._waiting:
            await self._record(session, item)
        self._waiting.clear()
        await session._compaction_engine.wait_for_pending()
        self._context = await session.context_for_next_turn()

    async def _opened(self) -> MnesisSession:
        limits = {"context_limit": self._window, "max_output_tokens": self._window // 10}
        config = MnesisConfig(
            compaction=CompactionConfig(compaction_output_budget=self._window // 10),
            model_overrides=limits,
        )
        opening = MnesisSession.open(model="openai/gpt-4o", config=config, db_path=self._path)
        self._session = await self._stack.enter_async_context(opening)
        self._session.subscribe(MnesisEvent.COMPACTION_COMPLETED, self._compacted)
        return self._session

    def _compacted(self, *_: object) -> None:
        self._changes += 1

    async def _record(self, session: MnesisSession, item: Item) -> None:
        if isinstance(item, Prompt):
            await session.record(item.text, [])
            return
        tool = ToolPart(
            tool_name="read",
            tool_call_id=item.call_id,
            input={"n": item.number},
            output=item.result,
            status=ToolStatus(state="completed"),
        )
        tokens = (
            None if item.input_tokens is None else TokenUsage(input=item.input_tokens, output=9)
        )
        await session.record([], [TextPart(text=REPLY), tool], tokens=tokens)

    def sent(self) -> list[str]:
        return list(map(json.dumps, self._context))

    def declared(self) -> int:
        return self._changes

    def held(self) -> list[str]:
        with closing(sqlite3.connect(self._path)) as database:
            rows = database.execute("SELECT content FROM message_parts WHERE part_type = 'tool'")
            return [str(json.loads(content)["output"]) for (content,) in rows]


LIBRARIES: dict[str, MakeLibrary] = {"MnesisSession": Session}
