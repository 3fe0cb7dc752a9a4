"""Whatever byte or operation a crash or a refusal falls on: all that was acknowledged, no half."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from threading import Event

import pytest

from palimpsest.core.errors import SaveFailedError, SessionNotFoundError
from palimpsest.session.doctor import tidy
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.memory import MemoryStore
from palimpsest.session.opening import open_session_file
from palimpsest.session.store import Commit
from palimpsest.storage.files import Files
from palimpsest.storage.header import HeaderChanges
from palimpsest.testing.faults import FaultyFiles, SimulatedCrash
from tests.session.builders import HEADER, content, kill, read, run, story, turn, write

STORY = story()
Content = tuple[object, ...]


async def _states() -> list[Content]:
    store = MemoryStore(HEADER)
    states = [content(await store.load())]
    for commit in STORY:
        await store.commit(commit)
        states.append(content(await store.load()))
    return states


STATES = run(_states())


async def play(path: Path, files: Files, start: int = 0) -> int:
    """Commit the rest of the story and close; gives how many commits were acknowledged."""
    store = JsonlStore.create(path, HEADER, files=files)
    done = start
    try:
        if start:
            store = await JsonlStore.open(path, files=files)
        for commit in STORY[start:]:
            await store.commit(commit)
            done += 1
        await store.close()
    except SimulatedCrash:
        kill(store)
    return done


async def go_on(path: Path, acknowledged: int, *, commits: int = len(STORY)) -> None:
    """Open after a crash, find a whole state, and go on with the story."""
    try:
        store = await JsonlStore.open(path, files=FaultyFiles())
    except SessionNotFoundError:
        assert acknowledged == 0
        store, found = JsonlStore.create(path, HEADER, files=FaultyFiles()), 0
    else:
        found = STATES.index(content(await store.load()))
        assert found in (acknowledged, acknowledged + 1)
    for commit in STORY[found : found + commits]:
        await store.commit(commit)
    assert content(await store.load()) == STATES[min(len(STORY), found + commits)]
    await store.close()


async def operations(start: int, path: Path) -> int:
    files = FaultyFiles()
    await play(path, files, start)
    assert content(await read(path)) == STATES[-1]
    return len(files.operations)


def test_a_crash_at_any_operation_of_a_session(tmp_path: Path) -> None:
    async def main() -> None:
        for crash in range(await operations(0, tmp_path / "whole.jsonl")):
            for written in (0, 200):
                path = tmp_path / f"{crash}-{written}" / "s.jsonl"
                done = await play(path, FaultyFiles(crash_at=crash, written=written))
                await go_on(path, done, commits=1)

    run(main())


async def torn(path: Path, tail: bytes) -> Path:
    await write(path, STORY[:9], close=False)
    path.write_bytes(path.read_bytes() + tail)
    return path


async def unsealed(path: Path, _: bytes) -> Path:
    await write(path, STORY[:9])
    path.write_bytes(path.read_bytes().replace(b'"version":2', b'"version": 2'))
    return path


@pytest.mark.parametrize(
    ("prepare", "tail"),
    [(torn, b""), (torn, b'{"parts":['), (torn, b"\0" * 300), (unsealed, b"")],
    ids=["whole", "half a line", "zeros", "no chain"],
)
def test_a_crash_at_any_operation_of_a_reopened_one(
    tmp_path: Path, prepare: Callable[[Path, bytes], Awaitable[Path]], tail: bytes
) -> None:
    async def main() -> None:
        for crash in range(await operations(9, await prepare(tmp_path / "whole.jsonl", tail))):
            path = await prepare(tmp_path / f"{crash}" / "s.jsonl", tail)
            done = await play(path, FaultyFiles(crash_at=crash, written=5), 9)
            await go_on(path, done, commits=1)
            kept = [item.read_bytes() for item in path.parent.glob("*.torn-*")]
            assert (tail in kept) == bool(tail)

    run(main())


async def two_files(path: Path, count: int) -> tuple[bytes, bytes]:
    """Give the bytes before and after the last of ``count`` commits."""
    store = JsonlStore.create(path, HEADER, files=FaultyFiles())
    for commit in STORY[: count - 1]:
        await store.commit(commit)
    good = path.read_bytes()
    await store.commit(STORY[count - 1])
    kill(store)
    assert path.read_bytes().startswith(good)
    return good, path.read_bytes()


@pytest.mark.parametrize("count", [10, 12], ids=["messages", "records"])
def test_every_byte_at_which_the_last_commit_may_be_cut_off(tmp_path: Path, count: int) -> None:
    path = tmp_path / "s.jsonl"
    good, whole = run(two_files(path, count))

    for stop in range(len(good), len(whole) + 1):
        path.write_bytes(whole[:stop])
        reopened(path, whole[:stop], count if stop == len(whole) else count - 1, good)


def reopened(path: Path, data: bytes, expected: int, good: bytes) -> None:
    """Open, find a state, what is torn beside it, and add the next commit, all without closing."""
    file = open_session_file(path, FaultyFiles(), read_only=False)
    loaded = file.load_tail(0)
    assert content(loaded) == STATES[expected]
    if expected < len(STORY):
        file.commit(STORY[expected])
        assert content(file.load_tail(0)) == STATES[expected + 1]
    file.release()
    if loaded.recovered is not None:
        aside = Path(loaded.recovered.moved_to)
        assert aside.read_bytes() == data[len(good) :]
        aside.unlink()


def test_blocks_that_never_reached_the_disk(tmp_path: Path) -> None:
    """The length is there and the commit line too, but not all bytes before it."""
    path = tmp_path / "s.jsonl"
    good, whole = run(two_files(path, 10))

    for start in range(len(good), len(whole), 7):
        stop = min(len(whole), start + 40)
        data = whole[:start] + b"\0" * (stop - start) + whole[stop:]
        path.write_bytes(data)
        reopened(path, data, 9, good)


def test_the_first_commit_cut_off_by_another_tool(tmp_path: Path) -> None:
    """A whole line 1 and nothing whole behind it is an empty session, not a broken one."""
    path = tmp_path / "s.jsonl"
    run(write(path, STORY[:1], close=False))
    path.write_bytes(path.read_bytes()[:-1])
    run(go_on(path, 0))


# --- refusals ------------------------------------------------------------------------------------


def test_a_refused_commit_changes_nothing_and_may_be_tried_again(tmp_path: Path) -> None:
    async def main(path: Path, files: FaultyFiles, number: int) -> int:
        store, failures = JsonlStore.create(path, HEADER, files=files), 0
        for commit in STORY:
            before = path.read_bytes() if path.exists() else None
            try:
                await store.commit(commit)
            except SaveFailedError as error:
                failures += 1
                assert os.strerror(number) in str(error)
                assert (path.read_bytes() if path.exists() else None) == before
                await store.commit(commit)
        await store.close()
        assert content(await read(path)) == STATES[-1]
        assert {item.name for item in path.parent.iterdir()} == {"s.jsonl", "s.jsonl.lock"}
        return failures

    async def every_operation() -> int:
        refused = 0
        for fail in range(await operations(0, tmp_path / "whole.jsonl")):
            number = (errno.ENOSPC, errno.EIO, errno.EACCES)[fail // 4 % 3]
            error = OSError(number, os.strerror(number))
            files = FaultyFiles(fail_at=fail, error=error, written=fail % 3 * 100)
            refused += await main(tmp_path / f"{fail}" / "s.jsonl", files, number)
        return refused

    assert run(every_operation()) > 40


def test_a_disk_that_stays_full(tmp_path: Path) -> None:
    async def main(path: Path, fail: int) -> None:
        store, done = JsonlStore.create(path, HEADER, files=FaultyFiles(
            fail_at=fail, for_ever=True, written=90
        )), 0  # fmt: skip
        for commit in STORY:
            try:
                await store.commit(commit)
            except SaveFailedError:
                break
            done += 1
        await store.close()
        await go_on(path, done, commits=1)

    async def every_operation() -> None:
        for fail in range(await operations(0, tmp_path / "whole.jsonl")):
            await main(tmp_path / f"{fail}" / "s.jsonl", fail)

    run(every_operation())


def test_opening_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(write(path, STORY[:9], close=False))
    torn = path.read_bytes() + b"torn"

    async def main() -> bool:
        nonlocal fail
        path.write_bytes(torn)
        try:
            store = await JsonlStore.open(path, files=FaultyFiles(fail_at=fail))
        except (SaveFailedError, OSError):
            assert path.read_bytes()[: len(torn) - 4] == torn[:-4]
            fail += 1
            return True
        kill(store)
        return False

    fail = 0
    while run(main()):
        pass
    assert fail > 8
    run(go_on(path, 9))


def test_tidying_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run(write(path, STORY, close=False))
    before, fail = path.read_bytes(), 0
    while True:
        try:
            tidy(path, files=FaultyFiles(fail_at=fail))
            break
        except SaveFailedError:
            assert path.read_bytes() == before or content(run(read(path))) == STATES[-1]
        except OSError:
            assert path.read_bytes() == before
        fail += 1
    assert fail > 8
    assert content(run(read(path))) == STATES[-1]


def test_a_file_that_lost_its_end_while_it_was_open(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.jsonl"
        store = JsonlStore.create(path, HEADER)
        await store.commit(STORY[0])
        path.write_bytes(path.read_bytes()[:-5])
        with pytest.raises(SaveFailedError, match="shorter"):
            await store.commit(STORY[1])
        await store.close()

    run(main())


def test_a_new_session_never_replaces_a_file(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.jsonl"
        path.write_text("somebody's", encoding="utf-8")
        store = JsonlStore.create(path, HEADER)
        with pytest.raises(SaveFailedError, match="already"):
            await store.commit(STORY[0])
        await store.close()
        assert path.read_text(encoding="utf-8") == "somebody's"

    run(main())


# --- cancellation --------------------------------------------------------------------------------


class Gate(Files):
    """Files whose operations of one name wait until they are let through."""

    def __init__(self, name: str) -> None:
        self.name, self.reached, self.opened = name, Event(), Event()

    def _pass(self, name: str) -> None:
        if name == self.name:
            self.reached.set()
            assert self.opened.wait(30)

    def sync(self, descriptor: int) -> None:
        self._pass("sync")
        super().sync(descriptor)

    def size(self, descriptor: int) -> int:
        self._pass("size")
        return super().size(descriptor)


def test_a_cancelled_commit_is_finished_first(tmp_path: Path) -> None:
    async def main() -> None:
        gate, path = Gate("sync"), tmp_path / "s.jsonl"
        store = JsonlStore.create(path, HEADER, files=gate)
        task = asyncio.create_task(store.commit(Commit(messages=turn(1))))
        await asyncio.to_thread(gate.reached.wait)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        later = asyncio.create_task(store.commit(Commit(header=HeaderChanges(title="later"))))
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await later
        loaded = await store.load()
        assert (loaded.message_count, loaded.header.title) == (4, "later")
        await store.close()

    run(main())


def test_a_commit_cancelled_as_it_starts_is_stored_once(tmp_path: Path) -> None:
    async def main() -> None:
        store = JsonlStore.create(tmp_path / "s.jsonl", HEADER)
        for steps in range(1, 6):
            task = asyncio.create_task(store.commit(Commit(messages=turn(steps))))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert (await store.load()).message_count == 4 * steps
        await store.close()

    run(main())


def test_a_cancelled_opening_gives_the_lock_back(tmp_path: Path) -> None:
    async def main() -> None:
        gate, path = Gate("size"), tmp_path / "s.jsonl"
        await write(path, STORY)
        task = asyncio.create_task(JsonlStore.open(path, files=gate))
        await asyncio.to_thread(gate.reached.wait)
        task.cancel()
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await (await JsonlStore.open(path)).close()

    run(main())
