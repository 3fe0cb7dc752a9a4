"""An agent session: one conversation with an agent that never loses a message."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pydantic_ai.messages import ModelMessage, UserContent

from palimpsest.core.errors import (
    InvalidSettingError,
    PendingSaveError,
    SaveFailedError,
    SessionDisposedError,
    SessionReadOnlyError,
)
from palimpsest.core.planning import NoCut
from palimpsest.core.receipt import Receipt
from palimpsest.core.receipt_reader import read_receipt
from palimpsest.core.record_codec import JsonObject
from palimpsest.core.records import Checkpoint, ViewState
from palimpsest.core.sources import Source, source_map
from palimpsest.formats.prompts import injected_parts
from palimpsest.models.engine_events import CompactionEnd
from palimpsest.models.resolve import ModelChoice, ResolvedModel
from palimpsest.models.restoring import Restored, preview_restore
from palimpsest.session.breakdown import ContextBreakdown, context_breakdown
from palimpsest.session.conversation import AgentBuilder, Conversation
from palimpsest.session.environment import Environment
from palimpsest.session.events import (
    Operation,
    SessionEvent,
)
from palimpsest.session.extensions import NO_EXTENSIONS, Extensions
from palimpsest.session.permissions import PermissionPreset
from palimpsest.session.running import OneAtATime
from palimpsest.session.settings import SessionSettings
from palimpsest.session.skills import skill_sources
from palimpsest.session.state import (
    ActiveCheckpoint,
    BudgetState,
    Lost,
    SessionState,
)
from palimpsest.session.store import Loaded, Store

_T = TypeVar("_T")

Listener = Callable[[SessionEvent], None]


class AgentSession:
    """One conversation, with a lock of its own: operations exclude each other.

    Refusals come in this order: disposed, busy, pending save. ``abort`` is always allowed.

    Attributes:
        path: the session's file, or None in memory.
    """

    def __init__(
        self,
        *,
        store: Store,
        loaded: Loaded,
        model: ResolvedModel,
        build_agent: AgentBuilder,
        settings: SessionSettings,
        environment: Environment,
        extensions: Extensions = NO_EXTENSIONS,
        path: Path | None = None,
    ) -> None:
        self.path = path
        self._servers = extensions.servers
        self._store = store
        self._read_only = loaded.read_only
        self._receipts: dict[str, JsonObject | Receipt] = dict(loaded.receipts)
        self._listeners: list[Listener] = []
        self._listener_errors: list[Exception] = []
        self._running = OneAtATime(self._on_settled)
        self._disposed = False
        self._conversation = Conversation(
            store=store,
            loaded=loaded,
            model=model,
            build_agent=build_agent,
            settings=settings,
            environment=environment,
            skills=extensions.skills,
            emit=self._emit,
        )

    # --- operations --------------------------------------------------------------------------

    async def prompt(
        self,
        text: str,
        *,
        attachments: Sequence[UserContent] = (),
        skills: Sequence[str] = (),
    ) -> str:
        """Give the agent a prompt and run it to the end; give its final answer.

        The prompt is stored when it is accepted, each step when it is complete.

        Args:
            text: what the person wrote.
            attachments: images and other content behind the text.
            skills: names of skills whose instructions are put in front, as they stand now.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError, SessionReadOnlyError:
                refused; nothing happened.
            InvalidSettingError: there is nothing in the prompt; nothing happened.
            UnknownSkillError: there is no such skill; nothing happened.
            McpServerError: a server did not start; the prompt was not accepted.
            ContextBudgetExceededError: a request does not fit and nothing made it fit.
            SaveFailedError: what was not stored stays pending.
            CancelledError: aborted; the step under way was completed and stored.
            ExceptionGroup: the run failed and so did the save at its end; both errors.
        """
        if not (text.strip() or attachments or skills):
            raise InvalidSettingError("text", text, "a prompt that says something")
        content: str | list[UserContent] = [text, *attachments] if attachments else text
        return await self._operate("prompt", lambda: self._prompt(content, skills))

    async def compact(self, focus: str = "") -> Checkpoint:
        """Summarise older turns now.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
            NothingToCompactError: there is nothing to summarise; nothing was called or written.
            FailureError: no summary was made.
            CancelledError: aborted.
        """
        return await self._operate("compact", lambda: self._conversation.compact(focus))

    async def restore(self, checkpoint_id: str | None, *, outputs: bool = False) -> Restored:
        """Make an earlier checkpoint, or none, the active one; nothing is deleted.

        Args:
            checkpoint_id: of ``get_compactions``, or None for the full history.
            outputs: show cleared and trimmed tool outputs again, too.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
            UnknownCheckpointError: there is no such checkpoint.
            SessionFileError: the messages behind its cut cannot be read.
        """
        return await self._operate(
            "restore", lambda: self._conversation.restore(checkpoint_id, outputs=outputs)
        )

    async def preview_restore(
        self, checkpoint_id: str | None, *, outputs: bool = False
    ) -> Restored:
        """Say whether the view that ``restore`` would show fits; nothing is changed.

        Raises:
            UnknownCheckpointError: there is no such checkpoint.
            SessionFileError: the messages behind its cut cannot be read.
        """
        talk = self._conversation
        return await preview_restore(
            talk.engine, checkpoint_id, talk.side.next_limits(), outputs=outputs
        )

    async def flush(self) -> None:
        """Try a failed save again; nothing is generated and no tool runs.

        Raises:
            SessionDisposedError, SessionBusyError: refused.
            SaveFailedError: it stays pending.
        """
        await self._operate("flush", self._conversation.flush, while_pending=True)

    async def set_model(self, model: ModelChoice) -> None:
        """Use another model from the next prompt on.

        A view that exceeds the new model's limit is compacted with the old one first; if that
        fails or is cancelled, the old model stays.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
            UnknownModelError, MissingKeyError, MissingExtraError: the model cannot be had.
            ContextBudgetExceededError: the view does not fit the new model.
        """
        await self._operate("configure", lambda: self._conversation.set_model(model))

    async def set_title(self, title: str) -> None:
        """Name the session.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
        """
        await self._operate("configure", lambda: self._conversation.set_title(title))

    async def set_permission_preset(self, preset: PermissionPreset) -> None:
        """Change what tools may do without asking, from the next prompt on.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
            InvalidSettingError: there is no such preset.
        """
        await self._operate("configure", lambda: self._conversation.set_permission_preset(preset))

    async def abort(self) -> None:
        """Interrupt what is under way, and return when all is settled.

        From inside the run (a tool, a listener) it only requests, and returns at once.
        """
        await self._running.abort()

    async def wait_for_idle(self) -> None:
        """Return once no operation is under way."""
        await self._running.wait()

    async def dispose(self, *, discard_pending: bool = False) -> Lost | None:
        """Close the session; a second call does nothing.

        Args:
            discard_pending: give up what could not be saved.

        Returns:
            What was given up, or None if nothing was.

        Raises:
            SessionBusyError: an operation is under way.
            PendingSaveError: a failed save waits, and may not be given up.
        """
        if self._disposed:
            return None
        self._running.refuse_busy()
        if not discard_pending:
            self._refuse_pending()
        lost = self._conversation.journal.discard()
        self._disposed = True
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._store.close)
            stack.push_async_callback(self._conversation.side.close)
            stack.push_async_callback(self._servers.close)
        return (
            None if lost is None else Lost(messages=len(lost.messages), records=len(lost.records))
        )

    async def __aenter__(self) -> Self:
        """Give the session itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Abort, try once to save what is pending, and dispose; the body's error comes first."""
        await self.abort()
        if self._conversation.journal.pending is not None and not self._disposed:
            try:
                await self.flush()
            except SaveFailedError:
                if error is None:
                    await self.dispose(discard_pending=True)
                    raise
        await self.dispose(discard_pending=True)

    # --- reading -----------------------------------------------------------------------------

    @property
    def messages(self) -> Sequence[ModelMessage]:
        """The whole history as it stands, originals; not to be changed.

        Those before the cut are read from the store when they are looked at, which blocks, and
        raises ``StoreClosedError`` after ``dispose``.
        """
        history = self._conversation.engine.timeline.history
        return history.holding(history.first)

    @property
    def id(self) -> str:
        """UUID of the session."""
        return self._conversation.header.id

    @property
    def cwd(self) -> str:
        """The folder it works in."""
        return self._conversation.header.cwd

    @property
    def view_state(self) -> ViewState:
        """What all records add up to: the active checkpoint, and outputs cleared and trimmed."""
        return self._conversation.engine.timeline.view.state

    async def skill_names(self) -> Sequence[str]:
        """Give the skills that a prompt may name, as they stand now, in alphabetical order."""
        return await self._conversation.skills.names()

    def get_compactions(self) -> tuple[Checkpoint, ...]:
        """Give every checkpoint, oldest first, one that waits to be saved included."""
        return tuple(self._conversation.engine.timeline.checkpoints.values())

    def get_receipt(self, checkpoint_id: str) -> Receipt | None:
        """Give the receipt of a compaction; None where there is none.

        Raises:
            InvalidRecordError: what was stored is no receipt.
        """
        receipt = self._receipts.get(checkpoint_id)
        return read_receipt(receipt) if isinstance(receipt, dict) else receipt

    def context_breakdown(self) -> ContextBreakdown:
        """Divide the context meter's number by what stands in the next request."""
        talk = self._conversation
        limits, timeline = talk.side.next_limits(), talk.engine.timeline
        view = timeline.view
        shown = [at for at in timeline.outline.prompts if at >= view.cut or at == view.prompt_index]
        return context_breakdown(
            view,
            talk.side.fixed,
            skill_parts={at: injected_parts(timeline.history[at]) for at in shown},
            total=talk.engine.size(limits).tokens,
            budget=limits.budget,
        )

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where each row of the newest request came from, first to last; no text of it.

        Made anew with every request, also one that is sent again after it was too long; empty
        before the first one since the session was opened.
        """
        skills = skill_sources(self._conversation.header.skill_snapshots)
        return source_map(self._conversation.engine.dispatched, skills)

    @property
    def state(self) -> SessionState:
        """A snapshot; computing it does not depend on the length of the history."""
        talk = self._conversation
        limits = talk.side.next_limits()
        planned = talk.engine.can_compact(limits.budget)
        checkpoint = talk.engine.timeline.view.state.checkpoint
        return SessionState(
            message_count=len(talk.engine.timeline.history),
            outcome=self._running.outcome,
            operation=self._running.operation,
            has_pending_save=talk.journal.pending is not None,
            context_budget=BudgetState(
                budget=limits.budget,
                size=talk.engine.size(limits),
                window_source=str(talk.side.limits.window),
                calibrated=talk.engine.meter.anchor is not None,
            ),
            compaction_available=not isinstance(planned, NoCut),
            compaction_unavailable_because=str(planned) if isinstance(planned, NoCut) else "",
            active_compaction=talk.compaction,
            compaction=None if checkpoint is None else _active(checkpoint),
            pending_approvals=talk.approvals.requests,
            totals=talk.accounts.totals,
            running_tools=() if talk.run is None else talk.run.running_tools,
            model=talk.side.resolved.name,
            title=talk.header.title,
            permission_preset=talk.approvals.preset,
            read_only=self._read_only,
            error=self._running.error,
        )

    def answer_approval(self, request_id: str, *, approved: bool) -> bool:
        """Answer an open request of the run; False where it is not open any more."""
        return self._conversation.approvals.answer(request_id, approved=approved)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every event from now on; give what ends that.

        Listeners are called one after another where the event happens, so one that blocks holds
        up the session and every other listener: hand work over, and return. What a listener raises
        is collected in ``listener_errors``, and never stops a run.
        """
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    @property
    def listener_errors(self) -> tuple[Exception, ...]:
        """What listeners raised, oldest first."""
        return tuple(self._listener_errors)

    # --- running -----------------------------------------------------------------------------

    async def _operate(
        self,
        operation: Operation,
        work: Callable[[], Coroutine[object, object, _T]],
        *,
        while_pending: bool = False,
    ) -> _T:
        if self._disposed:
            raise SessionDisposedError
        self._running.refuse_busy()
        if not while_pending:
            self._refuse_pending()
        if self._read_only:
            raise SessionReadOnlyError("The session" if self.path is None else str(self.path))
        return await self._running.run(operation, work)

    async def _prompt(self, content: str | list[UserContent], skills: Sequence[str]) -> str:
        async with self._servers.connected():
            return await self._conversation.prompt(content, skills)

    def _refuse_pending(self) -> None:
        pending = self._conversation.journal.pending
        if pending is not None:
            raise PendingSaveError(len(pending.messages), len(pending.records))

    def _on_settled(self, event: SessionEvent) -> None:
        self._conversation.compaction = None
        self._conversation.release()
        self._emit(event)

    def _emit(self, event: SessionEvent) -> None:
        if isinstance(event, CompactionEnd) and event.checkpoint and event.receipt:
            self._receipts[event.checkpoint] = event.receipt
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:
                self._listener_errors.append(error)


def _active(checkpoint: Checkpoint) -> ActiveCheckpoint:
    return ActiveCheckpoint(
        id=checkpoint.id,
        first_kept_message_index=checkpoint.first_kept_message_index,
        history_message_count=checkpoint.history_message_count,
        timestamp=checkpoint.timestamp,
    )
