"""A stored receipt read back; ``receipt.receipt_json`` wrote it."""

from __future__ import annotations

from typing import TypeVar

from palimpsest.core.errors import InvalidRecordError
from palimpsest.core.excerpt import Json
from palimpsest.core.receipt import (
    CompactionFigures,
    CompactionTrigger,
    Fact,
    Facts,
    IdentifierCounts,
    Receipt,
)
from palimpsest.core.record_codec import JsonObject

_T = TypeVar("_T", str, int, bool, float)

_TRIGGERS: tuple[CompactionTrigger, ...] = ("manual", "automatic", "overflow", "model_switch")


def read_receipt(value: JsonObject) -> Receipt:
    """Give the receipt of a JSON object.

    Raises:
        InvalidRecordError: naming the field that is not as it should be.
    """
    identifiers = _object(value, "identifiers")
    return Receipt(
        figures=_figures(_object(value, "figures")),
        reduced=_scalar(value, "reduced", bool),
        files_read=_facts(value, "files_read"),
        files_changed=_facts(value, "files_changed"),
        commands=_facts(value, "commands"),
        open_errors=_facts(value, "open_errors"),
        user_rules=_facts(value, "user_rules"),
        identifiers=IdentifierCounts(
            in_view=_scalar(identifiers, "in_view", int), total=_scalar(identifiers, "total", int)
        ),
    )


def _figures(value: JsonObject) -> CompactionFigures:
    cost = value.get("cost_usd")
    return CompactionFigures(
        trigger=_trigger(value),
        tokens_before=_scalar(value, "tokens_before", int),
        tokens_after=_scalar(value, "tokens_after", int),
        messages_summarised=_scalar(value, "messages_summarised", int),
        messages_kept=_scalar(value, "messages_kept", int),
        turns_summarised=_scalar(value, "turns_summarised", int),
        turns_kept=_scalar(value, "turns_kept", int),
        steps_summarised=_scalar(value, "steps_summarised", int),
        steps_kept=_scalar(value, "steps_kept", int),
        outputs_cleared=_scalar(value, "outputs_cleared", int),
        duration_ms=_scalar(value, "duration_ms", int),
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
        warnings=tuple(text for text in _list(value, "warnings") if isinstance(text, str)),
    )


def _trigger(value: JsonObject) -> CompactionTrigger:
    for known in _TRIGGERS:
        if known == value.get("trigger"):
            return known
    raise _wrong("trigger", "is none that is known")


def _facts(value: JsonObject, name: str) -> Facts:
    facts = _object(value, name)
    return Facts(
        newest=tuple(_fact(item) for item in _list(facts, "newest") if isinstance(item, dict)),
        in_view=_scalar(facts, "in_view", int),
        total=_scalar(facts, "total", int),
    )


def _fact(value: JsonObject) -> Fact:
    return Fact(
        text=_scalar(value, "text", str),
        detail=_scalar(value, "detail", str),
        message_index=_scalar(value, "message_index", int),
        in_view=_scalar(value, "in_view", bool),
    )


def _scalar(value: JsonObject, name: str, kind: type[_T]) -> _T:
    found = value.get(name)
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise _wrong(name, f"must be of type {kind.__name__}")
    return found


def _object(value: JsonObject, name: str) -> JsonObject:
    found = value.get(name)
    if not isinstance(found, dict):
        raise _wrong(name, "must be an object")
    return found


def _list(value: JsonObject, name: str) -> list[Json]:
    found = value.get(name)
    if not isinstance(found, list):
        raise _wrong(name, "must be a list")
    return found


def _wrong(field: str, reason: str) -> InvalidRecordError:
    return InvalidRecordError("receipt", field, reason)
