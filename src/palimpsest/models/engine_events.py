"""What the engine tells its owner, in order.

For one preflight: ``CompactionStart`` once, before the first generation; ``Pruned`` and
``CompactionProgress`` in between; ``CompactionEnd`` exactly once for each start, whatever happened;
``ContextBudget`` last, with the decision. No event carries text of the conversation or a summary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.receipt import CompactionTrigger, Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """Tool outputs were cleared or trimmed in the view; the record is saved."""

    outputs: int
    tokens_reclaimed: int
    kind: Literal["pruned"] = "pruned"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStart:
    """A compaction began.

    Attributes:
        started_at: milliseconds since the epoch.
        history_message_count: messages the history has.
    """

    started_at: int
    history_message_count: int
    trigger: CompactionTrigger
    kind: Literal["compaction_start"] = "compaction_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionProgress:
    """A summary call is under way: number ``call`` of ``calls``, both from 1."""

    call: int
    calls: int
    kind: Literal["compaction_progress"] = "compaction_progress"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEnd:
    """A compaction ended.

    Attributes:
        checkpoint: id of the newest saved checkpoint of this compaction, or None if none was saved.
        receipt: of that checkpoint.
        error: why the last generation came to nothing, as a sentence, or empty.
    """

    checkpoint: str | None
    receipt: Receipt | None
    error: str
    kind: Literal["compaction_end"] = "compaction_end"


Decision: TypeAlias = Literal[
    "calm",
    "held",
    "suppressed",
    "compacted",
    "nothing_to_cut",
    "failed",
    "relieved",
    "refused",
    "stopped",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBudget:
    """A preflight decided.

    Attributes:
        budget: limits of the request.
        size: of the whole request as it will be sent: the number every meter shows.
        calibrated: the provider's own count has a part in it.
        decision: what was decided.
        reason: a sentence where the decision alone does not say it, or empty.
    """

    budget: Budget
    size: Measure
    calibrated: bool
    decision: Decision
    reason: str
    kind: Literal["context_budget"] = "context_budget"


EngineEvent: TypeAlias = (
    Pruned | CompactionStart | CompactionProgress | CompactionEnd | ContextBudget
)
