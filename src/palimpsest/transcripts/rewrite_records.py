"""Writing a view into the list of records that a format's files hold."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from palimpsest.formats.content import as_list, as_record
from palimpsest.transcripts import (
    aider,
    anthropic_messages,
    codex,
    gemini_cli,
    gemini_contents,
    inspect_ai,
    kimi,
    langchain,
    openai_chat,
    opencode,
    openhands,
    own_session,
    pydantic_ai,
    smolagents,
)
from palimpsest.transcripts.detect import line_format
from palimpsest.transcripts.view import Writing, kept_records, uncounted, view_records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record
    from palimpsest.transcripts.history import Built
    from palimpsest.transcripts.jsonl import Entry
    from palimpsest.transcripts.view import CompactedView


class Lines(NamedTuple):
    """A line file, its sessions, and how its format writes a view."""

    entries: list[Entry]
    found: list[Built]
    writing: Writing


def load_lines(path: Path, format: str) -> Lines | None:
    """A file of one record a line; None for any other.

    Raises:
        OSError: the file cannot be read.
    """
    match format:
        case codex.FORMAT:
            return Lines(*codex.load(path), codex.WRITING)
        case kimi.FORMAT:
            return Lines(*kimi.load(path), kimi.WRITING)
        case own_session.FORMAT:
            return Lines(*own_session.load(path), own_session.WRITING)
        case gemini_cli.FORMAT if line_format(path) == gemini_cli.FORMAT:
            return Lines(*gemini_cli.load(path), gemini_cli.WRITING)
        case _:
            return None


class _Holding(NamedTuple):
    """Where a document of a format holds its records, and how records are written.

    Attributes:
        writing: how records are written.
        records: the records in a document.
        replaced: the document with other records, and without copies of what they said.
    """

    writing: Writing
    records: Callable[[Json], list[Json]]
    replaced: Callable[[Json, list[Json]], Json]


def _under(document: Json, records: list[Json], *, key: Callable[[Record], str]) -> Json:
    fields = as_record(document)
    return {**fields, key(fields): records} if fields else records


def _key(name: str) -> Callable[[Record], str]:
    return lambda fields: name


def _at(name: str, writing: Writing) -> _Holding:
    """Records that are the document, or stand under one key of it."""

    def records(document: Json) -> list[Json]:
        return as_list(as_record(document).get(name, document))

    return _Holding(writing, records, partial(_under, key=_key(name)))


_HOLDINGS: Mapping[str, _Holding] = {
    opencode.FORMAT: _at("messages", opencode.WRITING),
    gemini_cli.FORMAT: _at("messages", gemini_cli.WRITING),
    gemini_contents.FORMAT: _Holding(
        gemini_contents.WRITING,
        gemini_contents.contents_of,
        partial(_under, key=gemini_contents.list_key),
    ),
    openhands.FORMAT: _Holding(
        openhands.WRITING, openhands.events_of, partial(_under, key=_key("history"))
    ),
    inspect_ai.FORMAT: _Holding(
        inspect_ai.WRITING, inspect_ai.messages_of, inspect_ai.with_messages
    ),
    smolagents.FORMAT: _Holding(
        smolagents.WRITING, smolagents.records_of, partial(_under, key=smolagents.list_key)
    ),
    aider.FORMAT: _at("blocks", aider.WRITING),
    pydantic_ai.FORMAT: _at("messages", pydantic_ai.WRITING),
    langchain.FORMAT: _at("messages", langchain.WRITING),
}


def written_document(document: Json, built: Built, view: CompactedView) -> str:
    """The text of a file that holds the view of one session.

    Raises:
        InvalidSettingError: the view names messages that the recording does not have.
    """
    format = built.recording.format
    holding = _HOLDINGS.get(format) or _messages_in(document, format)
    records = holding.records(document)
    kept = kept_records(built, view)
    stays = {record.entry for record in (*kept.before_summary, *kept.after_summary)}
    changed = holding.replaced(document, view_records(records, built, view, holding.writing))
    if format == aider.FORMAT:
        return aider.markdown(changed)
    if isinstance(changed, dict):
        # Other copies of what the view leaves out, and an answer beside the list.
        copies = {"raw_messages"} if len(records) in stays else {"raw_messages", "response"}
        changed = {key: value for key, value in changed.items() if key not in copies}
        if isinstance(response := changed.get("response"), dict):
            changed["response"] = uncounted(response)
        if "trajectory" in changed:
            changed["trajectory"] = []
    is_result = isinstance(document, dict) and "traj" in document
    return _pretty([changed] if is_result else changed) + "\n"


def _messages_in(document: Json, format: str) -> _Holding:
    """Messages of the OpenAI and Anthropic kinds, in a list or in an object around it."""
    fields = as_record(document)
    keys = [key for key in ("traj", "history", "messages") if isinstance(fields.get(key), list)]
    module = anthropic_messages if format == anthropic_messages.FORMAT else openai_chat
    return _at(keys[0] if keys else "messages", module.WRITING)


def _pretty(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
