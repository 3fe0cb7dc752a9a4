"""A session's conversation: engine, journal, model and agent, and what is done with them.

``AgentSession`` decides whether an operation may begin; what it then does stands here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, UserContent, UserPromptPart

from palimpsest.core.calibration import Meter
from palimpsest.core.errors import SaveFailedError
from palimpsest.core.receipt import Receipt
from palimpsest.core.records import Checkpoint, Record
from palimpsest.formats.prompts import mark
from palimpsest.models.candidates import CandidateMaker
from palimpsest.models.compaction import compact
from palimpsest.models.engine import Engine
from palimpsest.models.engine_events import CompactionEnd, CompactionStart, EngineEvent
from palimpsest.models.engine_model import EngineModel, Outgoing
from palimpsest.models.overflow import Overflow
from palimpsest.models.preflight import preflight
from palimpsest.models.resolve import ModelChoice, ResolvedModel, resolve_model
from palimpsest.models.restoring import Restored, restore
from palimpsest.models.summarizer import ExtractiveSummarizer
from palimpsest.session.approvals import Approvals
from palimpsest.session.environment import Environment
from palimpsest.session.events import MessageEnd, MessageStart, RestoredView, SessionEvent
from palimpsest.session.journal import Journal
from palimpsest.session.model_side import ModelSide
from palimpsest.session.permissions import PermissionPreset, permission_preset
from palimpsest.session.prompt_run import PromptRun
from palimpsest.session.resuming import accounts_of, timeline_of
from palimpsest.session.settings import SessionSettings
from palimpsest.session.skills import SkillLoader, snapshot
from palimpsest.session.state import ActiveCompaction
from palimpsest.session.store import Loaded, Store
from palimpsest.storage.header import HeaderChanges

AgentBuilder = Callable[[Approvals], Agent[None, str]]
"""Makes the agent anew whenever the permission preset, ``Approvals.preset``, changes."""


class Conversation:
    """What one session works with; one operation at a time, which its owner sees to.

    Attributes:
        header: as it stands, changes that wait for the first message included.
        approvals: open requests, and the permission preset.
        journal: what is not saved yet.
        accounts: what was used.
        side: the model in use.
        engine: history, records and view.
        compaction: the one under way, or None.
        run: the prompt under way, or None.
        skills: reads the skills that a prompt names.
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
        skills: SkillLoader,
        emit: Callable[[SessionEvent], None],
    ) -> None:
        self.header = loaded.header
        self._settings = settings
        self._environment = environment
        self.skills = skills
        self._emit = emit
        preset = permission_preset(settings.permission_preset or loaded.header.permission_preset)
        self.approvals = Approvals(emit, preset=preset)
        self._build_agent = build_agent
        self._agent = build_agent(self.approvals)
        self.accounts = accounts_of(loaded)
        self.journal = Journal(
            store, self.accounts, messages=loaded.message_count, records=len(loaded.records)
        )
        self.side = ModelSide(model, settings)
        self.engine = Engine(
            timeline_of(loaded),
            settings=settings.engine,
            candidates=CandidateMaker(
                summarizer=self.side.summarizer(),
                fallback=ExtractiveSummarizer(),
                now_ms=environment.now_ms,
                new_id=environment.new_id,
                on_spent=self.accounts.count_summary,
                price=model.name,
            ),
            save=self._save_record,
            emit=self._on_engine_event,
            meter=Meter(enabled=settings.calibrates),
        )
        self.compaction: ActiveCompaction | None = None
        self.run: PromptRun | None = None
        # Stored with the next prompt: an empty session has no file.
        self._unsaved_header = HeaderChanges(model=model.name, permission_preset=preset)

    async def prompt(self, content: str | list[UserContent], skills: Sequence[str]) -> str:
        """Accept a prompt and run it to the end."""
        run = PromptRun(
            self.engine.timeline,
            self.journal,
            self._emit,
            window_tokens=lambda: self.side.limits.window.tokens,
            count_reply=self.accounts.count_reply,
        )
        await self._accept(content, skills)
        self.engine.begin_run()
        self.run = run
        try:
            async with self._saving_what_failed(run.close_step):
                await self.side.enter()
                return await run.run(self._agent, self._engine_model(run))
        finally:
            self.run = None

    async def compact(self, focus: str) -> Checkpoint:
        """Compact by hand."""
        await self.side.enter()
        async with self._saving_what_failed():
            return await compact(self.engine, self.side.next_limits(), focus=focus)

    async def restore(self, checkpoint_id: str | None, *, outputs: bool) -> Restored:
        """Make another checkpoint, or none, the active one."""
        restored = await restore(
            self.engine, checkpoint_id, self.side.next_limits(), outputs=outputs
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

    async def flush(self) -> None:
        """Try a failed save again."""
        if await self.journal.flush():
            raise asyncio.CancelledError

    async def set_model(self, model: ModelChoice) -> None:
        """Use another model, once the view fits it."""
        resolved = resolve_model(model)
        await self.side.enter()
        side = ModelSide(resolved, self._settings, fixed=self.side.fixed)
        limits = side.next_limits()
        if not limits.budget.fits(self.engine.size(limits)):
            self.engine.begin_run()
            async with self._saving_what_failed():
                await preflight(self.engine, limits, trigger="model_switch")
        before, self.side = self.side, side
        self.engine.use_summarizer(side.summarizer(), price=resolved.name)
        self.engine.meter = Meter(enabled=self._settings.calibrates)
        await before.close()
        await self._save_header(HeaderChanges(model=resolved.name))

    async def set_title(self, title: str) -> None:
        """Name the session."""
        await self._save_header(HeaderChanges(title=title))

    async def set_permission_preset(self, preset: PermissionPreset) -> None:
        """Make the agent anew with other permissions."""
        self.approvals.preset = permission_preset(preset)
        self._agent = self._build_agent(self.approvals)
        await self._save_header(HeaderChanges(permission_preset=preset))

    async def _accept(self, content: str | list[UserContent], skills: Sequence[str]) -> None:
        """Store the prompt, with the skills in front of it and what pruning clears before it."""
        expanded = await self.skills.load(skills)
        timeline = self.engine.timeline
        index = len(timeline.history)
        clearing = self.engine.plan_clearing(self.side.next_limits().budget)
        now = self._environment.now()
        parts = [UserPromptPart(content=skill.text, timestamp=now) for skill in expanded]
        parts.append(UserPromptPart(content=content, timestamp=now))
        message = mark(
            ModelRequest(parts=parts, timestamp=now), prompt=True, injected_parts=len(expanded)
        )
        if clearing is not None:
            timeline.check(clearing)
            self.engine.applied(clearing)
        timeline.append(message)
        self.journal.add(message)
        changes = replace(
            self._unsaved_header,
            updated=self._environment.now_ms(),
            skill_snapshots=(snapshot(expanded, index),) if expanded else (),
        )
        self._unsaved_header = HeaderChanges()
        self.header = changes.apply(self.header)
        cancelled = await self.journal.save(clearing, header=changes)
        self._emit(MessageStart(index=index, role="user"))
        self._emit(MessageEnd(index=index, interrupted=False))
        if cancelled:
            raise asyncio.CancelledError

    def release(self) -> None:
        """Hold no more than the live tail; what stands before it is stored."""
        if self.journal.is_stored:
            self.engine.timeline.release()

    @asynccontextmanager
    async def _saving_what_failed(
        self, close_step: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[None]:
        """Store what work that fails or is cancelled leaves: its step, and what it used."""
        try:
            yield
        except asyncio.CancelledError:
            await self._save_rest(close_step)
            raise
        except (Exception, BaseExceptionGroup) as error:  # a group may hold what is no Exception
            try:
                await self._save_rest(close_step)
            except SaveFailedError as unsaved:
                raise BaseExceptionGroup("the run failed, and its save", [error, unsaved]) from None
            raise

    async def _save_rest(self, close_step: Callable[[], None]) -> None:
        """Close the step and store it, unless a failed save waits already."""
        close_step()
        if self.journal.pending is None:
            await self.journal.save()

    def _engine_model(self, run: PromptRun) -> EngineModel:
        async def take_in(outgoing: Outgoing) -> None:
            del outgoing
            await run.save_step()
            self.release()

        return EngineModel(
            self.side.resolved.model,
            engine=self.engine,
            take_in=take_in,
            limits=self.side.limits_of,
            on_overflow=self._on_overflow,
        )

    def _on_overflow(self, overflow: Overflow) -> None:
        self.side.learn(overflow, self.engine.size(self.side.next_limits()))
        self.engine.use_summarizer(self.side.summarizer(), price=self.side.resolved.name)

    async def _save_header(self, changes: HeaderChanges) -> None:
        """Store changes of the header; those of an empty session wait for its first message."""
        self.header = changes.apply(self.header)
        self._unsaved_header = replace(
            self._unsaved_header,
            model=self.side.resolved.name,
            permission_preset=self.approvals.preset,
        )
        if not self.engine.timeline.history:
            self._unsaved_header = replace(self._unsaved_header, title=self.header.title)
            return
        changes = replace(changes, updated=self._environment.now_ms())
        if await self.journal.save(header=changes):
            raise asyncio.CancelledError

    async def _save_record(self, record: Record, receipt: Receipt | None) -> None:
        await self.journal.save(record, receipt)

    def _on_engine_event(self, event: EngineEvent) -> None:
        match event:
            case CompactionStart():
                self.compaction = ActiveCompaction(
                    started_at=event.started_at,
                    history_message_count=event.history_message_count,
                )
            case CompactionEnd():
                self.compaction = None
            case _:
                pass
        self._emit(event)
