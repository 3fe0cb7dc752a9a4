"""Doubles of sessions' tests: summarisers that keep or refuse, and a store that waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import SummaryRejectedError
from palimpsest.core.records import SummaryUsage
from palimpsest.models.summarizer import GeneratedSummary, SummaryJob
from palimpsest.session.store import Commit, Loaded, Store
from palimpsest.testing import Gate


@dataclass
class KeepingSummarizer:
    """Writes one text, and keeps what it was asked."""

    text: str = "## Goal\nGo on."
    jobs: list[SummaryJob] = field(default_factory=list[SummaryJob])
    gate: Gate | None = None

    async def summarise(self, job: SummaryJob) -> GeneratedSummary:
        self.jobs.append(job)
        if self.gate is not None:
            await self.gate.wait()
        return GeneratedSummary(text=self.text, provider="kept", calls=1)


@dataclass
class RefusingSummarizer:
    """Fails so many times (None: for ever), then writes."""

    times: int | None = None
    calls: int = 0
    usage: SummaryUsage | None = None

    async def summarise(self, job: SummaryJob) -> GeneratedSummary:
        self.calls += 1
        if self.times is None or self.calls <= self.times:
            raise SummaryRejectedError("the reply is blank", self.usage)
        return GeneratedSummary(text="## Goal\nGo on.", provider="kept")


@dataclass
class WatchedStore:
    """A store that notes every commit, and holds back the one with a checkpoint."""

    store: Store
    gate: Gate | None = None
    commits: list[Commit] = field(default_factory=list[Commit])

    async def load(self) -> Loaded:
        return await self.store.load()

    async def load_tail(self, first_message_index: int | None = None) -> Loaded:
        return await self.store.load_tail(first_message_index)

    async def read_range(self, start: int, stop: int) -> Sequence[ModelMessage]:
        return await self.store.read_range(start, stop)

    async def commit(self, commit: Commit) -> None:
        self.commits.append(commit)
        if self.gate is not None and any(record.kind == "checkpoint" for record in commit.records):
            await self.gate.wait()
        await self.store.commit(commit)

    async def close(self) -> None:
        await self.store.close()


def write_skill(folder: Path, name: str, body: str) -> None:
    """Put a skill into a directory of skills."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: how to {name}\n---\n{body}\n"
    (folder / name / "SKILL.md").write_text(text, encoding="utf-8")
