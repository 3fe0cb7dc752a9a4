"""A store that keeps a session in memory: for short-lived sessions and for tests."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import StoreClosedError
from palimpsest.session.intake import Intake
from palimpsest.session.store import Commit, Loaded
from palimpsest.storage.codec import header_object, read_header
from palimpsest.storage.framing import decode_message, dump_json, load_object
from palimpsest.storage.header import SessionHeader
from palimpsest.storage.pairing import OpenCalls


class MemoryStore:
    """One session in memory; it keeps bytes, so that nothing is shared with who committed it.

    Raises:
        InvalidSettingError: an unknown key of the header has the name of a known one.
    """

    def __init__(self, header: SessionHeader) -> None:
        self._lines: list[bytes] = []
        self._closed = False
        self._intake = Intake(
            name="the session",
            header=read_header(load_object(dump_json(header_object(header, (), ())))),
            records=(),
            message_count=0,
            open_calls=OpenCalls(),
            read_lines=lambda start, stop: self._lines[start:stop],
            read_originals=self._read_originals,
        )

    async def load(self) -> Loaded:
        """Load everything; see ``Store``."""
        return await self.load_tail(0)

    async def load_tail(self, first_message_index: int | None = None) -> Loaded:
        """Load everything but the messages before an index; see ``Store``."""
        self._require_open()
        start = self._intake.active_cut() if first_message_index is None else first_message_index
        start = min(start, len(self._lines))
        messages = map(decode_message, self._lines[start:])
        return self._intake.loaded(messages, first_message_index=start)

    async def read_range(self, start: int, stop: int) -> Sequence[ModelMessage]:
        """Load a range of messages; see ``Store``."""
        return self._read_originals(start, stop)

    async def commit(self, commit: Commit) -> None:
        """Keep a commit; see ``Store``."""
        self._require_open()
        prepared = self._intake.prepare(commit)
        self._lines += prepared.lines
        self._intake.accept(prepared)

    async def close(self) -> None:
        """Refuse what comes after; see ``Store``."""
        self._closed = True

    def _read_originals(self, start: int, stop: int) -> Sequence[ModelMessage]:
        self._require_open()
        return [decode_message(line) for line in self._lines[max(0, start) : max(0, stop)]]

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosedError
