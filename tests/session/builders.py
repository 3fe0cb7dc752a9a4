"""Small sessions for storage tests."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from pydantic_ai.messages import ModelMessage

from palimpsest.core.outline import Position
from palimpsest.core.records import Checkpoint, Clearing, Restore, Trim
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.store import Commit, Loaded
from palimpsest.storage.header import HeaderChanges, SessionHeader
from palimpsest.testing.faults import FaultyFiles
from tests.formats.messages import assistant, returns, user

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def uuid(number: int) -> str:
    return str(UUID(int=number))


HEADER = SessionHeader(
    id=uuid(7), cwd="/home/me/project", created=1_000, updated=1_000, model="m", title="Ünïcode"
)


def turn(number: int, size: int = 10) -> tuple[ModelMessage, ...]:
    """A prompt, a call, its result, prose: four messages."""
    call = f"c{number}"
    return (
        user(f"prompt {number}"),
        assistant("", (call, "read", {"path": f"f{number}"})),
        returns((call, "read", "x" * size)),
        assistant(f"done {number} \u2028 é"),
    )


def checkpoint(number: int, cut: int, count: int, **fields: Any) -> Checkpoint:
    return Checkpoint(
        **{
            "id": uuid(number),
            "base": None,
            "first_kept_message_index": cut,
            "history_message_count": count,
            "summary": f"summary {number}",
            "timestamp": 2_000,
            "provider": "extractive",
            "model": "",
            **fields,
        }
    )


def clearing(number: int, message: int) -> Clearing:
    return Clearing(
        id=uuid(number),
        timestamp=2_000,
        placeholders=((Position(message, 0), "[cleared]"),),
        tokens_reclaimed=5,
    )


def trim(number: int, message: int) -> Trim:
    return Trim(
        id=uuid(number),
        timestamp=2_000,
        position=Position(message, 0),
        head_characters=3,
        tail_characters=2,
        shown_tokens=9,
        shown_bytes=30,
    )


def restore(number: int, active: str | None) -> Restore:
    return Restore(id=uuid(number), timestamp=2_000, active=active, outputs_shown=True)


def story() -> list[Commit]:
    """Twelve commits with all four kinds of records, header changes and a receipt."""
    one, two, three = (turn(number) for number in (1, 2, 3))
    return [
        Commit(messages=one[:1], header=HeaderChanges(updated=1_001)),
        Commit(messages=one[1:3]),
        Commit(messages=one[3:], header=HeaderChanges(title="A title", timings=({"ms": 3},))),
        Commit(messages=two[:1], records=(clearing(20, 2),)),
        Commit(messages=two[1:]),
        Commit(records=(checkpoint(21, 4, 8),), receipts={uuid(21): {"trigger": "manual"}}),
        Commit(header=HeaderChanges(model="other", skill_snapshots=({"id": "s"},))),
        Commit(messages=three[:1], records=(trim(22, 6),)),
        Commit(messages=three[1:3]),
        Commit(messages=three[3:], records=(checkpoint(23, 8, 12, base=uuid(21)),)),
        Commit(records=(restore(24, uuid(21)),), header=HeaderChanges(updated=1_009)),
        Commit(records=(restore(25, None),), header=HeaderChanges(permission_preset="full")),
    ]


async def write(
    path: Path, commits: list[Commit], *, close: bool = True, files: FaultyFiles | None = None
) -> Loaded:
    """Write a new session; without ``close`` it stays as a killed process would leave it."""
    store = JsonlStore.create(path, HEADER, files=files or FaultyFiles())
    for commit in commits:
        await store.commit(commit)
    loaded = await store.load()
    if close:
        await store.close()
    else:
        kill(store)
    return loaded


def kill(store: JsonlStore) -> None:
    """End a store as the end of its process would: the lock goes, nothing is written."""
    store._file.release()


async def read(path: Path) -> Loaded:
    """Load a session without touching it."""
    store = await JsonlStore.open(path, read_only=True)
    try:
        return await store.load()
    finally:
        await store.close()


def content(loaded: Loaded) -> tuple[object, ...]:
    """What must be the same however a session was stored."""
    return loaded.header, loaded.messages, loaded.records, loaded.receipts, loaded.message_count
