"""Commits are checked against the history before anything of them is written.

What is checked is the same for every store. A failed commit leaves an intake as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, islice

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import (
    InvalidMessageError,
    InvalidRecordError,
    OriginalsChangedError,
)
from palimpsest.core.outline import MessageOutline, Outline, Prefix
from palimpsest.core.record_checks import check_records
from palimpsest.core.record_codec import JsonObject
from palimpsest.core.records import (
    Checkpoint,
    Clearing,
    Record,
    Restore,
    Trim,
    active_checkpoint,
)
from palimpsest.formats.pydantic_ai import outline
from palimpsest.session.store import Commit, Loaded, TornTail
from palimpsest.storage.codec import (
    StoredRecord,
    dump_changes,
    read_changes,
    read_stored_records,
)
from palimpsest.storage.covers import PrefixHash, changed_originals
from palimpsest.storage.framing import (
    MalformedError,
    decode_message,
    dump_json,
    encode_message,
    load_object,
)
from palimpsest.storage.header import SessionHeader
from palimpsest.storage.pairing import OpenCalls

LineReader = Callable[[int, int], Iterable[bytes]]
"""Gives the stored lines of the messages ``start <= index < stop``, newlines included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A commit that may be written.

    Attributes:
        lines: the new messages, newlines included.
        records: JSON of the new records.
        changes: JSON of the header changes.
    """

    lines: tuple[bytes, ...]
    records: list[JsonObject]
    changes: JsonObject
    header: SessionHeader
    stored: tuple[StoredRecord, ...]
    open_calls: OpenCalls
    measured: tuple[MessageOutline, ...]
    outline: Outline | None
    prefix: PrefixHash

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to store."""
        return not (self.lines or self.records or self.changes)


class Intake:
    """What has been committed to a session, and the check of what is to come.

    Attributes:
        header: as of the newest commit.
        records: all of them, oldest first.
        message_count: messages of the whole history.
    """

    def __init__(
        self,
        *,
        name: str,
        header: SessionHeader,
        records: Iterable[StoredRecord],
        message_count: int,
        open_calls: OpenCalls,
        read_lines: LineReader,
        read_originals: Callable[[int, int], Sequence[ModelMessage]],
    ) -> None:
        self.header = header
        self.records = list(records)
        self.message_count = message_count
        self._name = name
        self._open_calls = open_calls
        self._read_lines = read_lines
        self._read_originals = read_originals
        self._prefix = PrefixHash()
        self._outline: Outline | None = None

    def active_cut(self) -> int:
        """Give the first message of the live tail: the active checkpoint's cut, or 0."""
        checkpoint = active_checkpoint([stored.record for stored in self.records])
        return 0 if checkpoint is None else checkpoint.first_kept_message_index

    def loaded(
        self,
        messages: Iterable[ModelMessage],
        *,
        first_message_index: int,
        recovered: TornTail | None = None,
        read_only: bool = False,
    ) -> Loaded:
        """Give what is stored, with the messages from an index on."""
        return Loaded(
            header=deepcopy(self.header),
            messages=tuple(messages),
            records=tuple(item.record for item in self.records),
            receipts=_Receipts(self.records),
            originals=self._read_originals,
            first_message_index=first_message_index,
            message_count=self.message_count,
            recovered=recovered,
            read_only=read_only,
        )

    def prepare(self, commit: Commit) -> Prepared:
        """Check a commit and give what to write; nothing is remembered before ``accept``.

        Raises:
            InvalidMessageError: a message cannot be stored, or calls and results do not pair.
            InvalidRecordError: a record is not valid against the history.
            OriginalsChangedError: a restore names a checkpoint whose messages were changed.
        """
        lines, measured, open_calls = self._take_messages(commit)
        prefix, records = self._cover(commit.records, lines)
        history = self._check_records(records, measured)
        try:
            stored = _with_receipts(records, commit.receipts)
            changes = load_object(dump_json(dump_changes(commit.header)))
            objects = [load_object(dump_json(item.dump())) for item in stored]
            header = read_changes(changes).apply(self.header)
        except ValueError as error:
            raise InvalidRecordError("the commit", "header or receipt", str(error)) from error
        return Prepared(
            lines=lines,
            records=objects,
            changes=changes,
            header=header,
            stored=tuple(_held_once(stored, read_stored_records(list(objects)))),
            open_calls=open_calls,
            measured=measured,
            outline=history,
            prefix=prefix,
        )

    def accept(self, prepared: Prepared) -> None:
        """Remember a commit that was stored."""
        self.message_count += len(prepared.lines)
        self.header = prepared.header
        self.records += prepared.stored
        self._open_calls = prepared.open_calls
        self._prefix = prepared.prefix
        if prepared.outline is not None:
            # What the next record is checked against begins with the newest cut.
            self._outline = prepared.outline.behind(max(prepared.outline.first, self.active_cut()))
        elif self._outline is not None:
            for message in prepared.measured:
                self._outline.append(message)

    def _take_messages(
        self, commit: Commit
    ) -> tuple[tuple[bytes, ...], tuple[MessageOutline, ...], OpenCalls]:
        lines: list[bytes] = []
        measured: list[MessageOutline] = []
        open_calls = self._open_calls
        for index, message in enumerate(commit.messages, self.message_count):
            try:
                line = encode_message(message)
            except MalformedError as error:
                raise InvalidMessageError(index, str(error)) from error
            measured.append(outline(decode_message(line)))
            open_calls.require_call_for_each_result(index, measured[-1])
            open_calls = open_calls.after(index, measured[-1])
            open_calls.require_answers_before(index)
            lines.append(line)
        return tuple(lines), tuple(measured), open_calls

    # --- records ---------------------------------------------------------------------------------

    def _check_records(
        self, new: Sequence[Record], measured: Sequence[MessageOutline]
    ) -> Outline | None:
        """Check new records; gives the outline that was used and now holds the new messages."""
        known = [item.record for item in self.records]
        needed = [_first_needed(record, [*known, *new]) for record in new]
        first = min((index for index in needed if index is not None), default=None)
        if first is None:
            check_records([*known, *new], Outline(), known=len(known))
            return None
        history = self._take_outline(first)
        for message in measured:
            history.append(message)
        check_records([*known, *new], history, known=len(known))
        return history

    def _take_outline(self, needed: int) -> Outline:
        """Take the outline of the stored history, true from message ``needed`` on.

        It is handed over: only ``accept`` gives it back, so a failed commit leaves no trace in it.
        """
        taken, self._outline = self._outline, None
        if taken is not None and taken.first <= needed:
            return taken
        start = max((cut for cut in self._cuts() if cut <= needed), default=0)
        lines = self._read_lines(start, self.message_count)
        measured = [outline(decode_message(line)) for line in lines]
        return Outline(measured, prefix=Prefix(count=start))

    def _cuts(self) -> Iterator[int]:
        for stored in self.records:
            if stored.record.kind == "checkpoint":
                yield stored.record.first_kept_message_index

    # --- what checkpoints cover ------------------------------------------------------------------

    def _cover(
        self, records: Sequence[Record], lines: Sequence[bytes]
    ) -> tuple[PrefixHash, list[Record]]:
        """Fill in what new checkpoints cover; gives also the hash to go on from."""
        prefix, done = self._prefix, list[Record]()
        for record in records:
            match record:
                case Checkpoint(covers=given):
                    prefix = self._hash_to(record.first_kept_message_index, prefix, lines)
                    if given not in ("", prefix.digest):
                        raise InvalidRecordError("the checkpoint", "covers", "is not right")
                    done.append(replace(record, covers=prefix.digest))
                case Restore(active=str(active)):
                    self._require_originals(active)
                    done.append(record)
                case _:
                    done.append(record)
        return self._prefix if prefix.count > self.message_count else prefix, done

    def _hash_to(self, cut: int, known: PrefixHash, new_lines: Sequence[bytes]) -> PrefixHash:
        if cut < known.count:
            known = PrefixHash()
        count = self.message_count
        stored = self._read_lines(known.count, min(cut, count)) if known.count < count else ()
        new = islice(new_lines, max(0, known.count - count), max(0, cut - count))
        return known.after(chain(stored, new))

    def _require_originals(self, checkpoint_id: str) -> None:
        for stored in self.records:
            record = stored.record
            if record.kind == "checkpoint" and record.id == checkpoint_id and record.covers:
                cut = record.first_kept_message_index
                if self._hash_to(cut, PrefixHash(), ()).digest != record.covers:
                    raise OriginalsChangedError(self._name, cut + 1, changed_originals(record))


class _Receipts(Mapping[str, JsonObject]):
    """Receipts by checkpoint id, read when they are looked at."""

    def __init__(self, records: Iterable[StoredRecord]) -> None:
        self._stored = {item.record.id: item.receipt for item in records if item.receipt}

    def __getitem__(self, checkpoint_id: str) -> JsonObject:
        return load_object(self._stored[checkpoint_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def _first_needed(record: Record, records: Sequence[Record]) -> int | None:
    """Give the first message that an outline must know to check a record; None where none is."""
    match record:
        case Checkpoint():
            bases = (
                item.first_kept_message_index
                for item in records
                if item.kind == "checkpoint" and item.id == record.base
            )
            return next(bases, 0)
        case Clearing():
            return min((position.message for position, _ in record.placeholders), default=0)
        case Trim():
            return record.position.message
        case Restore():
            return None


def _held_once(
    given: Iterable[StoredRecord], read: Iterable[StoredRecord]
) -> Iterator[StoredRecord]:
    """Yield records as they read back; the given one where it equals that, to share its text."""
    for mine, again in zip(given, read, strict=True):
        yield mine if mine == again else again


def _with_receipts(
    records: Sequence[Record], receipts: Mapping[str, JsonObject]
) -> list[StoredRecord]:
    checkpoints = {record.id for record in records if record.kind == "checkpoint"}
    if not receipts.keys() <= checkpoints:
        raise InvalidRecordError("a receipt", "checkpoint", "is not one of its commit")
    dumped = {key: dump_json(receipt) for key, receipt in receipts.items()}
    return [StoredRecord(record=item, receipt=dumped.get(item.id, b"")) for item in records]
