"""A scripted agent works with real tools in a small window; what became of every original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

from pydantic_ai.messages import ModelMessage

from palimpsest.core.budget import DEFAULT_WINDOW_TOKENS
from palimpsest.lab.originals import Originals
from palimpsest.lab.story import Story
from palimpsest.models.engine_events import CompactionEnd, ContextBudget, Pruned
from palimpsest.models.limits import LimitChoices, request_fixed_measure
from palimpsest.models.script import Reply
from palimpsest.models.scripted import ScriptedModel
from palimpsest.models.seen import message_tokens
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.create import create_agent_session
from palimpsest.session.events import SessionEvent
from palimpsest.session.manager import SessionManager
from palimpsest.session.settings import SessionSettings
from palimpsest.session.state import BudgetState

MODEL_NAME = "scripted:offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Is told what happens, as it happens.

    Attributes:
        on_prompt: the prompt that is about to be given.
        on_event: an event of the session, and its context meter at that moment.
    """

    on_prompt: Callable[[str], None]
    on_event: Callable[[SessionEvent, BudgetState], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a played session came to; sizes are estimated tokens.

    Attributes:
        window: of the model.
        messages: of the history, as they were when they happened.
        intact: those that the file still has at their place with the same SHA-256.
        original_tokens: of the whole history.
        requests: main requests of the model.
        largest_request: of them.
        most_that_fits: what a request could hold at most.
        sent_tokens: of all of them.
        whole_tokens: what they would have come to, had each carried the whole history.
        whole_over: requests that would not have fit then.
        compactions: checkpoints that were saved.
        outputs_cleared: tool outputs that pruning cleared, each counted once.
    """

    window: int
    messages: int
    intact: int
    original_tokens: int
    requests: int
    largest_request: int
    most_that_fits: int
    sent_tokens: int
    whole_tokens: int
    whole_over: int
    compactions: int
    outputs_cleared: int


@dataclass(slots=True)
class _Tally:
    """Counts what happens, and remembers the originals."""

    originals: Originals = field(default_factory=Originals)
    sizes: list[int] = field(default_factory=list[int])
    counts: list[int] = field(default_factory=list[int])
    compactions: int = 0
    outputs_cleared: int = 0
    most_that_fits: int = 0

    def note(self, event: SessionEvent, message_count: int) -> None:
        match event:
            case ContextBudget():
                self.counts.append(message_count)
                self.most_that_fits = event.budget.input_limit
            case CompactionEnd(checkpoint=str()):
                self.compactions += 1
            case Pruned():
                self.outputs_cleared += event.outputs
            case _:
                pass

    def remember(self, history: Sequence[ModelMessage]) -> None:
        self.sizes += map(message_tokens, history[len(self.sizes) :])
        self.originals.remember(history)


async def play(
    story: Story, *, window: int, project: Path, session_file: Path, watcher: Watcher
) -> Played:
    """Let the scripted agent do its work in a session with the tools of a coding agent.

    Args:
        story: the project's files and the work.
        window: context window, tokens.
        project: an empty folder.
        session_file: where the session is stored; it must not exist yet.
        watcher: is told what happens.

    Raises:
        MissingExtraError: the coding tools are not installed.
        ContextBudgetExceededError: the window is too small for the work.
    """
    story.write_project(project)
    model = story_model(story, window=window)
    manager = SessionManager.create(project, path=session_file)
    tally = _Tally()
    async with await open_story(model, manager) as session:

        def listen(event: SessionEvent) -> None:
            state = session.state
            tally.note(event, state.message_count)
            watcher.on_event(event, state.context_budget)

        session.subscribe(listen)
        for task in story.tasks:
            watcher.on_prompt(task.prompt)
            await session.prompt(task.prompt)
            tally.remember(session.messages)
        if session.listener_errors:
            raise session.listener_errors[0]
    return _played(model, tally, window, session_file)


def story_model(story: Story, *, window: int, encores: Sequence[Reply] = ()) -> ScriptedModel:
    """Give the model that says what the story's agent says, and then the encores."""
    return ScriptedModel(
        [*(reply for task in story.tasks for reply in task.replies), *encores],
        window=window,
        name=MODEL_NAME,
        clock=lambda: datetime.now(tz=UTC),
    )


async def open_story(model: ScriptedModel, manager: SessionManager) -> AgentSession:
    """Open a session in which a story's agent works with the tools of a coding agent.

    Raises:
        MissingExtraError: the coding tools are not installed.
    """
    window = model.context_window or DEFAULT_WINDOW_TOKENS
    settings = SessionSettings(
        summarizer="extractive",
        permission_preset="full-access",  # the commands are ours, and the folder is scratch
        limits=LimitChoices(window=window, max_output=window // 8),
    )
    return await create_agent_session(session_manager=manager, model=model, settings=settings)


def _played(model: ScriptedModel, tally: _Tally, window: int, session_file: Path) -> Played:
    sizes = [request.tokens for request in model.requests]
    fixed = [
        request_fixed_measure(request.parameters, request.instructions).tokens
        for request in model.requests
    ]
    ends = [0, *accumulate(tally.sizes)]
    whole = [overhead + ends[count] for overhead, count in zip(fixed, tally.counts, strict=True)]
    return Played(
        window=window,
        messages=len(tally.originals),
        intact=tally.originals.count_intact(session_file),
        original_tokens=ends[-1],
        requests=len(sizes),
        largest_request=max(sizes),
        most_that_fits=tally.most_that_fits,
        sent_tokens=sum(sizes),
        whole_tokens=sum(whole),
        whole_over=sum(size > tally.most_that_fits for size in whole),
        compactions=tally.compactions,
        outputs_cleared=tally.outputs_cleared,
    )
