"""A scratch project whose sessions are led by the story's agent: what to look at without a key."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from palimpsest.core.errors import SessionBusyError
from palimpsest.lab.live import open_story, story_model
from palimpsest.lab.story import load_story
from palimpsest.models.script import Reply
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.host import SessionHost
from palimpsest.session.manager import SessionManager
from palimpsest.session.places import HOME_VARIABLE

WINDOW = 16_000
LEFT_TO_THE_PERSON = 4
"""Prompts at the end of the story that the person gives: whatever they say, the work goes on."""

TITLE = "Ten days of the till (scripted: whatever you type, its next task runs)"

_ENCORES = 200
_END = Reply(
    text=(
        "My script ends here: every answer of this demo was written beforehand. The tools, the "
        "compactions and the originals were real. Try `/compact`, open a compaction, or restore "
        "the full history."
    )
)


@contextmanager
def _home_at(folder: Path) -> Generator[None]:
    """Let sessions be kept in a folder, for as long as the stage stands."""
    before = os.environ.get(HOME_VARIABLE)
    os.environ[HOME_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[HOME_VARIABLE]
        else:
            os.environ[HOME_VARIABLE] = before


@contextmanager
def stage() -> Generator[tuple[SessionHost, str, Callable[[], Awaitable[None]]]]:
    """Set a stage up in a scratch folder that is gone afterwards.

    Yields:
        The host of its sessions, the id of a first one, and what plays most of the story in that.
    """
    story = load_story()

    async def open_session(manager: SessionManager) -> AgentSession:
        model = story_model(story, window=WINDOW, encores=[_END] * _ENCORES)
        return await open_story(model, manager)

    with (
        TemporaryDirectory(prefix="palimpsest-demo-", ignore_cleanup_errors=True) as scratch,
        _home_at(Path(scratch) / "data"),
    ):
        project = Path(scratch) / "till"
        story.write_project(project)
        host = SessionHost(open_session, project)
        first = SessionManager.draft(project)
        assert first.path is not None, "a draft has its place among the project's files"

        async def act() -> None:
            session = await host.open(first)
            await session.set_title(TITLE)
            # A person who prompts in between takes over.
            with suppress(SessionBusyError):
                for task in story.tasks[:-LEFT_TO_THE_PERSON]:
                    await session.prompt(task.prompt)

        yield host, first.path.stem, act
