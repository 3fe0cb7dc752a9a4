"""What of a session is not saved yet, and the one way to save it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import SaveFailedError
from palimpsest.core.outline import Prefix
from palimpsest.core.receipt import Receipt, receipt_json
from palimpsest.core.record_codec import JsonObject
from palimpsest.core.records import Record
from palimpsest.models.engine import finish
from palimpsest.session.resuming import prefix_object
from palimpsest.session.store import NO_CHANGES, Commit, HeaderChanges, Store


class Journal:
    """Collects messages of the step under way, and commits.

    A commit that failed stays pending, whole, until ``flush`` stores it or ``discard`` gives it up.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unsaved: list[ModelMessage] = []
        self._pending: Commit | None = None

    @property
    def is_stored(self) -> bool:
        """Whether nothing is noted or pending."""
        return self._pending is None and not self._unsaved

    @property
    def pending(self) -> Commit | None:
        """The commit that failed and waits."""
        return self._pending

    def add(self, message: ModelMessage) -> None:
        """Note a message that the next commit stores."""
        self._unsaved.append(message)

    async def save(
        self,
        record: Record | None = None,
        receipt: Receipt | None = None,
        header: HeaderChanges = NO_CHANGES,
        prefix: Prefix | None = None,
    ) -> bool:
        """Store what was noted, with a record and changes of the header, atomically.

        Returns:
            Whether a cancellation arrived meanwhile; the commit is stored all the same.

        Raises:
            SaveFailedError: the commit stays pending.
        """
        records = () if record is None else (record,)
        commit = Commit(
            messages=tuple(self._unsaved),
            records=records,
            header=header,
            receipts=_receipts(record, receipt),
            prefixes={} if record is None or prefix is None else {record.id: prefix_object(prefix)},
        )
        if commit == Commit():
            return False
        return await self._store_commit(commit)

    async def flush(self) -> bool:
        """Store a pending commit, and what was noted since; nothing is generated, no tool runs.

        Returns:
            Whether a cancellation arrived meanwhile.

        Raises:
            SaveFailedError: it stays pending.
        """
        if self._pending is None:
            return False
        messages = (*self._pending.messages, *self._unsaved)
        return await self._store_commit(replace(self._pending, messages=messages))

    def discard(self) -> Commit | None:
        """Give pending and unsaved work up; what is lost is returned."""
        kept = self._pending or Commit()
        lost = replace(kept, messages=(*kept.messages, *self._unsaved))
        self._pending, self._unsaved = None, []
        return None if lost == Commit() else lost

    async def _store_commit(self, commit: Commit) -> bool:
        self._unsaved = []
        try:
            _, cancelled = await finish(self._store.commit(commit))
        except SaveFailedError:
            self._pending = commit
            raise
        self._pending = None
        return cancelled


def _receipts(record: Record | None, receipt: Receipt | None) -> Mapping[str, JsonObject]:
    if record is None or receipt is None:
        return {}
    return {record.id: receipt_json(receipt)}
