"""The lines of a session file: JSON objects, messages, and lines sealed by a hash.

Line 1 and every commit line end with a hash over themselves and over the hash before them, so
that the chain of those lines can be checked without reading a message. Message lines are checked
by the digests that line 1 and the commit lines hold.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import cast

from pydantic import ValidationError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import PydanticSerializationError

from palimpsest.core.excerpt import Json
from palimpsest.core.record_codec import JsonObject

COMMIT_PREFIX = b'{"kind":"commit",'
"""How a commit line begins; no message line does."""


def is_commit(value: JsonObject) -> bool:
    """Whether a line says what a commit line says."""
    return value.get("kind") == "commit" and "digest" in value


_HASH = re.compile(rb',"hash":"([0-9a-f]{64})"\}\n\Z')
_HASH_BYTES = 76


class MalformedError(ValueError):
    """A line is not what it should be; the text says why, without the line's contents."""


class UnsupportedError(MalformedError):
    """The line is of a format or version that is not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLine:
    """What a commit line says; offsets count from the end of line 1.

    Attributes:
        start: where the commit's message lines begin.
        bytes: where the commit line itself begins, after its message lines.
        messages: messages of the whole history once the commit counts.
        digest: SHA-256 of the commit's message lines.
        previous: where the commit line before it begins, or None.
        records: JSON of the commit's records.
        changes: JSON of its header changes.
    """

    start: int
    bytes: int
    messages: int
    digest: str
    previous: int | None
    records: list[Json] = field(default_factory=list[Json])
    changes: JsonObject = field(default_factory=dict[str, Json])


# --- JSON ----------------------------------------------------------------------------------------


def dump_json(value: Json) -> bytes:
    """Give compact UTF-8 JSON; a lone surrogate becomes its JSON escape.

    Raises:
        ValueError: a number is not finite.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def _refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are Python's, not JSON's


def load_object(line: bytes) -> JsonObject:
    """Read a line as a JSON object.

    Raises:
        MalformedError: it is none.
    """
    try:
        value: object = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise MalformedError("is not JSON") from None
    if not isinstance(value, dict):
        raise MalformedError("is no JSON object")
    return cast("JsonObject", value)


def text_of(value: JsonObject, key: str) -> str:
    """Give the text at a key, empty where it is null or missing.

    Raises:
        MalformedError: it is something else.
    """
    text = value.get(key)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise MalformedError(f"{key!r} is no text")
    return text


def count_of(value: JsonObject, key: str) -> int:
    """Give the whole number, zero or more, at a key.

    Raises:
        MalformedError: it is something else, or missing.
    """
    number = value.get(key)
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise MalformedError(f"{key!r} is no whole number, zero or more")
    return number


# --- messages ------------------------------------------------------------------------------------


def encode_message(message: ModelMessage) -> bytes:
    """Give a message's line, newline included, as ``decode_message`` will read it.

    Raises:
        MalformedError: the message cannot be written so that it can be read again.
    """
    try:
        line = ModelMessagesTypeAdapter.dump_json([message], warnings=False)[1:-1] + b"\n"
    except PydanticSerializationError:
        line = _encode_with_surrogates(message)
    decode_message(line)
    return line


def _encode_with_surrogates(message: ModelMessage) -> bytes:
    try:
        values: list[Json] = ModelMessagesTypeAdapter.dump_python(
            [message], mode="json", warnings=False
        )
        return dump_json(values[0]) + b"\n"
    except (PydanticSerializationError, ValueError) as error:
        raise MalformedError("cannot be written as JSON") from error


def decode_message(line: bytes) -> ModelMessage:
    """Read a message line.

    Raises:
        MalformedError: it is no message.
    """
    try:
        messages = _validated(line)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise MalformedError(f"is no message: {problem['type']}") from None
    if len(messages) != 1:
        raise MalformedError(f"is no message: it holds {len(messages)}")
    return messages[0]


def _validated(line: bytes) -> list[ModelMessage]:
    try:
        return ModelMessagesTypeAdapter.validate_json(b"[" + line + b"]")
    except ValidationError:
        if b"\\ud" not in line:  # the JSON reader above knows no lone surrogates
            raise
        return ModelMessagesTypeAdapter.validate_python([load_object(line)])


# --- sealed lines --------------------------------------------------------------------------------


def seal(value: JsonObject, previous: str) -> tuple[bytes, str]:
    """Give an object's line with its hash as the last key, and the hash."""
    body = dump_json(value)[:-1]
    chained = _chained(body, previous)
    return body + b',"hash":"' + chained.encode() + b'"}\n', chained


def stored_hash(line: bytes) -> str:
    """Give the hash that a sealed line holds, or an empty text."""
    match = _HASH.match(line, max(0, len(line) - _HASH_BYTES))
    return match[1].decode() if match else ""


def is_sealed(line: bytes, previous: str) -> bool:
    """Whether a line's hash is right, given the hash before it."""
    return stored_hash(line) == _chained(line[:-_HASH_BYTES], previous)


def _chained(body: bytes, previous: str) -> str:
    return sha256(previous.encode() + body).hexdigest()


# --- commit lines --------------------------------------------------------------------------------


def commit_object(line: CommitLine) -> JsonObject:
    """Give the object of a commit line, yet to be sealed."""
    return {
        "kind": "commit",
        "start": line.start,
        "bytes": line.bytes,
        "messages": line.messages,
        "digest": line.digest,
        "previous": line.previous,
        **({"records": line.records} if line.records else {}),
        **({"header": line.changes} if line.changes else {}),
    }


def read_commit(line: bytes) -> CommitLine:
    """Read a commit line by its shape; whether it is sealed is another question.

    Raises:
        MalformedError: naming the key.
    """
    value = load_object(line)
    records, changes = value.get("records", []), value.get("header", {})
    if not isinstance(records, list) or not isinstance(changes, dict):
        raise MalformedError("has no readable records or header changes")
    return CommitLine(
        start=count_of(value, "start"),
        bytes=count_of(value, "bytes"),
        messages=count_of(value, "messages"),
        digest=text_of(value, "digest"),
        previous=None if value.get("previous") is None else count_of(value, "previous"),
        records=records,
        changes=changes,
    )
