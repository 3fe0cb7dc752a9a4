"""What a session needs of its storage: a handful of values and one small protocol.

A store keeps an append-only history of messages, an append-only list of records, and a header.
``intake.Intake`` checks commits and ``storage.codec`` writes values as JSON for every store, so
that a new one has only to keep bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic_ai.messages import ModelMessage

from palimpsest.core.record_codec import JsonObject
from palimpsest.core.records import Record
from palimpsest.storage.header import NO_CHANGES, HeaderChanges, SessionHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One step of a session's storage: all of it is stored, or none.

    Attributes:
        messages: put behind the history, in order.
        records: put behind the records, in order. A checkpoint's empty ``covers`` is filled in by
            the store; one that is not empty must be right.
        header: changes of the header.
        receipts: the receipt, as JSON, of each checkpoint of this commit that has one, by id.
    """

    messages: tuple[ModelMessage, ...] = ()
    records: tuple[Record, ...] = ()
    header: HeaderChanges = NO_CHANGES
    receipts: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])


@dataclass(frozen=True, slots=True, kw_only=True)
class TornTail:
    """An incomplete commit found behind the last whole one; it was never acknowledged.

    Attributes:
        bytes: its length.
        moved_to: the file that holds it now, or empty where it was only ignored (read-only).
    """

    bytes: int
    moved_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a store holds. All of it is the caller's own.

    Attributes:
        header: as of the newest commit.
        messages: those from ``first_message_index`` on, oldest first.
        records: all of them, oldest first.
        receipts: by checkpoint id.
        originals: reads the stored messages ``start <= index < stop``; blocks, and raises what
            ``read_range`` does.
        first_message_index: index in the history of the first of ``messages``.
        message_count: messages of the whole history.
        recovered: what was found torn on opening, or None.
        read_only: commits are refused.
    """

    header: SessionHeader
    messages: tuple[ModelMessage, ...]
    records: tuple[Record, ...]
    receipts: Mapping[str, JsonObject]
    originals: Callable[[int, int], Sequence[ModelMessage]] = field(compare=False, repr=False)
    first_message_index: int
    message_count: int
    recovered: TornTail | None = None
    read_only: bool = False


class Store(Protocol):
    """One session's storage, used by one session at a time.

    Contract: opening takes the session's lock and closing gives it back. What ``commit`` returned
    for is stored durably and is in every later load. A commit that raised left nothing behind and
    may be tried again as it is. Work that blocks runs in a thread. Calls that arrive together are
    done one after another. A commit once begun is finished even if its caller is cancelled: the
    call returns only then, and raises the cancellation only if the commit was stored. Values given
    and returned are never shared with the store.
    """

    async def load(self) -> Loaded:
        """Load the header, all messages and all records.

        Raises:
            SessionFileError: stored messages cannot be read.
            StoreClosedError: after ``close``.
        """
        ...

    async def load_tail(self, first_message_index: int | None = None) -> Loaded:
        """Load what ``load`` does without the messages before an index.

        Args:
            first_message_index: 0-based; None is the cut of the active checkpoint, or 0.

        Raises:
            SessionFileError: stored messages cannot be read.
            StoreClosedError: after ``close``.
        """
        ...

    async def read_range(self, start: int, stop: int) -> Sequence[ModelMessage]:
        """Load the messages ``start <= index < stop``, or as many of them as there are.

        Raises:
            SessionFileError: stored messages cannot be read.
            StoreClosedError: after ``close``.
        """
        ...

    async def commit(self, commit: Commit) -> None:
        """Store a commit whole and durably; its cost depends on what is new only.

        A restore also reads the messages its checkpoint covers; the first checkpoint after
        opening reads those before its cut.

        Raises:
            InvalidMessageError: a message cannot be stored, or tool calls and results do not pair.
            InvalidRecordError: a record is not valid against the history.
            OriginalsChangedError: a restore names a checkpoint whose messages were changed.
            SaveFailedError: with the operating system's reason.
            SessionReadOnlyError: the store was opened read-only.
            StoreClosedError: after ``close``.
        """
        ...

    async def close(self) -> None:
        """Give the lock back; a second call does nothing."""
        ...
