"""One session's event stream: events become frames, and readers take them at their own pace."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager

from palimpsest.session.agent_session import AgentSession
from palimpsest.session.events import MessageUpdate, SessionEvent
from palimpsest.web.frames import MOST_FRAMES, Frame, FrameBuffer
from palimpsest.web.live import NOTHING_LIVE, Live, fold
from palimpsest.web.snapshot import snapshot
from palimpsest.web.wire import EventFrame, Snapshot


class Reader:
    """What one open stream has not sent yet; a reader that falls too far behind is dropped."""

    def __init__(self) -> None:
        self._waiting: deque[Frame] = deque()
        self._arrived = asyncio.Event()
        self._is_dropped = False

    def offer(self, frame: Frame) -> None:
        """Hand over a frame; never waits."""
        if len(self._waiting) >= MOST_FRAMES:
            self.drop()
        if not self._is_dropped:
            self._waiting.append(frame)
            self._arrived.set()

    def drop(self) -> None:
        """End the stream; the browser comes back and goes on from its last frame, or anew."""
        self._is_dropped = True
        self._waiting.clear()
        self._arrived.set()

    async def frames(self) -> AsyncIterator[Frame]:
        """Yield frames until dropped."""
        while not self._is_dropped:
            while self._waiting:
                yield self._waiting.popleft()
            self._arrived.clear()
            await self._arrived.wait()


class Channel:
    """Listens to a session and serves its readers.

    A frame with a snapshot follows every event but pieces of a reply, so that a page knows what is
    busy and what is settled without asking.
    """

    def __init__(self, session: AgentSession, *, stream: str) -> None:
        self._session = session
        self._buffer = FrameBuffer(stream)
        self._readers: set[Reader] = set()
        self._live: Live = NOTHING_LIVE
        self._unsubscribe: Callable[[], None] = session.subscribe(self._on_event)

    def __len__(self) -> int:
        return len(self._readers)

    def snapshot(self) -> Snapshot:
        """Give the session as it is now."""
        return snapshot(self._session, self._live)

    def id_of(self, frame: Frame) -> str:
        """Give the id to send with a frame."""
        return self._buffer.id_of(frame)

    @contextmanager
    def reader(self, last_event_id: str) -> Generator[Reader]:
        """Open a stream with what came after the last frame seen, or with a snapshot."""
        reader = Reader()
        missed = self._buffer.after(last_event_id)
        for frame in [self._now()] if missed is None else missed:
            reader.offer(frame)
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)

    def publish(self) -> None:
        """Send everybody a snapshot: something changed that no event tells."""
        self._send(self._buffer.add("snapshot", self._snapshot_json()))

    def close(self) -> None:
        """End every stream and listen no more."""
        self._unsubscribe()
        for reader in self._readers:
            reader.drop()

    def _now(self) -> Frame:
        """Give a snapshot for one reader, numbered as the newest frame that it takes in."""
        return Frame(seq=self._buffer.seq, name="snapshot", data=self._snapshot_json())

    def _on_event(self, event: SessionEvent) -> None:
        self._live = fold(self._live, event)
        data = EventFrame(event=event).model_dump_json(by_alias=True)
        self._send(self._buffer.add("event", data))
        if not isinstance(event, MessageUpdate):
            self.publish()

    def _snapshot_json(self) -> str:
        return self.snapshot().model_dump_json(by_alias=True)

    def _send(self, frame: Frame) -> None:
        for reader in self._readers:
            reader.offer(frame)
