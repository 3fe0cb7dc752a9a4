"""What the API keeps for each open session: its event stream, and which prompts were accepted."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar
from uuid import uuid4

from pydantic_ai.messages import BinaryContent

from palimpsest.core.errors import PalimpsestError, SaveFailedError
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.events import MessageEnd, SessionEvent
from palimpsest.session.host import SessionHost
from palimpsest.web.channel import Channel
from palimpsest.web.problems import NotAcceptedError, RequestConflictError
from palimpsest.web.wire import PromptBody

_T = TypeVar("_T")

_ABORTED = "The prompt was aborted before it was accepted; nothing of it was stored."

MOST_REQUESTS = 1_000
"""Request ids that a room remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A prompt that was asked for; ``accepted`` is set once it is stored, or raises why not."""

    id: str
    content: str
    accepted: asyncio.Future[None]


class Room:
    """One open session and those who look at it.

    Attributes:
        channel: its event stream.
    """

    def __init__(self, session: AgentSession, *, new_id: Callable[[], str]) -> None:
        self.session = session
        self.channel = Channel(session, stream=new_id())
        self._new_id = new_id
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def prompt(self, body: PromptBody) -> str:
        """Start a prompt's run, once for each request id, and give the run's id when it is stored.

        Raises:
            RequestConflictError: the id was used for another prompt.
            SaveFailedError: it waits to be saved, and is not run; the id means it from now on.
            PalimpsestError: it was not accepted; the id may be used again.
        """
        content = sha256(body.model_dump_json().encode()).hexdigest()
        run = self._runs.get(body.request_id)
        if run is None:
            run = self._start(body, content)
        elif run.content != content:
            raise RequestConflictError("That requestId was used for another prompt; use a new one.")
        try:
            # A client that goes away does not take back what others of the same id wait for.
            await asyncio.shield(run.accepted)
        except SaveFailedError:
            if self.session.state.has_pending_save:  # otherwise somebody flushed: it is stored
                raise
        return run.id

    def _start(self, body: PromptBody, content: str) -> _Run:
        accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        run = _Run(id=self._new_id(), content=content, accepted=accepted)
        self._runs[body.request_id] = run
        while len(self._runs) > MOST_REQUESTS:
            self._runs.popitem(last=False)

        def on_event(event: SessionEvent) -> None:
            if isinstance(event, MessageEnd) and not accepted.done():
                accepted.set_result(None)

        def on_done(task: asyncio.Task[str]) -> None:
            error = None if task.cancelled() else task.exception()
            if accepted.done():
                return
            if not isinstance(error, SaveFailedError):
                self._runs.pop(body.request_id, None)
            accepted.set_exception(error or NotAcceptedError(_ABORTED))

        images = [
            BinaryContent(data=image.data, media_type=image.media_type) for image in body.images
        ]

        async def work() -> str:
            # Not before its turn: a message that ended earlier would be another prompt's.
            unsubscribe = self.session.subscribe(on_event)
            try:
                return await self.session.prompt(body.text, attachments=images, skills=body.skills)
            finally:
                unsubscribe()

        # What goes wrong later is told by the stream: ``settled`` carries it.
        self._keep(work()).add_done_callback(on_done)
        return run

    async def settle(self, work: Coroutine[object, object, object]) -> None:
        """Run an operation to its end, whether or not its client waits for that.

        An abort is no error here: the snapshot tells the outcome.
        """
        task = self._keep(work)
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    def _keep(self, work: Coroutine[object, object, _T]) -> asyncio.Task[_T]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class Rooms:
    """The rooms of a host's sessions."""

    def __init__(
        self, host: SessionHost, *, new_id: Callable[[], str] = lambda: str(uuid4())
    ) -> None:
        self.host = host
        self._new_id = new_id
        self._rooms: dict[str, Room] = {}

    async def draft(self) -> Room:
        """Open a new session."""
        return self._room_of(await self.host.draft())

    async def find(self, session_id: str, *, for_writing: bool) -> Room:
        """Give the room of a session; see ``SessionHost.find``.

        Raises:
            SessionNotFoundError, SessionLockedError, SessionFileError: as there.
        """
        return self._room_of(await self.host.find(session_id, for_writing=for_writing))

    async def shut_down(self) -> list[PalimpsestError]:
        """Abort and save what runs, then end every stream: its readers see how the run ended.

        Gives what could not be saved, as ``SessionHost.shut_down`` does.
        """
        unsaved = await self.host.shut_down()
        for room in self._rooms.values():
            room.channel.close()
        return unsaved

    def _room_of(self, session: AgentSession) -> Room:
        room = self._rooms.get(session.id)
        if room is None or room.session is not session:
            if room is not None:
                room.channel.close()
            room = self._rooms[session.id] = Room(session, new_id=self._new_id)
        return room
