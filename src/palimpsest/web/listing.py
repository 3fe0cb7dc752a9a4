"""The session list: what is stored, what is open, what is broken."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from pathlib import Path

from palimpsest.core.errors import SessionNotFoundError
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.host import SessionHost
from palimpsest.session.listing import Listed
from palimpsest.session.prompt_words import first_words
from palimpsest.web.wire import SessionEntry, SessionList

MOST_TITLE_CHARACTERS = 200


async def session_list(host: SessionHost) -> SessionList:
    """List a host's project: drafts first, then what is stored, newest first, broken ones last."""
    stored = await host.stored()
    titles = await asyncio.to_thread(lambda: [_title(listed) for listed in stored])
    known = {listed.path for listed in stored}
    drafts = [session for session in host if session.path not in known]
    entries = [_draft(session) for session in reversed(drafts)]
    entries += [_entry(*both, host) for both in zip(stored, titles, strict=True)]
    return SessionList(cwd=str(host.cwd), sessions=tuple(entries))


def _draft(session: AgentSession) -> SessionEntry:
    state = session.state
    return SessionEntry(
        id=session.id,
        title=state.title,
        state="running" if state.is_running else "draft",
        message_count=state.message_count,
    )


def _title(listed: Listed) -> str:
    if listed.kind == "broken":
        return ""
    try:
        return listed.header.title or _first_words(listed.path, listed.message_count)
    except (SessionNotFoundError, OSError):  # it was deleted meanwhile
        return ""


@lru_cache(maxsize=1_000)
def _first_words(path: Path, message_count: int) -> str:
    """Give the beginning of a session's first prompt; it never changes, but may be yet to come."""
    del message_count
    return " ".join(first_words(path)[:MOST_TITLE_CHARACTERS].split())


def _entry(listed: Listed, title: str, host: SessionHost) -> SessionEntry:
    if listed.kind == "broken":
        return SessionEntry(id=listed.path.stem, title=title, state="broken", reason=listed.reason)
    session = host.get(listed.header.id)
    running = session is not None and session.state.is_running
    return SessionEntry(
        id=listed.header.id,
        title=title,
        state="running" if running else "stored" if session is None else "open",
        created=listed.header.created,
        updated=listed.header.updated,
        message_count=listed.message_count,
        compactions=listed.compactions,
    )
