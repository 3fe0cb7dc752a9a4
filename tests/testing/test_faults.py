from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, get_args

import pytest

from palimpsest.core.errors import SaveFailedError
from palimpsest.session.memory import MemoryStore
from palimpsest.session.store import Commit
from palimpsest.testing.faults import FailingStore, FaultyFiles, SimulatedCrash, StoreCall
from tests.session.builders import HEADER, run, turn


def _write(files: FaultyFiles, path: Path) -> None:
    descriptor = files.open(path, "create")
    try:
        files.write(descriptor, 0, b"0123456789")
        files.sync(descriptor)
    finally:
        files.close(descriptor)


def test_operations_and_bytes_are_counted(tmp_path: Path) -> None:
    files = FaultyFiles()
    _write(files, tmp_path / "a")
    descriptor = files.open(tmp_path / "a", "read")
    assert files.read(descriptor, 2, 100) == b"23456789"
    files.close(descriptor)
    assert files.operations == ["open", "write", "sync", "open", "read"]
    assert (files.bytes_read, files.bytes_written) == (8, 10)


def test_one_operation_fails_then_all_work(tmp_path: Path) -> None:
    files = FaultyFiles(fail_at=1, written=4)
    with pytest.raises(OSError) as caught:
        _write(files, tmp_path / "a")
    assert caught.value.errno == errno.ENOSPC
    assert (tmp_path / "a").read_bytes() == b"0123"
    _write(files, tmp_path / "b")


def test_for_ever(tmp_path: Path) -> None:
    files = FaultyFiles(fail_at=0, for_ever=True, error=PermissionError(errno.EACCES, "no"))
    for _ in range(3):
        with pytest.raises(PermissionError):
            _write(files, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_nothing_happens_after_a_crash(tmp_path: Path) -> None:
    files = FaultyFiles(crash_at=1, written=3)
    with pytest.raises(SimulatedCrash):
        _write(files, tmp_path / "a")
    for operation in (
        lambda: files.remove(tmp_path / "a"),
        lambda: files.replace(tmp_path / "a", tmp_path / "b"),
        lambda: files.make_directory(tmp_path / "c"),
        lambda: _write(files, tmp_path / "d"),
    ):
        with pytest.raises(SimulatedCrash):
            operation()
    assert [item.read_bytes() for item in tmp_path.iterdir()] == [b"012"]


@pytest.mark.parametrize("call", get_args(StoreCall))
def test_a_store_fails_in_any_call(call: StoreCall) -> None:
    async def main() -> None:
        store = FailingStore(MemoryStore(HEADER), call, after=1, times=2)
        arguments: dict[str, tuple[Any, ...]] = {
            "commit": (Commit(messages=turn(1)[:1]),),
            "read_range": (0, 1),
        }
        method = getattr(store, call)
        await method(*arguments.get(call, ()))
        for _ in range(2):
            with pytest.raises(SaveFailedError):
                await method(*arguments.get(call, ()))
        if call != "close":
            await method(*arguments.get(call, ()))
            await store.commit(Commit(messages=turn(1)))
            assert (await store.load()).message_count in (4, 6)
        await store.close()

    run(main())


def test_a_store_that_never_works_again() -> None:
    async def main() -> None:
        error = SaveFailedError("x", "gone")
        store = FailingStore(MemoryStore(HEADER), "commit", times=None, error=error)
        for _ in range(5):
            with pytest.raises(SaveFailedError, match="gone"):
                await store.commit(Commit(messages=turn(1)))
        assert (await store.load()).message_count == 0

    run(main())
