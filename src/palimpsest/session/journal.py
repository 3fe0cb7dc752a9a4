"""What of a session is not saved yet, and the one way to save it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic_ai.messages import ModelMessage

from palimpsest.core.errors import SaveFailedError
from palimpsest.core.receipt import Receipt, receipt_json
from palimpsest.core.record_codec import JsonObject
from palimpsest.core.records import Record
from palimpsest.models.finishing import finish
from palimpsest.session.accounts import Accounts
from palimpsest.session.store import Commit, Store
from palimpsest.storage.header import NO_CHANGES, HeaderChanges
from palimpsest.storage.totals import Counted


class Journal:
    """Collects messages of the step under way, and commits; each says what was used by then.

    A commit that failed stays pending, whole, until ``flush`` stores it or ``discard`` gives it up.
    """

    def __init__(self, store: Store, accounts: Accounts, *, messages: int, records: int) -> None:
        """Go on behind what is stored.

        Args:
            store: where it is stored.
            accounts: what was used so far.
            messages: how many are stored.
            records: how many are stored.
        """
        self._store = store
        self._accounts = accounts
        self._stored = Counted(messages=messages, records=records, totals=accounts.totals)
        self._unsaved: list[ModelMessage] = []
        self._pending: Commit | None = None

    @property
    def pending(self) -> Commit | None:
        """The commit that failed and waits."""
        return self._pending

    @property
    def is_stored(self) -> bool:
        """Whether nothing is noted or pending."""
        return self._pending is None and not self._unsaved

    def add(self, message: ModelMessage) -> None:
        """Note a message that the next commit stores."""
        self._unsaved.append(message)

    async def save(
        self,
        record: Record | None = None,
        receipt: Receipt | None = None,
        header: HeaderChanges = NO_CHANGES,
    ) -> bool:
        """Store what was noted and used, with a record and changes of the header, atomically.

        Returns:
            Whether a cancellation arrived meanwhile; the commit is stored all the same.

        Raises:
            SaveFailedError: the commit stays pending.
        """
        records = () if record is None else (record,)
        commit = self._with_totals(
            Commit(
                messages=tuple(self._unsaved),
                records=records,
                header=header,
                receipts=_receipts(record, receipt),
            )
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
        return await self._store_commit(
            self._with_totals(replace(self._pending, messages=messages))
        )

    def discard(self) -> Commit | None:
        """Give pending and unsaved work up; what is lost is returned."""
        kept = self._pending or Commit()
        lost = replace(kept, messages=(*kept.messages, *self._unsaved))
        self._pending, self._unsaved = None, []
        return None if lost == Commit() else lost

    def _after(self, commit: Commit) -> Counted:
        return Counted(
            messages=self._stored.messages + len(commit.messages),
            records=self._stored.records + len(commit.records),
            totals=self._accounts.totals,
        )

    def _with_totals(self, commit: Commit) -> Commit:
        """Let a commit say what was used, if that has changed."""
        counted = self._after(commit)
        if counted.totals == self._stored.totals:
            return commit
        return replace(commit, header=replace(commit.header, counted=counted))

    async def _store_commit(self, commit: Commit) -> bool:
        self._unsaved = []
        try:
            _, cancelled = await finish(self._store.commit(commit))
        except SaveFailedError:
            self._pending = commit
            raise
        self._pending = None
        said = commit.header.counted or self._stored
        self._stored = replace(self._after(commit), totals=said.totals)
        return cancelled


def _receipts(record: Record | None, receipt: Receipt | None) -> Mapping[str, JsonObject]:
    if record is None or receipt is None:
        return {}
    return {record.id: receipt_json(receipt)}
