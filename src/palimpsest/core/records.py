"""What was decided about the view, as records: the history itself never changes (SPEC section 8).

A session's records are an append-only list; ``ViewState`` is its fold. The newest record of any
kind decides the view, and none is ever removed: undoing is one more record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias, assert_never

from palimpsest.core.outline import Position, Prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryUsage:
    """Native usage of the calls that wrote a summary; all counters finite and not negative."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A saved summary and its cut.

    Attributes:
        id: UUID, unique among the session's records.
        base: id of the checkpoint that was active when this one was made, or None when it was
            made on the full history.
        first_kept_message_index: the cut; this message and all after it are shown as they are.
        history_message_count: messages the history had when the checkpoint was made.
        summary: what stands in the view for the messages before the cut; not blank.
        timestamp: milliseconds since the epoch.
        provider: who wrote the summary (``extractive`` when no model did).
        model: the model that wrote it, or empty.
        usage: what writing it cost.
        split: the cut is a step boundary inside a turn, not a turn start.
        covers: SHA-256 of the stored message lines before the cut, hexadecimal, or empty.
        prefix: what to know of those messages to go on without them; None where nobody said.
    """

    id: str
    base: str | None
    first_kept_message_index: int
    history_message_count: int
    summary: str
    timestamp: int
    provider: str
    model: str
    usage: SummaryUsage = field(default_factory=SummaryUsage)
    split: bool = False
    covers: str = ""
    prefix: Prefix | None = None
    kind: Literal["checkpoint"] = "checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearing:
    """Old tool outputs that the view shows as placeholders.

    Attributes:
        placeholders: text shown at each position, in ascending order of positions.
        tokens_reclaimed: Σ (original − placeholder) in pruning sizes, over what was replaced.
    """

    id: str
    timestamp: int
    placeholders: tuple[tuple[Position, str], ...]
    tokens_reclaimed: int
    kind: Literal["clearing"] = "clearing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trim:
    """One oversized tool output that the view shows by head and tail.

    Attributes:
        head_characters: code points shown from the start, not negative.
        tail_characters: code points shown from the end, not negative.
        shown_tokens: estimate of the text that stands in the view, the notice included.
        shown_bytes: UTF-8 bytes of that text.
    """

    id: str
    timestamp: int
    position: Position
    head_characters: int
    tail_characters: int
    shown_tokens: int
    shown_bytes: int
    kind: Literal["trim"] = "trim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """An undo: makes an earlier checkpoint, or none, the active one.

    Attributes:
        active: id of the checkpoint that is active from now on, or None.
        outputs_shown: outputs cleared or trimmed so far are shown whole again, and are exempt
            from pruning at the start of later prompts.
    """

    id: str
    timestamp: int
    active: str | None
    outputs_shown: bool
    kind: Literal["restore"] = "restore"


Record: TypeAlias = Checkpoint | Clearing | Trim | Restore


def _no_placeholders() -> Mapping[Position, str]:
    return MappingProxyType({})


def _no_trims() -> Mapping[Position, Trim]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewState:
    """What all records so far add up to.

    Attributes:
        checkpoint: the active checkpoint, or None when the view shows the full history.
        cleared: placeholder per cleared position.
        trimmed: trim per trimmed position.
        shown_again: positions exempt from pruning because a restore showed them again.
        held: the newest checkpoint or restore is a restore, so automatic compaction waits until
            the request does not fit.
    """

    checkpoint: Checkpoint | None = None
    cleared: Mapping[Position, str] = field(default_factory=_no_placeholders)
    trimmed: Mapping[Position, Trim] = field(default_factory=_no_trims)
    shown_again: frozenset[Position] = frozenset()
    held: bool = False

    def after(self, record: Record, checkpoints: Mapping[str, Checkpoint]) -> ViewState:
        """Give the state once ``record`` stands behind the others.

        Args:
            record: the record to add.
            checkpoints: every checkpoint of the session by id; a restore names one of them.

        Raises:
            KeyError: a restore names no checkpoint of the session; validate records first.
        """
        folded = _Fold(self)
        folded.add(record, checkpoints)
        return folded.state()


class _Fold:
    """A state while records are added to it; copies what grows once, not once a record."""

    def __init__(self, start: ViewState) -> None:
        self._state = start
        self._cleared = dict(start.cleared)
        self._trimmed = dict(start.trimmed)
        self._shown_again = set(start.shown_again)

    def add(self, record: Record, checkpoints: Mapping[str, Checkpoint]) -> None:
        match record:
            case Checkpoint():
                self._state = replace(self._state, checkpoint=record, held=False)
            case Clearing():
                self._cleared.update(record.placeholders)
            case Trim():
                self._trimmed[record.position] = record
            case Restore():
                active = None if record.active is None else checkpoints[record.active]
                self._state = replace(self._state, checkpoint=active, held=True)
                if record.outputs_shown:
                    self._shown_again |= self._cleared.keys() | self._trimmed.keys()
                    self._cleared.clear()
                    self._trimmed.clear()
            case _:
                assert_never(record)

    def state(self) -> ViewState:
        return replace(
            self._state,
            cleared=self._cleared,
            trimmed=self._trimmed,
            shown_again=frozenset(self._shown_again),
        )


def fold_records(records: Iterable[Record]) -> ViewState:
    """Fold a session's records, oldest first, into the state that decides the view.

    Raises:
        KeyError: a restore names no checkpoint before it; validate records first.
    """
    folded = _Fold(ViewState())
    checkpoints: dict[str, Checkpoint] = {}
    for record in records:
        if record.kind == "checkpoint":
            checkpoints[record.id] = record
        folded.add(record, checkpoints)
    return folded.state()


def active_checkpoint(records: Sequence[Record]) -> Checkpoint | None:
    """Give the checkpoint that the newest of a session's checkpoints and restores makes active.

    Raises:
        KeyError: a restore names no checkpoint of the session; validate records first.
    """
    for newest in reversed(records):
        match newest:
            case Checkpoint():
                return newest
            case Restore(active=None):
                return None
            case Restore(active=str(active)):
                return {item.id: item for item in records if item.kind == "checkpoint"}[active]
            case _:
                continue
    return None
