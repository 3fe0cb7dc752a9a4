"""Records as JSON, read strictly; ``record_checks`` holds what they must say of the history."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from palimpsest.core.errors import InvalidRecordError
from palimpsest.core.excerpt import Json
from palimpsest.core.outline import Outline, Position, Prefix
from palimpsest.core.record_checks import check_checkpoint, check_records, numbered
from palimpsest.core.records import Checkpoint, Clearing, Record, Restore, SummaryUsage, Trim

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHA256 = re.compile(r"[0-9a-f]{64}")

JsonObject: TypeAlias = dict[str, Json]


def dump_record(record: Record) -> JsonObject:
    """Give the JSON object of a record; ``load_records`` reads it back."""
    match record:
        case Checkpoint():
            return {
                "kind": record.kind,
                "id": record.id,
                "base": record.base,
                "first_kept_message_index": record.first_kept_message_index,
                "history_message_count": record.history_message_count,
                "summary": record.summary,
                "timestamp": record.timestamp,
                "provider": record.provider,
                "model": record.model,
                "usage": {
                    "input": record.usage.input,
                    "output": record.usage.output,
                    "cache_read": record.usage.cache_read,
                    "cache_write": record.usage.cache_write,
                },
                "split": record.split,
                **({"covers": record.covers} if record.covers else {}),
                **({} if record.prefix is None else {"prefix": _dump_prefix(record.prefix)}),
            }
        case Clearing():
            return {
                "kind": record.kind,
                "id": record.id,
                "timestamp": record.timestamp,
                "placeholders": [
                    [position.message, position.part, text]
                    for position, text in record.placeholders
                ],
                "tokens_reclaimed": record.tokens_reclaimed,
            }
        case Trim():
            return {
                "kind": record.kind,
                "id": record.id,
                "timestamp": record.timestamp,
                "position": [record.position.message, record.position.part],
                "head_characters": record.head_characters,
                "tail_characters": record.tail_characters,
                "shown_tokens": record.shown_tokens,
                "shown_bytes": record.shown_bytes,
            }
        case Restore():
            return {
                "kind": record.kind,
                "id": record.id,
                "timestamp": record.timestamp,
                "active": record.active,
                "outputs_shown": record.outputs_shown,
            }


def _dump_prefix(prefix: Prefix) -> JsonObject:
    """Give a prefix without its count, which is its checkpoint's cut."""
    return {
        "turns": prefix.turns,
        "steps": prefix.steps,
        "prompt": prefix.prompt,
        "lasting": list(prefix.lasting),
    }


def load_checkpoints(value: Json, outline: Outline) -> tuple[Checkpoint, ...]:
    """Read a list of checkpoints, oldest first, and check each against the history.

    A checkpoint without ``base`` was made on the record before it.

    Raises:
        InvalidRecordError: naming the record and the field.
    """
    if not isinstance(value, list):
        raise InvalidRecordError("checkpoints", "the list", "is missing")
    loaded: list[Checkpoint] = []
    for number, item in enumerate(value):
        fields = _Fields(f"checkpoint {number + 1}", item)
        checkpoint = _checkpoint(fields, default_base=loaded[-1].id if loaded else None)
        check_checkpoint(checkpoint, loaded, outline, name=fields.name)
        loaded.append(checkpoint)
    return tuple(loaded)


def load_records(value: Json, outline: Outline) -> tuple[Record, ...]:
    """Read a session's records of all kinds, oldest first, and check each against the history.

    Raises:
        InvalidRecordError: naming the record and the field.
    """
    records = read_records(value)
    check_records(records, outline)
    return records


def read_records(value: Json) -> tuple[Record, ...]:
    """Read records of all kinds, oldest first, by their shape alone: ``check_records`` follows.

    Raises:
        InvalidRecordError: naming the record and the field.
    """
    if not isinstance(value, list):
        raise InvalidRecordError("records", "the list", "is missing")
    loaded: list[Record] = []
    checkpoints: list[Checkpoint] = []
    seen: set[str] = set()
    for number, item in enumerate(value):
        fields = _Fields(numbered(number), item)
        record = _record(fields, checkpoints)
        if record.id in seen:
            raise fields.invalid("id", "stands twice")
        seen.add(record.id)
        if record.kind == "checkpoint":
            checkpoints.append(record)
        loaded.append(record)
    return tuple(loaded)


def _record(fields: _Fields, checkpoints: Sequence[Checkpoint]) -> Record:
    kind = fields.text("kind")
    if kind == "checkpoint":
        return _checkpoint(fields, default_base=checkpoints[-1].id if checkpoints else None)
    if kind == "clearing":
        return Clearing(
            id=fields.uuid("id"),
            timestamp=fields.count("timestamp"),
            placeholders=tuple(map(fields.placeholder, fields.items("placeholders"))),
            tokens_reclaimed=fields.count("tokens_reclaimed"),
        )
    if kind == "trim":
        return Trim(
            id=fields.uuid("id"),
            timestamp=fields.count("timestamp"),
            position=fields.position("position", fields.value("position")),
            head_characters=fields.count("head_characters"),
            tail_characters=fields.count("tail_characters"),
            shown_tokens=fields.count("shown_tokens"),
            shown_bytes=fields.count("shown_bytes"),
        )
    if kind == "restore":
        active = fields.value("active")
        return Restore(
            id=fields.uuid("id"),
            timestamp=fields.count("timestamp"),
            active=None if active is None else fields.uuid("active"),
            outputs_shown=fields.flag("outputs_shown"),
        )
    raise fields.invalid("kind", f"is unknown: {kind!r}")


def _checkpoint(fields: _Fields, *, default_base: str | None) -> Checkpoint:
    base = fields.optional("base", default_base)
    summary = fields.text("summary")
    if not summary.strip():
        raise fields.invalid("summary", "is blank")
    covers = fields.optional("covers", "")
    if not isinstance(covers, str) or (covers and not _SHA256.fullmatch(covers)):
        raise fields.invalid("covers", "is no SHA-256 in hexadecimal")
    return Checkpoint(
        id=fields.uuid("id"),
        base=None if base is None else fields.checked("base", base, _is_uuid, "is no UUID"),
        first_kept_message_index=fields.count("first_kept_message_index"),
        history_message_count=fields.count("history_message_count"),
        summary=summary,
        timestamp=fields.count("timestamp"),
        provider=fields.text("provider"),
        model=fields.text("model"),
        usage=_usage(_Fields(f"{fields.name} usage", fields.value("usage"))),
        split=fields.flag("split") if fields.has("split") else False,
        covers=covers,
        prefix=_prefix(fields) if fields.has("prefix") else None,
    )


def _prefix(checkpoint: _Fields) -> Prefix:
    """Read what a checkpoint says of the messages before its cut; only they may be named."""
    count = checkpoint.count("first_kept_message_index")
    fields = _Fields(f"{checkpoint.name} prefix", checkpoint.value("prefix"))
    prompt = None if fields.value("prompt") is None else fields.count("prompt")
    lasting = tuple(fields.indices("lasting"))
    if any(one >= two for one, two in pairwise((*lasting, count))):
        raise fields.invalid("lasting", f"must be ascending and below {count}")
    if prompt is not None and prompt >= count:
        raise fields.invalid("prompt", f"must be below {count}")
    turns, steps = fields.count("turns"), fields.count("steps")
    return Prefix(count=count, turns=turns, steps=steps, prompt=prompt, lasting=lasting)


def _usage(fields: _Fields) -> SummaryUsage:
    def counter(name: str) -> int:
        return fields.count(name) if fields.has(name) else 0

    return SummaryUsage(
        input=counter("input"),
        output=counter("output"),
        cache_read=counter("cache_read"),
        cache_write=counter("cache_write"),
    )


class _Fields:
    """The fields of one JSON object, each read as one type or refused."""

    def __init__(self, name: str, value: Json) -> None:
        self.name = name
        if not isinstance(value, dict):
            raise InvalidRecordError(name, "the record", "is no object")
        self._value = value

    def invalid(self, field: str, reason: str) -> InvalidRecordError:
        return InvalidRecordError(self.name, field, reason)

    def has(self, field: str) -> bool:
        return field in self._value

    def value(self, field: str) -> Json:
        if field not in self._value:
            raise self.invalid(field, "is missing")
        return self._value[field]

    def optional(self, field: str, default: Json) -> Json:
        return self._value.get(field, default)

    def checked(self, field: str, value: Json, valid: Callable[[Json], bool], reason: str) -> str:
        if not isinstance(value, str) or not valid(value):
            raise self.invalid(field, reason)
        return value

    def text(self, field: str) -> str:
        return self.checked(field, self.value(field), lambda _: True, "is no text")

    def uuid(self, field: str) -> str:
        return self.checked(field, self.value(field), _is_uuid, "is no UUID").lower()

    def count(self, field: str) -> int:
        return self._count(field, self.value(field))

    def _count(self, field: str, value: Json) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.invalid(field, f"must be a whole number, zero or more, not {value!r}")
        return value

    def flag(self, field: str) -> bool:
        value = self.value(field)
        if not isinstance(value, bool):
            raise self.invalid(field, "must be true or false")
        return value

    def items(self, field: str) -> list[Json]:
        value = self.value(field)
        if not isinstance(value, list):
            raise self.invalid(field, "is no list")
        return value

    def indices(self, field: str) -> list[int]:
        return [self._count(field, item) for item in self.items(field)]

    def position(self, field: str, value: Json) -> Position:
        if not isinstance(value, list) or len(value) != 2:
            raise self.invalid(field, "is no [message, part] pair")
        return Position(self._count(field, value[0]), self._count(field, value[1]))

    def placeholder(self, value: Json) -> tuple[Position, str]:
        field = "placeholders"
        if not isinstance(value, list) or len(value) != 3 or not isinstance(value[2], str):
            raise self.invalid(field, "must be [message, part, text] triples")
        return self.position(field, value[:2]), value[2]


def _is_uuid(value: Json) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value.lower()) is not None
