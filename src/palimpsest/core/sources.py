"""Where each row of a dispatched request came from; no text of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from palimpsest.core.view import FoldedRow, MessageRow, RepairRow, Row, SummaryRow


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySource:
    """A message of the history, or the lasting parts of one that is summarised."""

    index: int
    kind: Literal["history"] = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSource:
    """The summary of the messages before ``summarised_before``."""

    id: str
    summarised_before: int
    kind: Literal["checkpoint"] = "checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSource:
    """Skills expanded in front of the prompt at ``index``.

    Attributes:
        ids: their names, in the order in which they stand.
        revisions: SHA-256 of each one's text, hexadecimal.
    """

    index: int
    ids: tuple[str, ...]
    revisions: tuple[str, ...]
    kind: Literal["skills"] = "skills"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSource:
    """A stand-in result for a call of message ``index`` that has none."""

    index: int
    call_id: str
    kind: Literal["repair"] = "repair"


Source: TypeAlias = HistorySource | CheckpointSource | SkillSource | RepairSource


def source_map(rows: Iterable[Row], skills: Mapping[int, SkillSource]) -> tuple[Source, ...]:
    """Give the sources of a view's rows, in their order.

    Args:
        rows: of the view as it was sent.
        skills: by the index of the prompt that they stand in front of; such a prompt's row has two
            sources.
    """
    return tuple(source for row in rows for source in _sources(row, skills))


def _sources(row: Row, skills: Mapping[int, SkillSource]) -> Iterator[Source]:
    match row:
        case MessageRow(index=index):
            if index in skills:
                yield skills[index]
            yield HistorySource(index=index)
        case FoldedRow(index=index):
            yield HistorySource(index=index)
        case SummaryRow():
            yield CheckpointSource(id=row.checkpoint, summarised_before=row.summarised_before)
        case RepairRow():
            yield RepairSource(index=row.index, call_id=row.call_id)
        case _:
            assert_never(row)
