"""Works in a scripted session and dies: run by ``test_kill``, in a process of its own.

Usage: ``python -m tests.session.kill_child play|hold|die PATH``

``die`` forks for each point, and the fork plays the script until it kills itself there. A point
is the number of a file operation and the bytes that reach the file before, if it is a write. What
is printed, a line each: ``point``, ``try`` and ``ack`` around every commit with what the session
holds then, ``closed``.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import SessionLockedError
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.store import Commit, Loaded
from palimpsest.storage.files import Files, OpenMode
from tests.scale import sample
from tests.session.helpers import HEADER, rig, work
from tests.session.kill_content import Content

TURNS = 10
SCRIPT = {"turns": TURNS, "steps": 3, "characters": 3_000, "prose": 7_000}


class DeadlyFiles(Files):
    """Files with which the process dies at one operation; with None it lives."""

    def __init__(self, operation: int | None, written: int) -> None:
        self.operations: list[str] = []
        self._operation = operation
        self._written = written

    def _pass(self, name: str) -> bool:
        self.operations.append(name)
        return len(self.operations) - 1 == self._operation

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def open(self, path: Path, mode: OpenMode) -> int:
        descriptor = super().open(path, mode)
        if mode == "create" and self._pass("create"):
            self._die()
        return descriptor

    def write(self, descriptor: int, offset: int, data: bytes) -> None:
        if self._pass("write"):
            super().write(descriptor, offset, data[: self._written])
            self._die()
        super().write(descriptor, offset, data)

    def truncate(self, descriptor: int, size: int) -> None:
        super().truncate(descriptor, size)
        if self._pass("truncate"):
            self._die()

    def sync(self, descriptor: int) -> None:
        if self._pass("sync"):
            self._die()  # no power is cut, so nothing need be synchronised

    def replace(self, source: Path, target: Path) -> None:
        if self._pass("replace"):
            self._die()
        super().replace(source, target)

    def sync_directory(self, path: Path) -> None:
        if self._pass("sync_directory"):
            self._die()


class Telling:
    """A store that tells of every commit."""

    def __init__(self, store: JsonlStore) -> None:
        self._store = store
        self._content = Content()

    async def load(self) -> Loaded:
        return await self._store.load()

    async def load_tail(self, first_message_index: int | None = None) -> Loaded:
        return await self._store.load_tail(first_message_index)

    async def read_range(self, start: int, stop: int) -> Sequence[ModelMessage]:
        return await self._store.read_range(start, stop)

    async def commit(self, commit: Commit) -> None:
        self._content.add(commit.messages, commit.records)
        say("try", self._content.digest)
        await self._store.commit(commit)
        say("ack", self._content.digest)

    async def close(self) -> None:
        await self._store.close()


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def play(path: Path, files: Files) -> None:
    store = Telling(JsonlStore.create(path, HEADER, files=files))
    found = await rig(work(**SCRIPT), store=store)
    for turn in range(TURNS):
        await found.session.prompt(f"do part {turn}")
    await found.session.dispose()
    say("closed")


async def hold(path: Path) -> None:
    """Try to open an existing session after every line, and hold it until killed."""
    while sys.stdin.readline():
        try:
            await JsonlStore.open(path)
            say("held")
        except SessionLockedError:
            say("locked")


def in_a_fork(path: Path, operation: int | None, written: int) -> None:
    """Play there, and leave the count of operations beside the file if it lives."""
    child = os.fork()
    if child == 0:
        files = DeadlyFiles(operation, written)
        asyncio.run(play(path, files))
        path.with_name("operations").write_text(" ".join(files.operations), encoding="utf-8")
        os._exit(0)
    os.waitpid(child, 0)


def die(directory: Path) -> None:
    say("point", "whole")
    in_a_fork(directory / "whole" / "s.jsonl", None, 0)
    operations = (directory / "whole" / "operations").read_text(encoding="utf-8").split()
    points = [
        (number, written)
        for number, name in enumerate(operations)
        for written in ((0, 1, 600) if name == "write" else (0,))
    ]
    for number, written in sample(points, 5):
        say("point", f"{number}-{written}")
        in_a_fork(directory / f"{number}-{written}" / "s.jsonl", number, written)


def main(kind: Literal["play", "hold", "die"], path: str) -> None:
    match kind:
        case "play":
            asyncio.run(play(Path(path), Files()))
        case "hold":
            asyncio.run(hold(Path(path)))
        case "die":
            die(Path(path))


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]  # written by the tests only
