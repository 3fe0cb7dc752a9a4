"""Frames of one event stream: numbered, kept for a while, replayed from where a reader left off."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from palimpsest.core.estimate import text_bytes

MOST_FRAMES = 256
MOST_BYTES = 4 << 20
"""Of their text in UTF-8, as it is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One server-sent event.

    Attributes:
        seq: number in its stream, from 1.
        data: JSON text.
    """

    seq: int
    name: Literal["snapshot", "event"]
    data: str


class FrameBuffer:
    """The newest frames of a stream.

    Attributes:
        stream: names the stream; a reader of another stream cannot go on here.
        seq: of the newest frame, 0 before the first.
    """

    def __init__(
        self, stream: str, *, most_frames: int = MOST_FRAMES, most_bytes: int = MOST_BYTES
    ) -> None:
        self.stream = stream
        self.seq = 0
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes

    def add(self, name: Literal["snapshot", "event"], data: str) -> Frame:
        """Number a frame and keep it; the oldest make room."""
        self.seq += 1
        frame = Frame(seq=self.seq, name=name, data=data)
        self._frames.append(frame)
        self._bytes += text_bytes(data)
        while len(self._frames) > self._most_frames or self._bytes > self._most_bytes:
            self._bytes -= text_bytes(self._frames.popleft().data)
        return frame

    def id_of(self, frame: Frame) -> str:
        """Give the ``id`` of a frame, ``stream:seq``."""
        return f"{self.stream}:{frame.seq}"

    def after(self, last_event_id: str) -> list[Frame] | None:
        """Give what came after a frame; None where it is not known or not kept any more."""
        stream, _, number = last_event_id.rpartition(":")
        if stream != self.stream or not (number.isascii() and number.isdecimal()):
            return None
        seen = int(number)
        oldest = self._frames[0].seq if self._frames else self.seq + 1
        if not oldest - 1 <= seen <= self.seq:
            return None
        return [frame for frame in self._frames if frame.seq > seen]
