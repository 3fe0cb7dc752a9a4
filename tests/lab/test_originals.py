from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage

from palimpsest.lab.originals import Originals
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.store import Commit
from palimpsest.testing import tool_history
from tests.session.helpers import HEADER

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def stored(path: Path) -> list[ModelMessage]:
    history = tool_history()
    store = JsonlStore.create(path, HEADER)
    await store.commit(Commit(messages=tuple(history)))
    await store.close()
    return history


async def test_what_is_stored_as_it_was_is_intact(tmp_path: Path) -> None:
    history = await stored(tmp_path / "a.jsonl")
    originals = Originals()
    originals.remember(history[:2])
    originals.remember(history)
    assert originals.count_intact(tmp_path / "a.jsonl") == len(originals) == len(history)


async def test_a_message_that_reads_otherwise_now_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    history = await stored(path)
    originals = Originals()
    originals.remember(history)
    lines = path.read_bytes().splitlines(keepends=True)
    changed = next(at for at, line in enumerate(lines) if b"user-prompt" in line)
    lines[changed] = lines[changed].replace(b'"content":"', b'"content":"not ', 1)
    path.write_bytes(b"".join(lines))
    assert originals.count_intact(path) < len(history)


async def test_nothing_of_a_broken_file_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    originals = Originals()
    originals.remember(await stored(path))
    path.write_bytes(path.read_bytes().replace(b'"kind":"request"', b'"kind":"rumour"'))
    assert originals.count_intact(path) == 0
