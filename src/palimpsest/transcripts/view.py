"""What a compacted conversation keeps of a recording's raw records."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pydantic_ai.messages import ModelRequest, ToolReturnPart

from palimpsest.core.errors import InvalidSettingError
from palimpsest.formats.content import as_record, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Built, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedView:
    """A view of a recording, to be written in the recording's own format.

    Attributes:
        kept_message_indices: messages that stay, ascending.
        cleared: text that replaces a tool result, by message index and call id.
        summary: the whole text of the summary message, lead-in included; None where nothing was
            summarised.
        kept_prompt_index: a prompt that stands verbatim between the summary and the kept
            messages, because they begin inside its turn; None where they begin with a turn.
    """

    kept_message_indices: tuple[int, ...]
    cleared: Mapping[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    summary: str | None = None
    kept_prompt_index: int | None = None


@dataclass(slots=True)
class KeptRecord:
    """A raw record of the view.

    Attributes:
        entry: its position among the raw records of the file.
        blocks: the content blocks that stay, None for all.
        cleared: replacement text of a result by block; the key None stands for the whole content.
    """

    entry: int
    blocks: set[int] | None
    cleared: dict[int | None, str]


class KeptRecords(NamedTuple):
    """Raw records in front of the summary and behind it."""

    before_summary: list[KeptRecord]
    after_summary: list[KeptRecord]


def kept_records(built: Built, view: CompactedView) -> KeptRecords:
    """The raw records of a view.

    Kept messages that the recording begins with, and that a gap follows, stand before the summary.

    Raises:
        InvalidSettingError: the view names messages that the recording does not have.
    """
    indices = view.kept_message_indices
    count = len(built.recording.messages)
    ascending = list(indices) == sorted(set(indices))
    if not ascending or any(not 0 <= index < count for index in indices):
        expected = f"ascending positions below {count}"
        raise InvalidSettingError("kept_message_indices", indices, expected)
    if view.kept_prompt_index is not None and not 0 <= view.kept_prompt_index < count:
        raise InvalidSettingError("kept_prompt_index", view.kept_prompt_index, f"below {count}")
    leading = 0
    while leading < len(indices) and indices[leading] == leading:
        leading += 1
    if leading == len(indices):
        leading = 0
    prompt = [] if view.kept_prompt_index is None else [view.kept_prompt_index]
    return KeptRecords(
        _records(built, indices[:leading], view),
        _records(built, prompt, view) + _records(built, indices[leading:], view),
    )


def _records(built: Built, indices: Iterable[int], view: CompactedView) -> list[KeptRecord]:
    records = dict[int, KeptRecord]()
    for index in indices:
        placeholders = _placeholders(built, index, view)
        for position, origin in enumerate(built.origins[index]):
            _keep(records, origin, placeholders.get(position))
    return [records[entry] for entry in sorted(records)]


def _placeholders(built: Built, index: int, view: CompactedView) -> dict[int, str]:
    message = built.recording.messages[index].message
    if not isinstance(message, ModelRequest):
        return {}
    return {
        position: view.cleared[index, part.tool_call_id]
        for position, part in enumerate(message.parts)
        if isinstance(part, ToolReturnPart) and (index, part.tool_call_id) in view.cleared
    }


def _keep(records: dict[int, KeptRecord], origin: Origin, placeholder: str | None) -> None:
    blocks: set[int] | None = None if origin.block is None else set()
    record = records.setdefault(origin.entry, KeptRecord(origin.entry, blocks, {}))
    if record.blocks is not None and origin.block is not None:
        record.blocks.add(origin.block)
    if placeholder is not None:
        record.cleared[origin.block] = placeholder


def kept_content(content: Json, record: KeptRecord) -> Json:
    """The content of a record as the view shows it."""
    if None in record.cleared:
        return record.cleared[None]
    if not isinstance(content, list):
        return content
    return [
        {**as_record(block), "content": record.cleared[position]}
        if position in record.cleared
        else block
        for position, block in enumerate(content)
        if record.blocks is None or position in record.blocks
    ]


def made_up_id(record: KeptRecord) -> str:
    """An id, in hexadecimal, for a record that has none."""
    return hashlib.sha256(f"palimpsest:{record.entry}".encode()).hexdigest()


class Writing(NamedTuple):
    """How a format writes what a view changes in a list of raw records.

    Attributes:
        summary: gives the records that stand for a summary, from its text and what it replaces.
        shown: gives a record as the view keeps it: only blocks that stay, results cleared.
        leads: whether a record in front of all messages stays: settings, system text.
    """

    summary: Callable[[str, Sequence[Json]], list[Json]]
    shown: Callable[[Record, KeptRecord], Json]
    leads: Callable[[Record], bool]


def view_records(
    records: Sequence[Json], built: Built, view: CompactedView, writing: Writing
) -> list[Json]:
    """The raw records of a view: what leads in, first messages, the summary, kept messages."""
    first = min((o.entry for origins in built.origins for o in origins), default=len(records))
    kept = kept_records(built, view)
    stays = {record.entry for record in (*kept.before_summary, *kept.after_summary)}
    replaced = [record for entry, record in enumerate(records) if entry not in stays]
    return [
        *(record for record in records[:first] if writing.leads(as_record(record))),
        *_shown(kept.before_summary, records, writing),
        *([] if view.summary is None else writing.summary(view.summary, replaced)),
        *_shown(kept.after_summary, records, writing),
    ]


def _shown(kept: Iterable[KeptRecord], records: Sequence[Json], writing: Writing) -> list[Json]:
    """Kept records; what is no object, or stands beside the list, cannot be edited."""
    found = [(records[one.entry], one) for one in kept if one.entry < len(records)]
    return [
        uncounted(as_record(writing.shown(raw, one))) if isinstance(raw, dict) else raw
        for raw, one in found
    ]


_COUNTS = frozenset({"usage", "metrics", "tokens", "usage_metadata", "token_usage"})
_AROUND = frozenset(
    {"message", "info", "data", "kwargs", "extra", "response", "response_metadata"}
    | {"tool_call_metadata", "model_response"}
)
"""Envelopes in which formats keep what came with a message; never arguments or content."""


def uncounted(record: Record) -> Record:
    """A record with its usage at zero: the provider counted a context that is gone."""
    shown: Record = {}
    for key, value in record.items():
        is_record = isinstance(value, dict)
        if is_record and key in _COUNTS:
            shown[key] = _zeroed(value)
        elif is_record and key in _AROUND:
            shown[key] = uncounted(as_record(value))
        elif key == "parts" and isinstance(value, list):
            shown[key] = [uncounted(v) if isinstance(v, dict) else v for v in value]
        else:
            shown[key] = value
    return shown


def _zeroed(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _zeroed(item) for key, item in value.items()}
    is_count = isinstance(value, int | float) and not isinstance(value, bool)
    return 0 if is_count else value


def is_system(record: Record) -> bool:
    """Whether a record of a list of messages is system text."""
    return as_text(record.get("role")) in {"system", "developer"}
