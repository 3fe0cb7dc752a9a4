"""The session list: what is stored, what is open, what is broken."""

from __future__ import annotations

from palimpsest.session.agent_session import AgentSession
from palimpsest.session.host import SessionHost
from palimpsest.session.listing import Listed
from palimpsest.web.wire import SessionEntry, SessionList


async def session_list(host: SessionHost) -> SessionList:
    """List a host's project: drafts first, then what is stored, newest first, broken ones last."""
    stored = await host.stored()
    known = {listed.path for listed in stored}
    drafts = [session for session in host if session.path not in known]
    entries = [_draft(session) for session in reversed(drafts)]
    entries += [_entry(listed, host) for listed in stored]
    return SessionList(cwd=str(host.cwd), sessions=tuple(entries))


def _draft(session: AgentSession) -> SessionEntry:
    state = session.state
    return SessionEntry(
        id=session.id,
        title=state.title,
        state="running" if state.is_running else "draft",
        message_count=state.message_count,
    )


def _entry(listed: Listed, host: SessionHost) -> SessionEntry:
    if listed.kind == "broken":
        return SessionEntry(id=listed.path.stem, title="", state="broken", reason=listed.reason)
    session = host.get(listed.header.id)
    running = session is not None and session.state.is_running
    return SessionEntry(
        id=listed.header.id,
        title=listed.header.title,
        state="running" if running else "stored" if session is None else "open",
        created=listed.header.created,
        updated=listed.header.updated,
        message_count=listed.message_count,
        compactions=listed.compactions,
    )
