"""inspect_ai logs: one session a sample; JSON documents, and archives of them (``.eval``)."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from functools import partial
from typing import TYPE_CHECKING

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_core import from_json

from palimpsest.core.errors import NotARecordingError
from palimpsest.core.estimate import compact_json
from palimpsest.formats.content import (
    EPOCH,
    as_arguments,
    as_list,
    as_record,
    as_text,
    block_content,
    content_of,
    joined,
    linked_image,
    text_of,
)
from palimpsest.transcripts import openai_chat
from palimpsest.transcripts.history import Built, HistoryBuilder, Origin
from palimpsest.transcripts.recording import Problem
from palimpsest.transcripts.view import Writing, is_system, kept_content

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic_ai.messages import UserContent

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Content, Record
    from palimpsest.transcripts.history import Outcome
    from palimpsest.transcripts.view import KeptRecord

FORMAT = "inspect-ai"

LARGEST_ENTRY_BYTES = 512 * 2**20
"""Of one entry of an archive, unpacked. The largest samples in public logs have a tenth of it."""

ARCHIVE_MAGIC = b"PK\x03\x04"
"""How a zip archive begins."""

_ATTACHMENT = "attachment://"
# Encrypted entries are a RuntimeError, unknown compression a NotImplementedError, a kind of it.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive, told from its first bytes.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(ARCHIVE_MAGIC)) == ARCHIVE_MAGIC


def log_in(
    path: Path, problems: list[Problem], *, largest_bytes: int = LARGEST_ENTRY_BYTES
) -> Json:
    """The log that an archive holds, as one document; samples that cannot be read are reported.

    Args:
        path: the archive.
        problems: what was lost is added here.
        largest_bytes: an entry that unpacks to more is not read.

    Raises:
        NotARecordingError: the archive is broken, or no log.
        OSError: the file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            heads = [name for name in ("header.json", "_journal/start.json") if name in names]
            samples = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
            if not heads and not samples:
                raise NotARecordingError(str(path), "it is an archive, but no inspect_ai log.")
            read_entry = partial(_entry, archive, path, problems, largest_bytes)
            head = read_entry(heads[0]) if heads else None
            found = [read_entry(name) for name in samples]
    except _BROKEN as error:
        raise NotARecordingError(str(path), f"its archive is broken ({error}).") from error
    read: list[Json] = [sample for sample in found if sample is not None]
    if problems and not read:
        raise NotARecordingError(str(path), f"no sample of it could be read. {problems[-1].what}")
    return {**as_record(head), "samples": read}


def _entry(
    archive: zipfile.ZipFile, path: Path, problems: list[Problem], largest_bytes: int, name: str
) -> Json:
    """A JSON entry of an archive; None where it cannot be read."""
    try:
        return _parsed(_bytes_of(archive, name, largest_bytes))
    except (*_BROKEN, OSError) as error:
        what = f"The entry {name} could not be read: {error}."
        problems.append(Problem(path=str(path), line=None, what=what, kind="lost"))
        return None


def _bytes_of(archive: zipfile.ZipFile, name: str, largest: int) -> bytes:
    """The bytes of an entry; what it says of its size may be wrong, so no more is unpacked.

    Raises:
        ValueError: it is larger than any sample.
    """
    if archive.getinfo(name).file_size <= largest:
        with archive.open(name) as entry:
            data = entry.read(largest + 1)
        if len(data) <= largest:
            return data
    too_large = f"it unpacks to more than {largest // 2**20} MiB"
    raise ValueError(too_large)


def _parsed(data: bytes) -> Json:
    value: Json = from_json(data)
    return value


def sessions_in(document: Json) -> list[Json]:
    """Documents with one sample each."""
    fields = as_record(document)
    return [{**fields, "samples": [sample]} for sample in as_list(fields.get("samples"))]


def read(path: Path, document: Json) -> list[Built]:
    """The one session of a document with one sample."""
    fields = as_record(document)
    samples = as_list(fields.get("samples"))
    sample = as_record(samples[0] if samples else None)
    messages = messages_of(document)
    builder = HistoryBuilder(path, range(len(messages)), has_lines=False)
    for index, item in enumerate(messages):
        message = as_record(item)
        leads = is_system(message) and builder.take_leading_system(
            index, text_of(message.get("content"))
        )
        if not leads:
            _add(builder, index, message)
    name = [as_text(part) or compact_json(part) for part in (sample.get("id"), sample.get("epoch"))]
    return [
        builder.build(
            format=FORMAT,
            session_id="_epoch_".join(name) if "id" in sample else path.stem,
            counts=openai_chat.counts(messages),
            model=as_text(as_record(fields.get("eval")).get("model")) or None,
        )
    ]


def messages_of(document: Json) -> list[Json]:
    """The messages of the only sample, long texts put back into their places."""
    samples = as_list(as_record(document).get("samples"))
    sample = as_record(samples[0] if samples else None)
    attachments = as_record(sample.get("attachments"))
    messages = as_list(sample.get("messages"))
    return [_whole(message, attachments) for message in messages] if attachments else messages


def _whole(value: Json, attachments: Record) -> Json:
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, dict):
        return {key: _whole(item, attachments) for key, item in value.items()}
    return [_whole(item, attachments) for item in value] if isinstance(value, list) else value


def _add(builder: HistoryBuilder, index: int, message: Record) -> None:
    content = message.get("content")
    match message.get("role"):
        case "assistant":
            response = ModelResponse(
                parts=_reply_parts(message),
                model_name=as_text(message.get("model")) or None,
                timestamp=EPOCH,
            )
            builder.reply(response, [Origin(index)])
        case "tool":
            error = as_record(message.get("error"))
            shown = _content(content) or as_text(error.get("message"))
            call_id = as_text(message.get("tool_call_id"))
            outcome: Outcome = "failed" if error else "success"
            builder.result(call_id, shown, Origin(index), EPOCH, outcome)
        case role:
            shown = _content(content) if isinstance(content, str | list) else compact_json(message)
            builder.user(shown, [Origin(index)], EPOCH, typed=role == "user")


def _content(content: Json) -> Content:
    blocks = content if isinstance(content, list) else None
    return content_of(content) if blocks is None else joined([_piece(block) for block in blocks])


def _piece(block: Json) -> UserContent:
    """One block; the data of an image stand in a field of its own name."""
    fields = as_record(block)
    found = linked_image(as_text(fields.get("image"))) if fields.get("type") == "image" else None
    return block_content(block) if found is None else found


def _reply_parts(message: Record) -> list[ModelResponsePart]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content] if content else []
    parts = [_reply_part(block) for block in blocks]
    for call in map(as_record, as_list(message.get("tool_calls"))):
        function = call.get("function")
        made = ToolCallPart(
            tool_name=as_text(function) or "unknown",
            args=as_arguments(call.get("arguments")),
            tool_call_id=as_text(call.get("id")),
        )
        parts.append(made)
    return parts


def _reply_part(block: Json) -> ModelResponsePart:
    fields = as_record(block)
    if fields.get("type") == "reasoning" and isinstance(fields.get("reasoning"), str):
        hidden = fields.get("redacted") is True
        return ThinkingPart(
            content=as_text(fields.get("summary" if hidden else "reasoning")),
            signature=as_text(fields.get("signature")) or None,
            provider_name=FORMAT if fields.get("signature") else None,
        )
    shown = block_content(block)
    return TextPart(content=shown if isinstance(shown, str) else compact_json(block))


def with_messages(document: Json, messages: list[Json]) -> Json:
    """The document with these messages in its sample, and no other copy of what they said."""
    fields = as_record(document)
    [sample] = as_list(fields.get("samples"))
    copies = {"events", "attachments", "output", "store", "events_data"}
    kept = {key: value for key, value in as_record(sample).items() if key not in copies}
    heads = {key: value for key, value in fields.items() if key not in {"reductions", "samples"}}
    return {**heads, "samples": [{**kept, "messages": messages}]}


def _summary(text: str, replaced: Sequence[Json]) -> list[Json]:
    del replaced
    return [{"role": "user", "content": text, "source": "input"}]


def _shown(record: Record, kept: KeptRecord) -> Json:
    return {**record, "content": kept_content(record.get("content"), kept)}


WRITING = Writing(summary=_summary, shown=_shown, leads=is_system)
