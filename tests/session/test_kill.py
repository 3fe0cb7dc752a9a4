"""A process that is killed: what it acknowledged is there, nothing is half there, work goes on.

A seeded sample of the moments; ``make soak`` takes every one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from palimpsest.core.errors import SessionLockedError, SessionNotFoundError
from palimpsest.session.jsonl import JsonlStore
from palimpsest.testing import Reply
from tests.scale import SEED, WHOLE
from tests.session.helpers import HEADER, rig
from tests.session.kill_content import Content

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork and no SIGKILL"),
]

REPOSITORY = Path(__file__).resolve().parents[2]
EMPTY = Content().digest


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "tests.session.kill_child", *map(str, arguments)]


def child(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments),
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def output_of(*arguments: object) -> list[list[str]]:
    done = subprocess.run(
        command(*arguments), cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True
    )
    return [line.split() for line in done.stdout.splitlines()]


async def go_on(path: Path, said: Iterable[list[str]]) -> None:
    """Open what a killed process left: all it acknowledged, no half, and the next prompt works."""
    acknowledged = tried = EMPTY
    for line in said:
        match line:
            case ["ack", digest]:
                acknowledged = digest
            case ["try", digest]:
                tried = digest
            case _:
                pass
    try:
        store = await JsonlStore.open(path)
    except SessionNotFoundError:
        assert acknowledged == EMPTY
        return
    loaded = await store.load()
    found = Content()
    found.add(loaded.messages, loaded.records)
    assert found.digest in (acknowledged, tried)

    again = await rig([Reply(text="here again")], store=store, first_id=9_000)
    assert await again.session.prompt("go on") == "here again"
    seen = list(again.session.messages)
    await again.session.dispose()
    store = await JsonlStore.open(path)
    assert list((await store.load()).messages) == seen
    await store.close()


async def test_killed_at_any_write_fsync_and_rename(tmp_path: Path) -> None:
    said: dict[str, list[list[str]]] = {}
    for line in output_of("die", tmp_path):
        if line[0] == "point":
            said[line[1]] = []
        else:
            said[next(reversed(said))].append(line)
    for point, lines in said.items():
        assert (["closed"] in lines) == (point == "whole")
        await go_on(tmp_path / point / "s.jsonl", lines)
    assert sum(line[0] == "ack" for line in said["whole"]) >= 40


async def test_killed_at_any_moment(tmp_path: Path) -> None:
    """The child runs on while its line is read, so that the kill falls anywhere."""
    chance = Random(SEED)
    for number in range(40 if WHOLE else 1):
        path = tmp_path / f"{number}.jsonl"
        with child("play", path) as process:
            assert process.stdout is not None
            said = [process.stdout.readline().split() for _ in range(chance.randint(1, 80))]
            process.kill()
            said += [line.split() for line in process.stdout]
        await go_on(path, said)


async def test_two_processes_on_one_session(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = JsonlStore.create(path, HEADER)
    ours = await rig([Reply(text="first")], store=store)
    await ours.session.prompt("go")

    with child("hold", path) as process:
        assert process.stdin is not None and process.stdout is not None

        def ask() -> str:
            process.stdin.write("\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        assert ask() == "locked"
        await ours.session.dispose()
        assert ask() == "held"
        with pytest.raises(SessionLockedError):
            await JsonlStore.open(path)
        reader = await JsonlStore.open(path, read_only=True)
        assert (await reader.load()).message_count == 2
        await reader.close()
        process.kill()
    await go_on(path, [["ack", await digest_of(path)]])


async def digest_of(path: Path) -> str:
    store = await JsonlStore.open(path, read_only=True)
    loaded = await store.load()
    await store.close()
    found = Content()
    found.add(loaded.messages, loaded.records)
    return found.digest
