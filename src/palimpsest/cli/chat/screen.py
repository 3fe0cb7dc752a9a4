"""Session events become what is on the screen; pure.

A screen has two parts: blocks, printed once into the terminal's own scrollback, and what is alive
below them: the reply under way, running tools, a compaction, open approvals and queued prompts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from palimpsest.cli.chat.blocks import (
    Block,
    CompactedBlock,
    NoticeBlock,
    PromptBlock,
    ProseBlock,
    ToolBlock,
)
from palimpsest.cli.words import call_words, short_tokens
from palimpsest.core.receipt import CompactionTrigger
from palimpsest.core.wording import count
from palimpsest.models.engine_events import (
    CompactionEnd,
    CompactionProgress,
    CompactionStart,
    ContextBudget,
    EngineEvent,
    Pruned,
)
from palimpsest.session.events import (
    ApprovalRequested,
    ApprovalResolved,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Operation,
    RestoredView,
    SessionEvent,
    Settled,
    ToolEnd,
    ToolStart,
)

SplitProse: TypeAlias = Callable[[str], tuple[str, str]]
"""Parts markdown into what is complete and what may still change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTool:
    """A tool call without a result yet; ``started_at`` in ms since the epoch."""

    call_id: str
    call: str
    started_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacting:
    """A compaction under way.

    Attributes:
        started_at: ms since the epoch.
        tokens: size of the request that is made smaller.
        call: which summary call is under way, from 1; 0 before the first.
        calls: how many there will be.
    """

    started_at: int
    tokens: int
    trigger: CompactionTrigger
    call: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What is alive on the screen.

    Attributes:
        operation: what is under way, or None.
        started_at: since when, ms since the epoch.
        prose: text of the reply under way that is not printed yet.
        replying: whether the reply under way has begun to say something.
        queue: prompts typed while busy, oldest first.
        held: the queue waits for the person, because a run failed or was stopped.
    """

    operation: Operation | None = None
    started_at: int = 0
    prose: str = ""
    replying: bool = False
    tools: tuple[RunningTool, ...] = ()
    approvals: tuple[ApprovalRequested, ...] = ()
    compacting: Compacting | None = None
    queue: tuple[str, ...] = ()
    held: bool = False

    @property
    def next_queued(self) -> str | None:
        """The prompt that may be sent now, or None."""
        if self.operation is not None or self.held or not self.queue:
            return None
        return self.queue[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the session was like when an event happened.

    Attributes:
        now_ms: since the epoch.
        context_tokens: what the context meter showed.
    """

    now_ms: int
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A new screen, and what to print above it."""

    screen: Screen
    blocks: tuple[Block, ...] = ()


# --- what the person does -------------------------------------------------------------------------


def begun(screen: Screen, operation: Operation, *, now_ms: int, prompt: str = "") -> Step:
    """An operation begins; a prompt is shown as it was sent."""
    blocks = (PromptBlock(text=prompt),) if prompt else ()
    return Step(screen=replace(screen, operation=operation, started_at=now_ms), blocks=blocks)


def queued(screen: Screen, text: str) -> Screen:
    """A prompt was typed while busy."""
    return replace(screen, queue=(*screen.queue, text))


def sent_from_queue(screen: Screen) -> Screen:
    """The oldest queued prompt leaves the queue."""
    return replace(screen, queue=screen.queue[1:])


def taken_back(screen: Screen) -> Screen:
    """The newest queued prompt goes back to the person."""
    queue = screen.queue[:-1]
    return replace(screen, queue=queue, held=screen.held and bool(queue))


def released(screen: Screen) -> Screen:
    """The person lets the queue go on."""
    return replace(screen, held=False)


# --- what the session does ------------------------------------------------------------------------


def reduce(screen: Screen, event: SessionEvent, moment: Moment, split: SplitProse) -> Step:
    """Take in one event."""
    match event:
        case MessageStart():
            return Step(screen=replace(screen, prose="", replying=False))
        case MessageUpdate(channel="thinking"):
            return Step(screen=screen)
        case MessageUpdate(delta=delta):
            return _more_prose(screen, delta, split)
        case MessageEnd():
            return _message_end(screen, event)
        case ToolStart():
            tool = RunningTool(
                call_id=event.call_id,
                call=call_words(event.tool_name, event.arguments),
                started_at=moment.now_ms,
            )
            return Step(screen=replace(screen, tools=(*screen.tools, tool)))
        case ToolEnd():
            return _tool_end(screen, event)
        case ApprovalRequested():
            return Step(screen=replace(screen, approvals=(*screen.approvals, event)))
        case ApprovalResolved():
            return _approval_resolved(screen, event)
        case (
            Pruned() | CompactionStart() | CompactionProgress() | CompactionEnd() | ContextBudget()
        ):
            return _engine_event(screen, event, moment)
        case RestoredView():
            return Step(screen=screen, blocks=(_restored(event),))
        case Settled():
            return _settled(screen, event)
        case _:
            assert_never(event)


def _engine_event(screen: Screen, event: EngineEvent, moment: Moment) -> Step:
    match event:
        case CompactionStart():
            compacting = Compacting(
                started_at=event.started_at, tokens=moment.context_tokens, trigger=event.trigger
            )
            return Step(screen=replace(screen, compacting=compacting))
        case CompactionProgress():
            return Step(screen=_progress(screen, event))
        case CompactionEnd():
            return Step(screen=replace(screen, compacting=None), blocks=(_compaction_end(event),))
        case Pruned():
            return Step(screen=screen, blocks=(_pruned(event),))
        case ContextBudget():
            return Step(screen=screen, blocks=_context_budget(event))
        case _:
            assert_never(event)


def _more_prose(screen: Screen, delta: str, split: SplitProse) -> Step:
    prose = screen.prose + delta
    complete = ""
    if "\n" in delta:
        complete, prose = split(prose)
    blocks = (ProseBlock(markdown=complete),) if complete.strip() else ()
    return Step(screen=replace(screen, prose=prose, replying=True), blocks=blocks)


def _message_end(screen: Screen, event: MessageEnd) -> Step:
    blocks: list[Block] = []
    if screen.prose.strip():
        blocks.append(ProseBlock(markdown=screen.prose))
    if event.truncated:
        text = "The answer was cut off: the context window is full."
        blocks.append(NoticeBlock(text=text, tone="warning"))
    return Step(screen=replace(screen, prose="", replying=False), blocks=tuple(blocks))


def _tool_end(screen: Screen, event: ToolEnd) -> Step:
    started = next((tool for tool in screen.tools if tool.call_id == event.call_id), None)
    block = ToolBlock(
        call=event.tool_name if started is None else started.call,
        tokens=-(-event.characters // 4),
        outcome=event.outcome,
    )
    tools = tuple(tool for tool in screen.tools if tool.call_id != event.call_id)
    return Step(screen=replace(screen, tools=tools), blocks=(block,))


def _approval_resolved(screen: Screen, event: ApprovalResolved) -> Step:
    waiting = tuple(item for item in screen.approvals if item.request_id != event.request_id)
    return Step(screen=replace(screen, approvals=waiting))


def _progress(screen: Screen, event: CompactionProgress) -> Screen:
    if screen.compacting is None:
        return screen
    return replace(
        screen, compacting=replace(screen.compacting, call=event.call, calls=event.calls)
    )


def _compaction_end(event: CompactionEnd) -> Block:
    if event.receipt is not None:
        return CompactedBlock(receipt=event.receipt)
    if event.error:
        return NoticeBlock(text=f"Compaction came to nothing: {event.error}", tone="warning")
    return NoticeBlock(text="Compaction stopped. Nothing was changed.")


def _pruned(event: Pruned) -> Block:
    freed = f" · {short_tokens(event.tokens_reclaimed)} freed" if event.tokens_reclaimed else ""
    what = count(event.outputs, "old tool output")
    return NoticeBlock(text=f"cleared {what} from the view{freed} · still in /history")


_SAID_BY_OTHERS = frozenset({"calm", "compacted", "refused", "stopped", "held"})
"""Decisions that need no sentence here: nothing happened, or other events and errors say it."""


def _context_budget(event: ContextBudget) -> tuple[Block, ...]:
    if event.decision in _SAID_BY_OTHERS or not event.reason:
        return ()
    share = round(100 * event.size.tokens / event.budget.window)
    reason = f"The context is at {share} % of the window: {event.reason}"
    return (NoticeBlock(text=reason, tone="warning"),)


def _restored(event: RestoredView) -> Block:
    what = "the whole history" if event.checkpoint is None else f"compaction {event.checkpoint[:8]}"
    outputs = ", with cleared outputs" if event.outputs_shown else ""
    waits = "Automatic compaction waits until a request does not fit."
    return NoticeBlock(text=f"restored {what}{outputs}. {waits}", tone="good")


def _settled(screen: Screen, event: Settled) -> Step:
    blocks: list[Block] = []
    if screen.prose.strip():
        blocks.append(ProseBlock(markdown=screen.prose))
    if event.outcome == "error":
        blocks.append(NoticeBlock(text=event.error, tone="error"))
        if event.error_code == "save_failed":
            text = "Nothing is lost: /flush tries to save again. New work waits until then."
            blocks.append(NoticeBlock(text=text, tone="warning"))
    elif event.outcome == "cancelled" and event.operation != "compact":
        blocks.append(NoticeBlock(text="Stopped. What was complete is kept."))
    held = screen.held or (event.outcome in {"error", "cancelled"} and bool(screen.queue))
    if held and not screen.held:
        wait = "waits" if len(screen.queue) == 1 else "wait"
        waiting = f"{count(len(screen.queue), 'prompt')} {wait}"
        text = f"{waiting}: Enter sends the next, ↑ takes one back."
        blocks.append(NoticeBlock(text=text))
    return Step(
        screen=Screen(queue=screen.queue, held=held),
        blocks=tuple(blocks),
    )
