"""What a session costs as its file grows: committing, opening, prompting, and memory.

Every row names its target. Ratios are the point; times are of this machine. Memory is measured in
a process of its own, as the peak above what the imports need.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.outline import Outline
from palimpsest.core.records import Checkpoint
from palimpsest.models.limits import LimitChoices
from palimpsest.models.timeline import measure
from palimpsest.session.accounts import Accounts
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.manager import SessionManager
from palimpsest.session.settings import SessionSettings
from palimpsest.session.store import Commit
from palimpsest.storage.files import Files
from palimpsest.storage.header import HeaderChanges, SessionHeader
from palimpsest.storage.totals import Counted
from palimpsest.testing import Reply, ScriptedModel

MEGABYTES = (1, 10, 100)
MESSAGES = (200, 20_000)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LINE = "def handler_{0}(request, context): return context.render({0}, request)\n"
HEADER = SessionHeader(
    id="0f0e0d0c-0000-4000-8000-000000000000", cwd="/project", created=1, updated=1
)


class Unsynchronised(Files):
    """Builds the files quickly; what is measured uses the real ones."""

    def sync(self, descriptor: int) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass


def size_of(path: Path) -> int:
    """Size of a file in bytes."""
    return path.stat().st_size


def step(number: int, lines: int) -> list[ModelMessage]:
    """A call and its result."""
    call = f"c{number}"
    text = "".join(LINE.format(number * 100 + line) for line in range(lines))
    return [
        ModelResponse(
            parts=[
                TextPart(content="I read it."),
                ToolCallPart(tool_name="read", args={"n": number}, tool_call_id=call),
            ],
            timestamp=NOW,
        ),
        ModelRequest(
            parts=[
                ToolReturnPart(tool_name="read", content=text, tool_call_id=call, timestamp=NOW)
            ],
            timestamp=NOW,
        ),
    ]


def turn(number: int, lines: int) -> list[ModelMessage]:
    """A prompt, ten calls with their results, and an answer: 22 messages."""
    prompt = UserPromptPart(content=f"Look at part {number}.", timestamp=NOW)
    return [
        ModelRequest(parts=[prompt], timestamp=NOW),
        *(message for n in range(10) for message in step(number * 10 + n, lines)),
        ModelResponse(parts=[TextPart(content=f"Part {number} is fine.")], timestamp=NOW),
    ]


async def build(path: Path, enough: Callable[[int, int], bool], *, lines: int) -> int:
    """Write a session whose live view is its last turns; gives its count of messages."""
    store = JsonlStore.create(path, HEADER, files=Unsynchronised())
    count, number, measured, accounts = 0, 0, Outline(), Accounts()
    while number < 5 or not enough(count, size_of(path)):
        messages = turn(number, lines)
        for start in (0, *range(1, len(messages), 2)):  # as a session does: prompt, steps, answer
            await store.commit(
                Commit(messages=tuple(messages[start : start + (2 if start else 1)]))
            )
        for message in messages:
            measured.append(measure(message))
        accounts.count_stored(messages, ())
        count, number = count + len(messages), number + 1
    cut = count - 4 * 22
    record = Checkpoint(
        id="00000000-0000-4000-8000-000000000001",
        base=None,
        first_kept_message_index=cut,
        history_message_count=count,
        summary="All is fine so far. " * 40,
        timestamp=1,
        provider="extractive",
        model="",
        prefix=measured.prefix(cut),
    )
    counted = Counted(messages=count, records=1, totals=accounts.totals)
    await store.commit(Commit(records=(record,), header=HeaderChanges(counted=counted)))
    await store.close()
    return count


async def opened(path: Path) -> AgentSession:
    """Open a session as a program would."""
    return await create_agent_session(
        session_manager=await SessionManager.open(path),
        model=ScriptedModel([Reply(text="Fine.")] * 2_000, window=1_000_000),
        tools=[],
        settings=SessionSettings(
            summarizer="extractive", limits=LimitChoices(window=1_000_000, max_output=16_000)
        ),
    )


async def commit_ms(paths: Sequence[Path]) -> list[float]:
    """Median time of storing one step durably in each file; by turns, so that noise is shared."""
    stores = [await JsonlStore.open(path) for path in paths]
    times: list[list[float]] = [[] for _ in paths]
    for number in range(101):
        commit = Commit(
            messages=tuple(step(9_000_000 + number, 60)), header=HeaderChanges(updated=number)
        )
        for store, measured in zip(stores, times, strict=True):
            started = time.perf_counter()
            await store.commit(commit)
            measured.append(time.perf_counter() - started)
    for store in stores:
        await store.close()
    return [statistics.median(measured) * 1_000 for measured in times]


async def open_ms(path: Path) -> float:
    """Median time until a session can be prompted."""
    times: list[float] = []
    for _ in range(5):
        started = time.perf_counter()
        session = await opened(path)
        times.append(time.perf_counter() - started)
        await session.dispose()
    return statistics.median(times) * 1_000


def parse_ms(path: Path) -> float:
    """Median time of reading the same file whole with pydantic-ai's own reader."""
    times: list[float] = []
    for _ in range(3):
        started = time.perf_counter()
        for line in path.read_bytes().splitlines()[1:]:
            if not line.startswith(b'{"kind":"commit",'):
                ModelMessagesTypeAdapter.validate_json(b"[" + line + b"]")
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1_000


async def prompt_ms(paths: Sequence[Path]) -> list[float]:
    """Median time of a prompt with a model that answers at once, stored durably; by turns."""
    sessions = [await opened(path) for path in paths]
    times: list[list[float]] = [[] for _ in paths]
    for number in range(61):
        for session, measured in zip(sessions, times, strict=True):
            started = time.perf_counter()
            await session.prompt(f"Go on {number}.")
            measured.append(time.perf_counter() - started)
    for session in sessions:
        await session.dispose()
    return [statistics.median(measured[5:]) * 1_000 for measured in times]


# --- memory --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peak:
    """Memory of a process that opened a session, gave it five prompts and compacted it."""

    above_imports_mb: float
    view_mb: float


def peak_rss_mb() -> float:
    """Peak memory of this program; ``getrusage`` on Linux counts what started it, too."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text("utf-8").splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1_024
    import resource  # noqa: PLC0415  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_048_576


async def work_in(path: Path) -> None:
    """Open, prompt, and print the peak."""
    Agent("test")
    small = path.with_name(f"warm-{path.name}")
    await build(small, lambda count, size: True, lines=60)
    await worked(small)
    before = peak_rss_mb()
    view = await worked(path)
    print(json.dumps([peak_rss_mb() - before, view / 1e6]))


async def worked(path: Path) -> int:
    """Give five prompts, and compact; gives the bytes of the live view before."""
    session = await opened(path)
    for number in range(5):
        await session.prompt(f"Go on {number}.")
    view = session.state.context_budget.size.bytes
    await session.compact()
    await session.dispose()
    return view


def memory_of(path: Path) -> Peak:
    """Measure in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, str(path)], check=True, stdout=subprocess.PIPE, text=True
    )
    return Peak(*json.loads(done.stdout))


# --- the table -----------------------------------------------------------------------------------


def main() -> None:
    """Print the figures beside their targets."""
    largest = int(os.environ.get("BENCH_MEGABYTES", MEGABYTES[-1]))
    sizes = [size for size in MEGABYTES if size <= largest]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{size}.jsonl" for size in sizes]
        for size, path in zip(sizes, paths, strict=True):
            asyncio.run(build(path, lambda _, stored, size=size: stored >= size * 1e6, lines=110))
        print(f"{'file':>8}{'open':>11}{'parse':>11}{'share':>8}{'memory':>11}")
        for size, path in zip(sizes, paths, strict=True):
            whole, opening = parse_ms(path), asyncio.run(open_ms(path))
            peak = memory_of(path)
            print(
                f"{size:>5} MB{opening:>8.0f} ms{whole:>8.0f} ms"
                f"{opening / whole:>8.0%}{peak.above_imports_mb:>8.0f} MB"
            )
        commits = asyncio.run(commit_ms(paths))
        print("\ncommit: " + ", ".join(f"{one:.2f} ms" for one in commits))
        print(f"commit, {sizes[-1]} MB ÷ 1 MB: {commits[-1] / commits[0]:.2f}   (target ≤ 1.5)")
        print(f"open ÷ parse at {sizes[-1]} MB: {opening / whole:.0%}   (target ≤ 10 %)")
        allowed = 2 * peak.view_mb + 64
        print(f"memory: {peak.above_imports_mb:.0f} MB   (target ≤ 2 × view + 64 = {allowed:.1f})")
        paths = [Path(folder) / f"m{count}.jsonl" for count in MESSAGES]
        for count, path in zip(MESSAGES, paths, strict=True):
            asyncio.run(build(path, lambda made, _, count=count: made >= count, lines=36))
        few, many = asyncio.run(prompt_ms(paths))
        print(f"prompt: {few:.1f} ms at 200 messages, {many:.1f} ms at 20,000")
        print(f"20,000 ÷ 200: {many / few:.2f}   (target ≤ 1.3)")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(work_in(Path(sys.argv[1])))
    else:
        main()
