"""Opening a session without its whole history: the live tail, and what a cut left to be known."""

from __future__ import annotations

from palimpsest.core.outline import Prefix
from palimpsest.core.record_codec import JsonObject
from palimpsest.core.records import Checkpoint, fold_records
from palimpsest.models.timeline import Timeline
from palimpsest.session.framing import MalformedError, count_of
from palimpsest.session.store import Loaded, Store


async def load_live(store: Store) -> Loaded:
    """Load what a session needs to go on: all of it where its cut does not say what it left."""
    loaded = await store.load_tail()
    active = fold_records(loaded.records).checkpoint
    if loaded.first_message_index and (active is None or _prefix(loaded, active) is None):
        return await store.load()
    return loaded


def timeline_of(loaded: Loaded) -> Timeline:
    """Give the conversation of what ``load_live`` loaded."""
    prefixes = {
        record.id: prefix
        for record in loaded.records
        if record.kind == "checkpoint" and (prefix := _prefix(loaded, record)) is not None
    }
    return Timeline(
        loaded.messages,
        loaded.records,
        first=loaded.first_message_index,
        originals=loaded.originals,
        prefixes=prefixes,
    )


def prefix_object(prefix: Prefix) -> JsonObject:
    """Give a prefix as JSON; its count is its checkpoint's cut."""
    return {
        "turns": prefix.turns,
        "steps": prefix.steps,
        "prompt": prefix.prompt,
        "lasting": list(prefix.lasting),
    }


def _prefix(loaded: Loaded, checkpoint: Checkpoint) -> Prefix | None:
    """Read what stands with a checkpoint; None where it is missing or makes no sense."""
    stored, cut = loaded.prefixes.get(checkpoint.id), checkpoint.first_kept_message_index
    return None if stored is None else _read_prefix(stored, cut)


def _read_prefix(value: JsonObject, cut: int) -> Prefix | None:
    try:
        prompt = None if value.get("prompt") is None else count_of(value, "prompt")
        turns, steps = count_of(value, "turns"), count_of(value, "steps")
    except MalformedError:
        return None
    stored = value.get("lasting")
    lasting = stored if isinstance(stored, list) else [None]
    messages = [index for index in lasting if isinstance(index, int) and 0 <= index < cut]
    if len(messages) < len(lasting) or (prompt or 0) >= cut or (prompt is None) != (turns == 0):
        return None
    return Prefix(count=cut, turns=turns, steps=steps, prompt=prompt, lasting=tuple(messages))
