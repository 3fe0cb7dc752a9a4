"""Header, records and header changes as the JSON objects of a session's lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from palimpsest.core.errors import InvalidRecordError, InvalidSettingError
from palimpsest.core.excerpt import Json
from palimpsest.core.record_codec import JsonObject, dump_record, read_records
from palimpsest.core.records import Record
from palimpsest.storage.framing import (
    MalformedError,
    UnsupportedError,
    count_of,
    dump_json,
    load_object,
    text_of,
)
from palimpsest.storage.header import HeaderChanges, SessionHeader
from palimpsest.storage.totals import NOTHING_COUNTED, Counted, read_counted

FORMAT = "palimpsest-session"
VERSION = 2
NO_SESSION = "it is no session file"
"""What is said of a file that holds nothing of a session."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TEXTS = ("cwd", "model", "permission_preset", "title")
_LISTS = ("skill_snapshots", "system_prompt_checkpoints", "timings")
_RECORD_LISTS = {
    "clearings": "clearing",
    "trims": "trim",
    "checkpoints": "checkpoint",
    "restores": "restore",
}
KEYS_OF_PLACES = frozenset(
    {"hash", "chunks", "totals", "skill_snapshots", "timings", *_RECORD_LISTS}
)
"""Keys of line 1 that are about messages at their places: they hold for this history only."""

_OWN_KEYS = frozenset(
    {"format", "version", "id", "created", "updated", "totals", "chunks", "hash"}
    | {*_TEXTS, *_LISTS, *_RECORD_LISTS}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    """A record and what else stands in its JSON object.

    Attributes:
        receipt: of a checkpoint, as JSON, or empty; as objects, the receipts of a long session
            would take most of the memory it needs.
        extra: keys of other versions and of other tools.
    """

    record: Record
    receipt: bytes = b""
    extra: JsonObject = field(default_factory=dict[str, Json])

    def dump(self) -> JsonObject:
        """Give the JSON object."""
        receipt: JsonObject = {"receipt": load_object(self.receipt)} if self.receipt else {}
        return {**dump_record(self.record), **receipt, **self.extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Consecutive message lines and the SHA-256 of their bytes."""

    messages: int
    bytes: int
    digest: str


# --- line 1 --------------------------------------------------------------------------------------


def header_object(
    header: SessionHeader, records: Sequence[StoredRecord], chunks: Sequence[Chunk]
) -> JsonObject:
    """Give the object of line 1, yet to be sealed.

    Raises:
        InvalidSettingError: an unknown key has the name of a known one.
    """
    for key in header.unknown:
        if key in _OWN_KEYS:
            raise InvalidSettingError("unknown", key, "keys that the header does not have")
    lists: dict[str, list[Json]] = {name: [] for name in _RECORD_LISTS}
    names = {kind: name for name, kind in _RECORD_LISTS.items()}
    for sequence, stored in enumerate(records):
        lists[names[stored.record.kind]].append({**stored.dump(), "sequence": sequence})
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": header.id,
        "cwd": header.cwd,
        "created": header.created,
        "updated": header.updated,
        "model": header.model,
        "permission_preset": header.permission_preset,
        "title": header.title,
        **({} if header.counted == NOTHING_COUNTED else {"totals": header.counted.dump()}),
        **header.unknown,
        **{name: list[Json](getattr(header, name)) for name in _LISTS},
        **lists,
        "chunks": [[chunk.messages, chunk.bytes, chunk.digest] for chunk in chunks],
    }


def check_format(value: JsonObject) -> None:
    """Refuse what is no session of this version.

    Raises:
        UnsupportedError: naming what the line says.
    """
    if "format" not in value:
        raise UnsupportedError(NO_SESSION)
    if value["format"] != FORMAT:
        raise UnsupportedError(f"{NO_SESSION}: the format is {value['format']!r}, not {FORMAT!r}")
    version = value.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise UnsupportedError(f"version {version!r} is not supported, only {VERSION}")


def read_header(value: JsonObject) -> SessionHeader:
    """Read the header of line 1.

    Raises:
        UnsupportedError: another format or version.
        MalformedError: naming the key.
    """
    check_format(value)
    identifier = value.get("id")
    if not isinstance(identifier, str) or not _UUID.fullmatch(identifier.lower()):
        raise MalformedError("'id' is no UUID")
    if "cwd" not in value:
        raise MalformedError("'cwd' is missing")
    created = count_of(value, "created")
    return SessionHeader(
        id=identifier,
        cwd=text_of(value, "cwd"),
        created=created,
        updated=count_of(value, "updated") if "updated" in value else created,
        model=text_of(value, "model"),
        permission_preset=text_of(value, "permission_preset"),
        title=text_of(value, "title"),
        skill_snapshots=_objects(value, "skill_snapshots"),
        system_prompt_checkpoints=_objects(value, "system_prompt_checkpoints"),
        timings=_objects(value, "timings"),
        counted=_counted(value) or NOTHING_COUNTED,
        unknown={key: item for key, item in value.items() if key not in _OWN_KEYS},
    )


def read_header_records(value: JsonObject) -> list[StoredRecord]:
    """Read the records of line 1, in the order in which they were committed.

    Records without ``sequence`` (a file of another tool) are put in order by time.

    Raises:
        MalformedError: a list or an order is broken.
        InvalidRecordError: naming the record and the field.
    """
    found: list[JsonObject] = []
    for name, kind in _RECORD_LISTS.items():
        for item in _objects(value, name):
            if item.setdefault("kind", kind) != kind:
                raise InvalidRecordError(name, "kind", f"is {item['kind']!r}")
            found.append(item)
    key = "sequence" if all("sequence" in item for item in found) else "timestamp"
    places = [count_of(item, key) for item in found]
    if key == "sequence" and len(set(places)) < len(places):
        raise MalformedError("two records have the same 'sequence'")
    order = sorted(range(len(found)), key=places.__getitem__)
    return read_stored_records([found[index] for index in order])


def read_stored_records(items: Sequence[Json]) -> list[StoredRecord]:
    """Read records, oldest first, by their shape, each with what else stands in its object.

    Raises:
        InvalidRecordError: naming the record and the field.
    """
    records = read_records(list(items))
    return [
        _stored(record, cast("JsonObject", item))
        for record, item in zip(records, items, strict=True)
    ]


def _stored(record: Record, item: JsonObject) -> StoredRecord:
    own = {*dump_record(record), "sequence", "covers", "split", "base", "prefix"}
    extra = {key: value for key, value in item.items() if key not in own}
    receipt = b""
    if isinstance(extra.get("receipt"), dict):
        receipt = dump_json(extra.pop("receipt"))
    return StoredRecord(record=record, receipt=receipt, extra=extra)


def read_chunks(value: JsonObject) -> list[Chunk] | None:
    """Read the digests of the message lines behind line 1; None where it has none.

    Raises:
        MalformedError: they are broken.
    """
    if "chunks" not in value:
        return None
    items = value["chunks"]
    if not isinstance(items, list):
        raise MalformedError("'chunks' is no list")
    chunks: list[Chunk] = []
    for item in items:
        match item:
            case [int(messages), int(size), str(digest)] if _are_counts(messages, size):
                chunks.append(Chunk(messages=messages, bytes=size, digest=digest))
            case _:
                raise MalformedError("'chunks' must hold [messages, bytes, digest]")
    return chunks


def _are_counts(messages: int, size: int) -> bool:
    """Whether so many lines can stand in so many bytes; JSON's true is no 1."""
    return not isinstance(messages, bool) and not isinstance(size, bool) and 0 < messages <= size


def _objects(value: JsonObject, key: str) -> tuple[JsonObject, ...]:
    items = value.get(key, [])
    if not isinstance(items, list):
        raise MalformedError(f"{key!r} is no list")
    objects: list[JsonObject] = []
    for item in items:
        if not isinstance(item, dict):
            raise MalformedError(f"{key!r} holds something that is no object")
        objects.append(item)
    return tuple(objects)


# --- header changes ------------------------------------------------------------------------------


def dump_changes(changes: HeaderChanges) -> JsonObject:
    """Give the JSON of header changes: what they change, nothing else."""
    texts: JsonObject = {
        "updated": changes.updated,
        "model": changes.model,
        "permission_preset": changes.permission_preset,
        "title": changes.title,
    }
    lists: dict[str, list[Json]] = {name: list(getattr(changes, name)) for name in _LISTS}
    return {
        **{key: value for key, value in texts.items() if value is not None},
        **{key: value for key, value in lists.items() if value},
        **({} if changes.counted is None else {"totals": changes.counted.dump()}),
    }


def read_changes(value: JsonObject) -> HeaderChanges:
    """Read header changes.

    Raises:
        MalformedError: naming the key.
    """
    return HeaderChanges(
        updated=count_of(value, "updated") if "updated" in value else None,
        model=text_of(value, "model") if "model" in value else None,
        permission_preset=(
            text_of(value, "permission_preset") if "permission_preset" in value else None
        ),
        title=text_of(value, "title") if "title" in value else None,
        skill_snapshots=_objects(value, "skill_snapshots"),
        system_prompt_checkpoints=_objects(value, "system_prompt_checkpoints"),
        timings=_objects(value, "timings"),
        counted=_counted(value),
    )


def _counted(value: JsonObject) -> Counted | None:
    if "totals" not in value:
        return None
    if not isinstance(totals := value["totals"], dict):
        raise MalformedError("'totals' is no object")
    return read_counted(totals)
