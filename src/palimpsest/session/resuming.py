"""Opening a session by its live tail: what stands before it is not read, only known of.

A file says itself what there is to know: each checkpoint what its cut left behind, the header what
was used so far. Where one does not, because another tool wrote it, the messages before the tail
are read once.
"""

from __future__ import annotations

from dataclasses import replace

from anyio import to_thread

from palimpsest.core.outline import NO_PREFIX, Outline
from palimpsest.core.records import Checkpoint, active_checkpoint
from palimpsest.models.history import History
from palimpsest.models.timeline import Timeline, measure
from palimpsest.session.accounts import Accounts
from palimpsest.session.store import Loaded, Store
from palimpsest.storage.totals import NOTHING_COUNTED, Counted


async def load_live(store: Store) -> Loaded:
    """Load what a session goes on from; all that ``timeline_of`` and ``accounts_of`` need.

    Raises:
        SessionFileError: stored messages cannot be read.
        StoreClosedError: the store is closed.
    """
    loaded = await store.load_tail()
    active = active_checkpoint(loaded.records)
    if active is None:
        return loaded
    is_counted = _counted(loaded).messages >= loaded.first_message_index
    if active.prefix is not None and is_counted:
        return loaded
    return await to_thread.run_sync(_completed, loaded, active)


def timeline_of(loaded: Loaded) -> Timeline:
    """Give the conversation of what was loaded: the whole history, or by ``load_live``."""
    prefix = NO_PREFIX
    if loaded.first_message_index:
        active = active_checkpoint(loaded.records)
        assert active is not None and active.prefix is not None
        prefix = active.prefix
    return Timeline(_history(loaded), loaded.records, prefix=prefix)


def accounts_of(loaded: Loaded) -> Accounts:
    """Give what was used so far: what the header says, and what came after."""
    counted = _counted(loaded)
    accounts = Accounts(counted.totals)
    uncounted = max(0, counted.messages - loaded.first_message_index)
    accounts.count_stored(loaded.messages[uncounted:], loaded.records[counted.records :])
    return accounts


def _completed(loaded: Loaded, active: Checkpoint) -> Loaded:
    """Read the messages before the tail, for what the file does not say of them."""
    counted, cut = _counted(loaded), loaded.first_message_index
    measured, accounts = Outline(), Accounts(counted.totals)
    for index, message in enumerate(_history(loaded).read(0, cut + 1)):
        measured.append(measure(message))
        if counted.messages <= index < cut:
            accounts.count_stored([message], ())
    counted = replace(counted, messages=max(cut, counted.messages), totals=accounts.totals)
    known = replace(active, prefix=active.prefix or measured.prefix(cut))
    records = tuple(known if record is active else record for record in loaded.records)
    return replace(loaded, records=records, header=replace(loaded.header, counted=counted))


def _history(loaded: Loaded) -> History:
    return History(loaded.messages, first=loaded.first_message_index, originals=loaded.originals)


def _counted(loaded: Loaded) -> Counted:
    """Give what the header counts, unless it counts what is not there."""
    counted = loaded.header.counted
    if counted.messages > loaded.message_count or counted.records > len(loaded.records):
        return NOTHING_COUNTED
    return counted
