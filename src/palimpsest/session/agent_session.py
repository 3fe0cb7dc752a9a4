"""An agent session: one conversation with an agent that never loses a message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

from palimpsest.core.budget import NOTHING, Budget
from palimpsest.core.calibration import Meter
from palimpsest.core.errors import (
    NothingToCompactError,
    PalimpsestError,
    PendingSaveError,
    SaveFailedError,
    SessionBusyError,
    SessionDisposedError,
)
from palimpsest.core.planning import NoCut
from palimpsest.core.receipt import Receipt
from palimpsest.core.records import Checkpoint, Record
from palimpsest.models.candidates import CandidateMaker
from palimpsest.models.cap import cap_request
from palimpsest.models.engine import Engine, Limits, Restored
from palimpsest.models.engine_events import CompactionEnd, CompactionStart, EngineEvent
from palimpsest.models.engine_model import EngineModel, Outgoing, RequestLimits
from palimpsest.models.limits import Limit, ModelLimits, model_limits, request_fixed_measure
from palimpsest.models.model_summarizer import ModelSummarizer
from palimpsest.models.overflow import Overflow
from palimpsest.models.prompts import mark
from palimpsest.models.resolve import ResolvedModel
from palimpsest.models.summarizer import ExtractiveSummarizer, Summarizer
from palimpsest.session.approvals import Approvals
from palimpsest.session.environment import Environment
from palimpsest.session.events import (
    MessageEnd,
    MessageStart,
    Operation,
    Outcome,
    RestoredView,
    SessionEvent,
    Settled,
)
from palimpsest.session.journal import Journal
from palimpsest.session.prompt_run import PromptRun
from palimpsest.session.resuming import timeline_of
from palimpsest.session.settings import SessionSettings
from palimpsest.session.state import (
    ActiveCheckpoint,
    ActiveCompaction,
    BudgetState,
    SessionState,
    Totals,
)
from palimpsest.session.store import HeaderChanges, Loaded, Store

_T = TypeVar("_T")

Listener = Callable[[SessionEvent], None]
AgentBuilder = Callable[[Approvals], Agent[None, str]]


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
        path: Path | None = None,
    ) -> None:
        self.path = path
        self._store = store
        self._header = loaded.header
        self._model = model
        self._settings = settings
        self._environment = environment
        self._listeners: list[Listener] = []
        self._listener_errors: list[Exception] = []
        self._approvals = Approvals(self._emit)
        self._agent = build_agent(self._approvals)
        self._journal = Journal(store)
        self._limits = model_limits(model.model, caller=settings.limits)
        self._fixed = NOTHING
        self._engine = Engine(
            timeline_of(loaded),
            settings=settings.engine,
            candidates=CandidateMaker(
                summarizer=self._summarizer(),
                fallback=ExtractiveSummarizer(),
                now_ms=environment.now_ms,
                new_id=environment.new_id,
            ),
            save=self._save_record,
            emit=self._on_engine_event,
            meter=Meter(enabled=settings.calibrates),
        )
        self._operation: Operation | None = None
        self._task: asyncio.Task[Any] | None = None
        self._scope = anyio.CancelScope()
        self._disposed = False
        self._outcome: Outcome = "idle"
        self._error = ""
        self._totals = Totals()
        self._compaction: ActiveCompaction | None = None
        self._run: PromptRun | None = None

    # --- operations --------------------------------------------------------------------------

    async def prompt(self, text: str, *, attachments: Sequence[UserContent] = ()) -> str:
        """Give the agent a prompt and run it to the end; give its final answer.

        The prompt is stored when it is accepted, each step when it is complete.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
            ContextBudgetExceededError: a request does not fit and nothing made it fit.
            SaveFailedError: what was not stored stays pending.
            CancelledError: aborted; the step under way was completed and stored.
        """
        content: str | list[UserContent] = [text, *attachments] if attachments else text
        return await self._operate("prompt", lambda: self._prompt(content))

    async def compact(self, focus: str = "") -> Checkpoint:
        """Summarise older turns now.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
            NothingToCompactError: there is nothing to summarise; nothing was called or written.
            FailureError: no summary was made.
            CancelledError: aborted.
        """
        return await self._operate(
            "compact", lambda: self._engine.compact(self._request_limits(), focus=focus)
        )

    async def restore(self, checkpoint_id: str | None, *, outputs: bool = False) -> Restored:
        """Make an earlier checkpoint, or none, the active one; nothing is deleted.

        Args:
            checkpoint_id: of ``get_compactions``, or None for the full history.
            outputs: show cleared and trimmed tool outputs again, too.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
            UnknownCheckpointError: there is no such checkpoint.
        """

        async def work() -> Restored:
            restored = await self._engine.restore(
                checkpoint_id, self._request_limits(), outputs=outputs
            )
            self._emit(
                RestoredView(
                    checkpoint=checkpoint_id,
                    outputs_shown=outputs,
                    fits=restored.fits,
                    pressured=restored.pressured,
                )
            )
            return restored

        return await self._operate("restore", work)

    async def flush(self) -> None:
        """Try a failed save again; nothing is generated and no tool runs.

        Raises:
            SessionDisposedError, SessionBusyError: refused.
            SaveFailedError: it stays pending.
        """

        async def work() -> None:
            if await self._journal.flush():
                raise asyncio.CancelledError

        await self._operate("flush", work, while_pending=True)

    async def set_model(self, model: ResolvedModel) -> None:
        """Use another model from the next prompt on.

        A view that exceeds the new model's limit is compacted with the old one first; if that
        fails or is cancelled, the old model stays.

        Raises:
            SessionDisposedError, SessionBusyError, PendingSaveError: refused; nothing happened.
            ContextBudgetExceededError: the view does not fit the new model.
        """

        async def work() -> None:
            limits = model_limits(model.model, caller=self._settings.limits)
            budget = self._budget(model, limits)
            await self._engine.preflight(Limits(budget=budget, fixed=self._fixed))
            cancelled = await self._journal.save(
                header=HeaderChanges(model=model.name, updated=self._environment.now_ms())
            )
            self._model, self._limits = model, limits
            self._engine.meter = Meter(enabled=self._settings.calibrates)
            if cancelled:
                raise asyncio.CancelledError

        await self._operate("configure", work)

    async def abort(self) -> None:
        """Interrupt what is under way, and return when all is settled.

        From inside the run (a tool, a listener) it only requests, and returns at once.
        """
        task = self._task
        if task is None or task.done():
            return
        # A scope and not the task: what the agent loop started is then cancelled until it is gone.
        self._scope.cancel()
        if asyncio.current_task() is not task:
            await asyncio.wait([task])

    async def wait_for_idle(self) -> None:
        """Return once no operation is under way."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def dispose(self, *, discard_pending: bool = False) -> None:
        """Close the session; a second call does nothing.

        Args:
            discard_pending: give up what could not be saved.

        Raises:
            SessionBusyError: an operation is under way.
            PendingSaveError: a failed save waits, and may not be given up.
        """
        if self._disposed:
            return
        self._refuse_busy()
        if not discard_pending:
            self._refuse_pending()
        self._journal.discard()
        self._disposed = True
        await self._store.close()

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
        if self._journal.pending is not None and not self._disposed:
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
        """The whole history, originals; not to be changed.

        Those before the cut are read from the store when they are looked at, which blocks, and
        raises ``StoreClosedError`` after ``dispose``.
        """
        return self._engine.timeline.history.snapshot()

    @property
    def id(self) -> str:
        """UUID of the session."""
        return self._header.id

    def get_compactions(self) -> tuple[Checkpoint, ...]:
        """Give every checkpoint, oldest first, one that waits to be saved included."""
        return tuple(self._engine.timeline.checkpoints.values())

    @property
    def state(self) -> SessionState:
        """A snapshot; computing it does not depend on the length of the history."""
        limits = self._request_limits()
        planned = self._engine.can_compact(limits.budget)
        checkpoint = self._engine.timeline.view.state.checkpoint
        return SessionState(
            message_count=len(self._engine.timeline.history),
            outcome=self._outcome,
            operation=self._operation,
            has_pending_save=self._journal.pending is not None,
            context_budget=BudgetState(
                budget=limits.budget,
                size=self._engine.size(limits),
                window_source=str(self._limits.window),
                calibrated=self._engine.meter.anchor is not None,
            ),
            compaction_available=not isinstance(planned, NoCut),
            compaction_unavailable_because=str(planned) if isinstance(planned, NoCut) else "",
            active_compaction=self._compaction,
            compaction=None if checkpoint is None else _active(checkpoint),
            pending_approvals=self._approvals.requests,
            totals=self._totals,
            model=self._model.name,
            error=self._error,
        )

    def answer_approval(self, request_id: str, *, approved: bool) -> bool:
        """Answer an open request of the run; False where it is not open any more."""
        return self._approvals.answer(request_id, approved=approved)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every event from now on; give what ends that.

        What a listener raises is collected in ``listener_errors``, and never stops a run.
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
        self._refuse_busy()
        if not while_pending:
            self._refuse_pending()
        self._operation = operation
        self._scope = anyio.CancelScope()
        task = asyncio.ensure_future(_within(self._scope, work))
        # A callback and no ``finally``: a task cancelled before its first step runs neither.
        task.add_done_callback(lambda done: self._settle(operation, done))
        self._task = task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await self.abort()
            raise

    def _settle(self, operation: Operation, task: asyncio.Future[_T]) -> None:
        """Note how an operation ended; runs before anybody who waits for it goes on."""
        error = None if task.cancelled() else task.exception()
        outcome: Outcome = "cancelled" if task.cancelled() else "error" if error else "success"
        if isinstance(error, NothingToCompactError):
            outcome, error = "idle", None
        self._operation = None
        self._compaction = None
        self._release()
        self._outcome = outcome
        self._error = "" if error is None else str(error)
        code = error.code if isinstance(error, PalimpsestError) else "failed"
        self._emit(
            Settled(
                operation=operation,
                outcome=outcome,
                error=self._error,
                error_code="" if error is None else code,
            )
        )

    def _refuse_busy(self) -> None:
        if self._operation is not None:
            raise SessionBusyError(self._operation)

    def _refuse_pending(self) -> None:
        pending = self._journal.pending
        if pending is not None:
            raise PendingSaveError(len(pending.messages), len(pending.records))

    async def _prompt(self, content: str | list[UserContent]) -> str:
        run = PromptRun(self._engine.timeline, self._journal, self._emit)
        await self._accept(content)
        self._engine.begin_run()
        self._run = run
        try:
            return await run.run(self._agent, self._engine_model(run))
        except BaseException:
            await self._close_run(run)
            raise
        finally:
            self._run = None

    async def _accept(self, content: str | list[UserContent]) -> None:
        """Store the prompt, with what pruning clears before it."""
        timeline = self._engine.timeline
        clearing = self._engine.plan_clearing(self._request_limits().budget)
        part = UserPromptPart(content=content, timestamp=self._environment.now())
        message = mark(ModelRequest(parts=[part], timestamp=part.timestamp), prompt=True)
        index = len(timeline.history)
        if clearing is not None:
            timeline.check(clearing)
            self._engine.applied(clearing)
        timeline.append(message)
        self._journal.add(message)
        self._emit(MessageStart(index=index, role="user"))
        self._emit(MessageEnd(index=index, interrupted=False))
        header = HeaderChanges(updated=self._environment.now_ms())
        if await self._journal.save(clearing, header=header):
            raise asyncio.CancelledError

    async def _close_run(self, run: PromptRun) -> None:
        """Store the step under way, unless a failed save waits already."""
        run.close_step()
        if self._journal.pending is None:
            await self._journal.save()

    def _engine_model(self, run: PromptRun) -> EngineModel:
        async def take_in(outgoing: Outgoing) -> None:
            del outgoing
            await run.save_step()
            self._release()

        return EngineModel(
            self._model.model,
            engine=self._engine,
            take_in=take_in,
            limits=self._limits_of,
            on_overflow=self._on_overflow,
            on_reply=self._on_reply,
        )

    def _limits_of(self, outgoing: Outgoing) -> RequestLimits:
        capped = cap_request(
            self._model.model, outgoing.settings, outgoing.parameters, self._limits
        )
        self._fixed = request_fixed_measure(outgoing.parameters)
        return RequestLimits(
            limits=Limits(budget=capped.budget, fixed=self._fixed), settings=capped.settings
        )

    def _on_overflow(self, overflow: Overflow) -> None:
        if overflow.window is not None:
            named = Limit(tokens=overflow.window, source="provider_error")
            self._limits = self._limits.with_window(named)

    def _on_reply(self, response: ModelResponse) -> None:
        totals, usage = self._totals, response.usage
        self._totals = replace(
            totals,
            requests=totals.requests + 1,
            input_tokens=totals.input_tokens + usage.input_tokens,
            cache_read_tokens=totals.cache_read_tokens + usage.cache_read_tokens,
            cache_write_tokens=totals.cache_write_tokens + usage.cache_write_tokens,
            output_tokens=totals.output_tokens + usage.output_tokens,
        )

    # --- helpers -----------------------------------------------------------------------------

    def _summarizer(self) -> Summarizer:
        match self._settings.summarizer:
            case "extractive":
                return ExtractiveSummarizer()
            case "model":
                return ModelSummarizer(model=self._model.model)
            case chosen:
                return chosen

    def _request_limits(self) -> Limits:
        return Limits(budget=self._budget(self._model, self._limits), fixed=self._fixed)

    def _budget(self, model: ResolvedModel, limits: ModelLimits) -> Budget:
        capped = cap_request(
            model.model, self._settings.model_settings, ModelRequestParameters(), limits
        )
        return capped.budget

    async def _save_record(self, record: Record, receipt: Receipt | None) -> None:
        prefix = None
        if isinstance(record, Checkpoint):
            prefix = self._engine.timeline.outline.prefix(record.first_kept_message_index)
        await self._journal.save(record, receipt, prefix=prefix)

    def _release(self) -> None:
        """Hold the live tail only; what stands before it is stored."""
        if self._journal.is_stored:
            self._engine.timeline.release()

    def _on_engine_event(self, event: EngineEvent) -> None:
        match event:
            case CompactionStart():
                self._compaction = ActiveCompaction(
                    started_at=event.started_at,
                    history_message_count=event.history_message_count,
                )
            case CompactionEnd():
                self._compaction = None
            case _:
                pass
        self._emit(event)

    def _emit(self, event: SessionEvent) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:
                self._listener_errors.append(error)


async def _within(
    scope: anyio.CancelScope, work: Callable[[], Coroutine[object, object, _T]]
) -> _T:
    with scope:
        return await work()
    raise asyncio.CancelledError


def _active(checkpoint: Checkpoint) -> ActiveCheckpoint:
    return ActiveCheckpoint(
        id=checkpoint.id,
        first_kept_message_index=checkpoint.first_kept_message_index,
        history_message_count=checkpoint.history_message_count,
        timestamp=checkpoint.timestamp,
    )
