"""What storage costs, in bytes and operations: what is new, not what the session has become."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.session.doctor import tidy
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.listing import list_sessions
from palimpsest.session.opening import open_session_file
from palimpsest.session.store import Commit
from palimpsest.storage.header import HeaderChanges
from palimpsest.testing.faults import FaultyFiles
from tests.session.builders import HEADER, checkpoint, run, turn, uuid

STEP = Commit(messages=turn(9_999_999)[:3], header=HeaderChanges(updated=5))


async def session(path: Path, messages: int, *, files: FaultyFiles) -> JsonlStore:
    """A session of so many messages, in commits of at most 200, with a checkpoint near its end."""
    store = JsonlStore.create(path, HEADER, files=files)
    for start in range(0, messages, 200):
        numbers = range(start // 4, min(messages, start + 200) // 4)
        await store.commit(Commit(messages=tuple(m for n in numbers for m in turn(n, 400))))
    cut = messages - 4
    await store.commit(Commit(records=(checkpoint(1, cut, messages),)))
    return store


@pytest.mark.parametrize("layout", ["new", "reopened", "tidied"])
def test_a_commit_costs_what_is_new(tmp_path: Path, layout: str) -> None:
    async def cost(messages: int) -> tuple[int, int, list[str]]:
        path, files = tmp_path / f"{messages}.jsonl", FaultyFiles()
        store = await session(path, messages, files=files)
        if layout != "new":
            store._file.release()
            if layout == "tidied":
                tidy(path)
            store = await JsonlStore.open(path, files=files)
        read, written, count = files.bytes_read, files.bytes_written, len(files.operations)
        await store.commit(STEP)
        result = (
            files.bytes_read - read,
            files.bytes_written - written,
            files.operations[count:],
        )
        await store.close()
        return result

    small, large = run(cost(12)), run(cost(10_000))
    assert small[0] == large[0] == 0
    assert abs(small[1] - large[1]) < 20  # digits of counts and offsets
    assert small[2] == large[2] == ["open", "size", "write", "sync"]


def test_a_later_checkpoint_costs_the_messages_since_the_one_before(tmp_path: Path) -> None:
    async def cost(messages: int) -> int:
        files = FaultyFiles()
        store = await session(tmp_path / f"{messages}.jsonl", messages, files=files)
        more = turn(8_888_888)
        before = files.bytes_read
        later = checkpoint(2, messages, messages + 4, base=uuid(1))
        await store.commit(Commit(messages=more, records=(later,)))
        read = files.bytes_read - before
        await store.close()
        return read

    assert run(cost(2_000)) < 200 * 1_000 < 2_000 * 400  # what was committed with its cut


@pytest.mark.parametrize("layout", ["commit lines", "tidied"])
def test_opening_reads_the_chain_and_the_tail(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "s.jsonl"
    run(session(path, 10_000, files=FaultyFiles()))._file.release()
    if layout == "tidied":
        tidy(path)
    size, files = path.stat().st_size, FaultyFiles()
    file = open_session_file(path, files, read_only=True)
    assert len(file.load_tail(None).messages) == 4
    assert files.bytes_read < size / 4
    file.release()


def test_listing_reads_the_chain_only(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(session(path, 10_000, files=FaultyFiles()))._file.release()
    files = FaultyFiles()
    (listed,) = list_sessions(tmp_path, files=files)
    assert listed.kind == "session" and listed.message_count == 10_000
    assert files.bytes_read < path.stat().st_size / 4
