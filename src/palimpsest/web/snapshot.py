"""A session's state as the API shows it."""

from __future__ import annotations

from palimpsest.session.agent_session import AgentSession
from palimpsest.web.live import NOTHING_LIVE, Live
from palimpsest.web.wire import ContextMeter, Snapshot


def snapshot(session: AgentSession, live: Live = NOTHING_LIVE) -> Snapshot:
    """Give a session at this moment; costs nothing that grows with its history."""
    state = session.state
    compaction = state.active_compaction
    return Snapshot(
        id=session.id,
        title=state.title,
        cwd=session.cwd,
        model=state.model,
        permission_preset=state.permission_preset,
        message_count=state.message_count,
        operation=state.operation or "idle",
        outcome=state.outcome,
        error=state.error,
        has_pending_save=state.has_pending_save,
        read_only=state.read_only,
        context_budget=ContextMeter.of(state.context_budget),
        compaction_available=state.compaction_available,
        compaction_unavailable_because=state.compaction_unavailable_because,
        compaction_started_at=None if compaction is None else compaction.started_at,
        compaction=state.compaction,
        pending_approvals=state.pending_approvals,
        running_tools=state.running_tools,
        totals=state.totals,
        live=live,
    )
