"""Sessions for tests: a scripted model, a store, and what happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic_ai import Agent

from palimpsest.models.engine import EngineSettings
from palimpsest.models.limits import NO_CHOICES, LimitChoices
from palimpsest.models.resolve import resolve_model
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.approvals import Approvals
from palimpsest.session.environment import Environment
from palimpsest.session.events import SessionEvent
from palimpsest.session.extensions import Extensions
from palimpsest.session.guards import guard_capabilities
from palimpsest.session.memory import MemoryStore
from palimpsest.session.resuming import load_live
from palimpsest.session.settings import SessionSettings
from palimpsest.session.skills import DirectorySkills
from palimpsest.session.store import Loaded, Store
from palimpsest.storage.header import SessionHeader
from palimpsest.testing import Call, FrozenClock, Reply, ScriptedModel

HEADER = SessionHeader(
    id="0f0e0d0c-0000-4000-8000-000000000000", cwd="/project", created=1, updated=1
)


class CountingEnvironment:
    """A frozen clock and ids that count."""

    def __init__(self, first_id: int = 0) -> None:
        self._clock = FrozenClock()
        self._ids = first_id

    def now(self) -> datetime:
        return self._clock()

    def now_ms(self) -> int:
        return int(self.now().timestamp() * 1000)

    def new_id(self) -> str:
        self._ids += 1
        return f"00000000-0000-4000-8000-{self._ids:012d}"


@dataclass
class Rig:
    """A session under test and everything it said."""

    session: AgentSession
    model: ScriptedModel
    store: Store
    events: list[SessionEvent] = field(default_factory=list)
    tool_runs: list[str] = field(default_factory=list)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.kind == kind]


async def rig(
    script: Iterable[Any],
    *,
    window: int = 16_000,
    tools: dict[str, Callable[..., Any]] | None = None,
    approving: frozenset[str] = frozenset(),
    store: Store | None = None,
    engine: EngineSettings | None = None,
    summarizer: Any = "extractive",
    instructions: str = "Rules",
    first_id: int = 0,
    skill_directories: tuple[str, ...] = (),
    max_output: int = 1_024,
    byte_limit: int | None = None,
    calibrates: bool = True,
    choose_limits: bool = True,
    scripted: ScriptedModel | None = None,
    load: Callable[[Store], Awaitable[Loaded]] = load_live,
    environment: Environment | None = None,
    **model: Any,
) -> Rig:
    """Open a session over a scripted model; ``read`` gives as many characters as asked."""
    scripted = scripted or ScriptedModel(script, window=window, **model)
    chosen = LimitChoices(window=window, max_output=max_output, byte_limit=byte_limit)
    held: Store = store or MemoryStore(HEADER)
    runs: list[str] = []

    async def read(characters: int = 40, name: str = "") -> str:
        runs.append(name)
        return f"{name}:" + "x" * characters

    def build(approvals: Approvals) -> Agent[None, str]:
        agent = Agent(
            None,
            instructions=instructions or None,
            capabilities=guard_capabilities(approvals, preset="full-access", sandboxed=False),
        )
        for name, tool in {"read": read, **(tools or {})}.items():
            agent.tool_plain(name=name, requires_approval=name in approving)(tool)
        return agent

    session = AgentSession(
        store=held,
        loaded=await load(held),
        model=resolve_model(scripted),
        build_agent=build,
        settings=SessionSettings(
            limits=chosen if choose_limits else NO_CHOICES,
            summarizer=summarizer,
            engine=engine or EngineSettings(),
            calibrates=calibrates,
        ),
        environment=environment or CountingEnvironment(first_id),
        extensions=Extensions(skills=DirectorySkills(cwd=Path(), directories=skill_directories)),
    )
    found = Rig(session=session, model=scripted, store=held, tool_runs=runs)
    session.subscribe(found.events.append)
    return found


def read(name: str, characters: int) -> Reply:
    """A reply that calls ``read`` once."""
    return Reply(calls=(Call(tool="read", arguments={"characters": characters, "name": name}),))


def work(turns: int, *, steps: int = 2, characters: int = 4_000, prose: int = 0) -> list[Reply]:
    """Replies for so many prompts: some reads each, then so many characters of prose."""
    script: list[Reply] = []
    for turn in range(turns):
        script += [read(f"t{turn}s{step}", characters) for step in range(steps)]
        script.append(Reply(text=f"turn {turn} is done" + " really" * (prose // 7)))
    return script
