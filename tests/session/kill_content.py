"""What a session holds, as one word that two processes can compare."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from pydantic_ai.messages import ModelMessage

from palimpsest.core.record_codec import dump_record
from palimpsest.core.records import Record
from palimpsest.storage.framing import dump_json, encode_message


class Content:
    """A running digest of messages and records; a store fills in what a checkpoint covers."""

    def __init__(self) -> None:
        self._messages = hashlib.sha256()
        self._records = hashlib.sha256()

    def add(self, messages: Iterable[ModelMessage], records: Iterable[Record]) -> None:
        for message in messages:
            self._messages.update(encode_message(message))
        for record in records:
            own = replace(record, covers="") if record.kind == "checkpoint" else record
            self._records.update(dump_json(dump_record(own)))

    @property
    def digest(self) -> str:
        return f"{self._messages.hexdigest()[:16]}-{self._records.hexdigest()[:16]}"
