"""Making an earlier checkpoint, or none, the active one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from anyio import to_thread

from palimpsest.core.budget import Measure
from palimpsest.core.errors import UnknownCheckpointError
from palimpsest.core.records import Restore
from palimpsest.core.view import View
from palimpsest.models.engine import Engine
from palimpsest.models.limits import Limits
from palimpsest.models.timeline import Tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore comes to: whether the view it shows fits, and is above the trigger."""

    size: Measure
    fits: bool
    pressured: bool


async def restore(
    engine: Engine, checkpoint_id: str | None, limits: Limits, *, outputs: bool
) -> Restored:
    """Make an earlier checkpoint, or none, the active one; nothing is deleted.

    Raises:
        UnknownCheckpointError: there is no such checkpoint.
        SessionFileError: the messages behind an earlier cut cannot be read.
        SaveFailedError: it could not be saved; it stays pending.
    """
    record = _record(engine, checkpoint_id, outputs=outputs)
    tail, said = await _restored(engine, record, limits)
    engine.timeline.adopt(tail)
    if await engine.save_record(record):
        raise asyncio.CancelledError
    return said


async def preview_restore(
    engine: Engine, checkpoint_id: str | None, limits: Limits, *, outputs: bool
) -> Restored:
    """Say what ``restore`` would come to; nothing is changed or written.

    Raises:
        UnknownCheckpointError: there is no such checkpoint.
        SessionFileError: the messages behind an earlier cut cannot be read.
    """
    record = _record(engine, checkpoint_id, outputs=outputs)
    return (await _restored(engine, record, limits))[1]


def _record(engine: Engine, checkpoint_id: str | None, *, outputs: bool) -> Restore:
    if checkpoint_id is not None and checkpoint_id not in engine.timeline.checkpoints:
        raise UnknownCheckpointError(checkpoint_id)
    return Restore(
        id=engine.candidates.new_id(),
        timestamp=engine.candidates.now_ms(),
        active=checkpoint_id,
        outputs_shown=outputs,
    )


async def _restored(engine: Engine, record: Restore, limits: Limits) -> tuple[Tail, Restored]:
    """Read what the view behind an earlier cut needs, and measure that view."""
    state = engine.timeline.state_after(record)
    tail = await to_thread.run_sync(engine.timeline.tail_from, state.checkpoint)
    size = engine.meter.local(View(tail.outline, state), limits.fixed)
    return tail, Restored(
        size=size,
        fits=limits.budget.fits(size),
        pressured=limits.budget.pressured(size),
    )
