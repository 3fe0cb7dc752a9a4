"""Values that tests of the screen begin with."""

from __future__ import annotations

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.receipt import (
    CompactionFigures,
    CompactionTrigger,
    Fact,
    Facts,
    IdentifierCounts,
    Receipt,
)
from palimpsest.session.state import BudgetState, SessionState, Totals

NO_FACTS = Facts(newest=(), in_view=0, total=0)


def receipt(*, trigger: CompactionTrigger = "automatic", after: int = 11_800) -> Receipt:
    return Receipt(
        figures=CompactionFigures(
            trigger=trigger,
            tokens_before=96_400,
            tokens_after=after,
            messages_summarised=40,
            messages_kept=12,
            turns_summarised=9,
            turns_kept=4,
            steps_summarised=20,
            steps_kept=6,
            outputs_cleared=3,
            duration_ms=3_100,
            cost_usd=0.01,
        ),
        reduced=after < 96_400,
        files_read=Facts(
            newest=(
                Fact(text="src/dates.py", detail="lines 1–180", message_index=3, in_view=True),
                Fact(text="tests/test_dates.py", detail="", message_index=5, in_view=False),
            ),
            in_view=1,
            total=2,
        ),
        files_changed=NO_FACTS,
        commands=Facts(
            newest=(Fact(text="pytest -q", detail="exit 1", message_index=7, in_view=True),),
            in_view=1,
            total=1,
        ),
        open_errors=NO_FACTS,
        user_rules=NO_FACTS,
        identifiers=IdentifierCounts(in_view=12, total=30),
    )


def state(
    *,
    tokens: int = 122_000,
    window: int = 200_000,
    calibrated: bool = True,
    model: str = "anthropic:claude-sonnet-5",
    totals: Totals | None = None,
) -> SessionState:
    budget = Budget(window=window, reserved_output=min(16_000, window // 4))
    return SessionState(
        message_count=3,
        outcome="idle",
        operation=None,
        has_pending_save=False,
        context_budget=BudgetState(
            budget=budget,
            size=Measure(tokens=tokens, bytes=4 * tokens),
            window_source="200,000 tokens (from the model's profile)",
            calibrated=calibrated,
        ),
        compaction_available=False,
        compaction_unavailable_because="",
        active_compaction=None,
        compaction=None,
        pending_approvals=(),
        totals=Totals(requests=2, cost_usd=0.42) if totals is None else totals,
        running_tools=(),
        model=model,
        title="",
        permission_preset="workspace-write",
        read_only=False,
        error="",
    )
