"""What must be true of a record beside the history and the records before it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from palimpsest.core.errors import InvalidRecordError
from palimpsest.core.outline import Content, Outline, Position
from palimpsest.core.records import Checkpoint, Clearing, Record, Restore, Trim


def check_records(records: Sequence[Record], outline: Outline, *, known: int = 0) -> None:
    """Check records, oldest first, against each other and the history.

    Args:
        records: all records of the session.
        outline: the whole history.
        known: how many of the first records were checked before and are taken as valid.

    Raises:
        InvalidRecordError: naming the record and the field.
    """
    checkpoints: list[Checkpoint] = []
    seen: set[str] = set()
    for number, record in enumerate(records):
        if number >= known:
            if record.id in seen:
                raise InvalidRecordError(numbered(number), "id", "stands twice")
            check_record(record, checkpoints, outline, name=numbered(number))
        seen.add(record.id)
        if record.kind == "checkpoint":
            checkpoints.append(record)


def check_record(
    record: Record, checkpoints: Sequence[Checkpoint], outline: Outline, *, name: str = "record"
) -> None:
    """Check one record against the checkpoints before it and the history.

    Raises:
        InvalidRecordError: naming the record and the field.
    """
    match record:
        case Checkpoint():
            check_checkpoint(record, checkpoints, outline, name=name)
        case Clearing():
            _check_clearing(record, outline, name)
        case Trim():
            _check_trim(record, outline, name)
        case Restore():
            known = {checkpoint.id for checkpoint in checkpoints}
            if record.active is not None and record.active not in known:
                raise InvalidRecordError(name, "active", "names no checkpoint of the session")


def _check_clearing(clearing: Clearing, outline: Outline, name: str) -> None:
    if not clearing.placeholders:
        raise InvalidRecordError(name, "placeholders", "are empty")
    positions = [position for position, _ in clearing.placeholders]
    for position in positions:
        _output_at(position, outline, name)
    if any(one >= two for one, two in pairwise(positions)):
        raise InvalidRecordError(name, "placeholders", "are not in ascending order")


def _check_trim(trim: Trim, outline: Outline, name: str) -> None:
    """Refuse what cannot be true: a view that weighs less than the text it shows."""
    content = _output_at(trim.position, outline, name)
    shown = trim.head_characters + trim.tail_characters
    if shown >= content.characters:
        raise InvalidRecordError(name, "head_characters", "and tail leave nothing out")
    if not shown <= 4 * trim.shown_tokens:
        raise InvalidRecordError(name, "shown_tokens", "is less than the shown text has")
    if not shown <= trim.shown_bytes:
        raise InvalidRecordError(name, "shown_bytes", "is less than the shown text has")


def check_checkpoint(
    checkpoint: Checkpoint,
    earlier: Sequence[Checkpoint],
    outline: Outline,
    *,
    name: str = "checkpoint",
) -> None:
    """Check one checkpoint against those before it and the history.

    Raises:
        InvalidRecordError: naming the field.
    """
    known = {item.id: item for item in earlier}
    if checkpoint.id in known:
        raise InvalidRecordError(name, "id", "stands twice")
    if checkpoint.base is not None and checkpoint.base not in known:
        raise InvalidRecordError(name, "base", "names no earlier checkpoint")
    cut, count = checkpoint.first_kept_message_index, checkpoint.history_message_count
    base_cut = 0 if checkpoint.base is None else known[checkpoint.base].first_kept_message_index
    if cut <= base_cut:
        raise InvalidRecordError(name, "first_kept_message_index", f"must be above {base_cut}")
    if cut >= count:
        raise InvalidRecordError(name, "first_kept_message_index", f"must be below {count}")
    if count > len(outline):
        raise InvalidRecordError(
            name, "history_message_count", f"is more than the history's {len(outline)} messages"
        )
    if earlier and count < earlier[-1].history_message_count:
        raise InvalidRecordError(name, "history_message_count", "is less than one before it")
    starts = outline.replies if checkpoint.split else outline.prompts
    if cut not in starts:
        boundary = "a step" if checkpoint.split else "a turn"
        raise InvalidRecordError(name, "first_kept_message_index", f"does not start {boundary}")


def numbered(number: int) -> str:
    """Name a record, counted from 0, as errors do."""
    return f"record {number + 1}"


def _output_at(position: Position, outline: Outline, name: str) -> Content:
    known = outline.first <= position.message < len(outline)
    if known and position.part < len(outline[position.message].parts):
        part = outline.part(position)
        if part.content is not None and part.clearable:
            return part.content
    raise InvalidRecordError(name, "position", f"{list(position)} is no clearable tool result")
