"""What a compacted conversation remembers beside its messages: JSON, tied to them by hash."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from palimpsest.core.budget import NOTHING, Measure
from palimpsest.core.calibration import UNCALIBRATED, Anchor, Calibration, Meter
from palimpsest.core.errors import (
    ForeignStateError,
    InvalidRecordError,
    InvalidSettingError,
    UnknownCheckpointError,
)
from palimpsest.core.excerpt import Json
from palimpsest.core.record_codec import dump_record, read_records
from palimpsest.core.records import Checkpoint, Record, Restore
from palimpsest.formats.content import Record as JsonObject
from palimpsest.formats.content import as_record, without_cache_marks
from palimpsest.models.limits import Limit, ModelLimits

FORMAT = "palimpsest-state"
VERSION = 1
DIGEST_CHARACTERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionState:
    """The records of one conversation; a value, replaced by each call.

    Attributes:
        dialect: name of the dialect; empty while nothing but plain text was said.
        digests: of each message of the newest call, in order.
        records: every record, oldest first.
        meter: what was learned from the provider's counts.
        counter: pressured requests since the newest prompt.
        sent_units: messages, as the engine counts them, in the newest request.
        sent_fixed: size of the system text and tools in it.
        window: tokens, as the provider named it when it rejected a request; 0 if it never did.
        byte_limit: bytes, as such a rejection showed it; 0 if none did.
        pieces: of each message, how many parts stand in each of the messages that it was taken in
            as; empty where each was taken in as it is.
    """

    dialect: str = ""
    digests: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()
    meter: Meter = field(default_factory=Meter)
    counter: int = 0
    sent_units: int = 0
    sent_fixed: Measure = NOTHING
    window: int = 0
    byte_limit: int = 0
    pieces: tuple[tuple[int, ...], ...] = ()

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Every saved summary with its cut, oldest first."""
        return tuple(record for record in self.records if record.kind == "checkpoint")

    def restored(
        self, checkpoint_id: str | None = None, *, outputs: bool = False
    ) -> CompactionState:
        """Give the state whose view shows an earlier checkpoint, or everything.

        Args:
            checkpoint_id: the checkpoint to go back to; None shows the whole history.
            outputs: cleared and trimmed outputs are shown again.

        Raises:
            UnknownCheckpointError: there is no such checkpoint.
        """
        if checkpoint_id not in {None, *(item.id for item in self.checkpoints)}:
            raise UnknownCheckpointError(str(checkpoint_id))
        restore = Restore(
            id=str(uuid.uuid4()),
            timestamp=time.time_ns() // 1_000_000,
            active=checkpoint_id,
            outputs_shown=outputs,
        )
        return replace(
            self, records=(*self.records, restore), meter=self.meter.after_record(), counter=0
        )

    def known_limits(self, found: ModelLimits) -> ModelLimits:
        """Give limits with what the provider said of them in this conversation."""
        if self.window:
            found = found.with_window(Limit(tokens=self.window, source="provider_error"))
        return replace(found, byte_limit=self.byte_limit or found.byte_limit)

    def check(self, digests: Sequence[str]) -> None:
        """Check that a history begins with the messages of this state.

        Raises:
            ForeignStateError: naming the first message that differs.
        """
        known = self.digests
        for index, (one, two) in enumerate(zip(known, digests, strict=False)):
            if one != two:
                reason = f"message {index} is not the one it was made with"
                raise ForeignStateError(index, reason)
        if len(digests) < len(known):
            reason = f"it was made with {len(known)} messages, and there are {len(digests)}"
            raise ForeignStateError(len(digests), reason)

    def dump(self) -> JsonObject:
        """Give the state as JSON, to be kept beside the messages."""
        body: JsonObject = {
            "format": FORMAT,
            "version": VERSION,
            "dialect": self.dialect,
            "digests": "".join(self.digests),
            "records": [dump_record(record) for record in self.records],
            "counter": self.counter,
            "sent_units": self.sent_units,
            "sent_fixed": [self.sent_fixed.tokens, self.sent_fixed.bytes],
            "window": self.window,
            "byte_limit": self.byte_limit,
            "pieces": [list(one) for one in self.pieces],
            **_dump_meter(self.meter),
        }
        return {**body, "seal": _seal(body)}

    @classmethod
    def load(cls, value: Json) -> CompactionState:
        """Read a state that ``dump`` gave.

        Raises:
            InvalidSettingError: it is none, of a newer version, or was changed since.
        """
        body = dict(as_record(value))
        seal = body.pop("seal", None)
        if body.get("format") != FORMAT or body.get("version") != VERSION:
            said = f"{body.get('format')!r}, version {body.get('version')!r}"
            raise InvalidSettingError("state", said, f"{FORMAT!r}, version {VERSION}")
        if seal != _seal(body):
            raise InvalidSettingError("state", "changed", "as it was given out")
        try:
            records = read_records(body["records"])
        except InvalidRecordError as error:
            raise InvalidSettingError("state", str(error), "made of valid records") from error
        text = cast("str", body["digests"])
        steps = range(0, len(text), DIGEST_CHARACTERS)
        return cls(
            dialect=cast("str", body["dialect"]),
            digests=tuple(text[at : at + DIGEST_CHARACTERS] for at in steps),
            records=records,
            meter=_load_meter(body),
            counter=cast("int", body["counter"]),
            sent_units=cast("int", body["sent_units"]),
            sent_fixed=_measure(body["sent_fixed"]),
            window=cast("int", body["window"]),
            byte_limit=cast("int", body["byte_limit"]),
            pieces=tuple(tuple(one) for one in cast("list[list[int]]", body["pieces"])),
        )


NEW = CompactionState()


def digests_of(identities: Iterable[Json]) -> tuple[str, ...]:
    """Give the digest of each message; callers may move marks for the prompt cache."""
    return tuple(_digest(identity) for identity in identities)


def _digest(value: Json) -> str:
    # Escapes keep lone surrogates encodable; sorted keys forgive a store that reorders objects.
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    if '"cache_control"' in text:
        text = json.dumps(without_cache_marks(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]


def _seal(body: JsonObject) -> str:
    return _digest(cast("Json", body))


def _dump_meter(meter: Meter) -> JsonObject:
    anchor = meter.anchor
    return {
        "ratio": meter.calibration.ratio,
        "observations": meter.calibration.observations,
        "anchor": None
        if anchor is None
        else [
            anchor.message_count,
            anchor.fixed.tokens,
            anchor.fixed.bytes,
            anchor.reported_tokens,
        ],
    }


def _load_meter(body: JsonObject) -> Meter:
    observations = cast("int", body["observations"])
    ratio = cast("float", body["ratio"])
    calibration = Calibration(ratio=ratio, observations=observations)
    anchor = cast("list[int] | None", body["anchor"])
    return Meter(
        calibration=calibration if observations else UNCALIBRATED,
        anchor=None
        if anchor is None
        else Anchor(
            message_count=anchor[0],
            fixed=Measure(tokens=anchor[1], bytes=anchor[2]),
            reported_tokens=anchor[3],
        ),
    )


def _measure(value: Json) -> Measure:
    tokens, size = cast("list[int]", value)
    return Measure(tokens=tokens, bytes=size)
