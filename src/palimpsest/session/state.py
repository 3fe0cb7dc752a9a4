"""What a session is at this moment: a value; reading it costs nothing that grows with history."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.wording import count
from palimpsest.session.events import ApprovalRequested, Operation, Outcome
from palimpsest.session.permissions import PermissionPreset
from palimpsest.storage.totals import Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """The context meter.

    Attributes:
        size: of the next request, by the same number that the policy decides on.
        window_source: where the window comes from, in words.
        calibrated: the provider's own count has a part in it.
    """

    budget: Budget
    size: Measure
    window_source: str
    calibrated: bool

    @property
    def share(self) -> float:
        """Size ÷ window; may exceed 1."""
        return self.size.tokens / self.budget.window


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveCompaction:
    """A compaction under way: since when (ms since the epoch), and of how long a history."""

    started_at: int
    history_message_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveCheckpoint:
    """The checkpoint that decides the view."""

    id: str
    first_kept_message_index: int
    history_message_count: int
    timestamp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What disposing of a session gave up."""

    messages: int
    records: int

    def __str__(self) -> str:
        lost = f"{count(self.messages, 'message')} and {count(self.records, 'record')}"
        return f"Never saved: {lost}."


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """A snapshot.

    Attributes:
        message_count: messages of the history.
        outcome: of the last operation; ``idle`` before the first, and after one that found
            nothing to compact.
        operation: what is under way, or None.
        compaction_available: why a manual compaction would find nothing, or empty if it would cut.
        running_tools: names of tools under way; one that cannot be interrupted delays settling.
        read_only: prompts and everything else that writes are refused.
        error: of the last operation, one sentence, or empty.
    """

    message_count: int
    outcome: Outcome
    operation: Operation | None
    has_pending_save: bool
    context_budget: BudgetState
    compaction_available: bool
    compaction_unavailable_because: str
    active_compaction: ActiveCompaction | None
    compaction: ActiveCheckpoint | None
    pending_approvals: tuple[ApprovalRequested, ...]
    totals: Totals
    running_tools: tuple[str, ...]
    model: str
    title: str
    permission_preset: PermissionPreset
    read_only: bool
    error: str

    @property
    def is_running(self) -> bool:
        """Whether an operation is under way; waiting approvals count."""
        return self.operation is not None
