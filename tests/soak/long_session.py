"""A session that is worked in for thousands of turns, over real files, and what is known of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.models.limits import LimitChoices
from palimpsest.models.resolve import resolve_model
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.approvals import Approvals
from palimpsest.session.conversation import AgentBuilder
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.resuming import load_live
from palimpsest.session.settings import SessionSettings
from palimpsest.session.store import Commit, Loaded, Store
from palimpsest.storage.files import Files
from palimpsest.testing import Call, Reply, ScriptedModel
from tests.session.helpers import HEADER, CountingEnvironment

WINDOW = 16_000
WORDS = ("the", "parser", "reads", "src/app/module.py", "returns", "0x1f", "line", "42", "tests")


def words(*key: object, count: int) -> str:
    """Text that its key decides."""
    return " ".join(Random(repr(key)).choices(WORDS, k=count))


def tool_output(name: str, count: int) -> str:
    return f"{name}: {words('output', name, count=count)}"


class Forgetful(ScriptedModel):
    """Remembers the newest request only, as a model elsewhere would."""

    def forget(self) -> None:
        del self.requests[:-1]


class Watched:
    """A store that notes where each commit of a turn begins and ends in its file."""

    def __init__(self, store: JsonlStore, path: Path) -> None:
        self._store, self._path = store, path
        self.commits: list[tuple[int, int]] = []

    async def load(self) -> Loaded:
        return await self._store.load()

    async def load_tail(self, first_message_index: int | None = None) -> Loaded:
        return await self._store.load_tail(first_message_index)

    async def read_range(self, start: int, stop: int) -> Iterable[ModelMessage]:
        return await self._store.read_range(start, stop)

    async def commit(self, commit: Commit) -> None:
        before = self._path.stat().st_size if self._path.exists() else 0
        await self._store.commit(commit)
        self.commits.append((before, self._path.stat().st_size))

    async def close(self) -> None:
        await self._store.close()


class LongSession:
    """A seeded session; all that is said in it is known before, so that it can be compared."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.turns = 0
        self.tool_runs = 0
        self.said = hashlib.sha256()
        self._chance = Random(seed)
        self._compactions: list[str] = []

    async def open(self, *, files: Files, read_only: bool = False) -> AgentSession:
        """Open the file, or make it."""
        if self.path.exists():
            store = await JsonlStore.open(self.path, files=files, read_only=read_only)
        else:
            store = JsonlStore.create(self.path, HEADER, files=files)
        self.store = Watched(store, self.path)
        self.model = Forgetful(self._script(), window=WINDOW)
        return await opened(self.store, self.model, self._agent, first_id=self.turns * 1_000)

    async def turn(self, session: AgentSession) -> None:
        """Give one prompt."""
        self.store.commits.clear()
        prompt = f"turn {self.turns}: {words('prompt', self.turns, count=20)}"
        self.said.update(prompt.encode())
        await session.prompt(prompt)
        self.turns += 1
        self.model.forget()

    def _script(self) -> Iterator[Reply]:
        while True:
            for step in range(self._chance.randint(1, 3)):
                names = [f"t{self.turns}s{step}c{n}" for n in range(self._chance.randint(1, 2))]
                counts = [self._chance.randint(20, 600) for _ in names]
                for name, count in zip(names, counts, strict=True):
                    self.said.update(f"{name}{count}".encode())
                for name, count in zip(names, counts, strict=True):
                    self.said.update(tool_output(name, count).encode())
                yield Reply(
                    calls=tuple(
                        Call(tool="read", arguments={"name": name, "count": count}, id=name)
                        for name, count in zip(names, counts, strict=True)
                    )
                )
            text = words("answer", self.turns, count=self._chance.randint(10, 200))
            self.said.update(text.encode())
            yield Reply(text=text)

    def _agent(self, _: Approvals) -> Agent[None, str]:
        agent = Agent(None, instructions="Work on.")

        @agent.tool_plain
        async def read(name: str, count: int) -> str:
            self.tool_runs += 1
            return tool_output(name, count)

        return agent


async def opened(
    store: Store, model: ScriptedModel, build: AgentBuilder, *, first_id: int
) -> AgentSession:
    return AgentSession(
        store=store,
        loaded=await load_live(store),
        model=resolve_model(model),
        build_agent=build,
        settings=SessionSettings(
            limits=LimitChoices(window=WINDOW, max_output=1_024), summarizer="extractive"
        ),
        environment=CountingEnvironment(first_id),
    )


def view_bytes(session: AgentSession) -> bytes:
    """What the model would be sent."""
    return ModelMessagesTypeAdapter.dump_json(session._conversation.engine.timeline.messages())


def said_in(messages: Iterable[ModelMessage]) -> str:
    """The hash of all that was said, in order, as ``LongSession.said`` has it."""
    digest = hashlib.sha256()
    for message in messages:
        for part in message.parts:
            match part:
                case UserPromptPart(content=str(text)) | TextPart(content=text):
                    digest.update(text.encode())
                case ToolCallPart():
                    arguments = part.args_as_dict()
                    digest.update(f"{arguments['name']}{arguments['count']}".encode())
                case ToolReturnPart(content=str(text)):
                    digest.update(text.encode())
                case _:
                    raise AssertionError(part)
    return digest.hexdigest()
