"""Which format a file has, told from its content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from palimpsest.core.errors import NotARecordingError
from palimpsest.formats.content import as_list, as_record, as_text
from palimpsest.transcripts.jsonl import read_entries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record

LineFormat: TypeAlias = Literal["claude-code", "pi"]
DocumentFormat: TypeAlias = Literal[
    "swe-agent", "mini-swe-agent", "openai-chat", "anthropic-messages"
]

_SNIFFED_BYTES = 4096
_SNIFFED_LINES = 50
_PI_TYPES = frozenset({"session", "message", "compaction", "model_change", "thinking_level_change"})
_CLAUDE_TYPES = frozenset(
    {"user", "assistant", "system", "progress", "attachment", "summary", "file-history-snapshot"}
)
_CLAUDE_KEYS = frozenset({"uuid", "sessionId", "leafUuid", "messageId", "parentUuid"})


def check_text(path: Path) -> None:
    """Refuse what cannot be a recording before it is parsed.

    Raises:
        NotARecordingError: the file is missing, no file, empty, or binary.
        OSError: the file cannot be read.
    """
    if not path.exists():
        raise NotARecordingError(str(path), "there is no such file.")
    if not path.is_file():
        raise NotARecordingError(str(path), "it is no file.")
    with path.open("rb") as file:
        head = file.read(_SNIFFED_BYTES).removeprefix(b"\xef\xbb\xbf")
        while head and not head.strip(b" \t\r\n\x00"):
            head = file.read(_SNIFFED_BYTES)
    text = head.lstrip(b" \t\r\n\x00")
    if not text:
        raise NotARecordingError(str(path), "it is empty.")
    if text[0:1] not in (b"{", b"[") and (b"\x00" in text or not _is_text(text)):
        raise NotARecordingError(str(path), "it is binary.")


def _is_text(head: bytes) -> bool:
    control = sum(byte < ord(" ") and byte not in b"\t\r\n" for byte in head)
    replaced = head.decode(errors="replace").count("\ufffd")
    return (control + replaced) * 20 < len(head)


def line_format(path: Path) -> LineFormat | None:
    """The format of a line file, told from its first lines; None for any other file."""
    for entry in read_entries(path, [], most_lines=_SNIFFED_LINES):
        kind = as_text(entry.value.get("type"))
        if kind in _CLAUDE_TYPES and _CLAUDE_KEYS & entry.value.keys():
            return "claude-code"
        if kind in _PI_TYPES and "timestamp" in entry.value:
            return "pi"
        if len(entry.value.keys() & {"messages", "history", "traj"}) > 0:
            return None
    return None


def results_in(document: Json) -> list[Json]:
    """The results in a list of tau-bench results, one session each; empty for anything else."""
    results = as_list(document)
    return results if all("traj" in as_record(item) for item in results) else []


def document_format(document: Json) -> DocumentFormat | None:
    """The format of a whole JSON document; None where its shape is unknown."""
    if results_in(document):
        return "openai-chat"
    if isinstance(document, list):
        return _message_format([as_record(item) for item in document])
    return _object_format(as_record(document))


def _object_format(fields: Record) -> DocumentFormat | None:
    messages = fields.get("messages")
    if isinstance(fields.get("history"), list) and "trajectory" in fields:
        return "swe-agent"
    if not isinstance(messages, list):
        return "openai-chat" if isinstance(fields.get("traj"), list) else None
    if as_text(fields.get("trajectory_format")).startswith("mini-swe-agent"):
        return "mini-swe-agent"
    if {"response", "kwargs"} & fields.keys():
        return "openai-chat"
    own = "system_prompt" in fields or isinstance(fields.get("system"), str | list)
    records = [as_record(item) for item in messages]
    return "anthropic-messages" if own else _message_format(records)


def _message_format(messages: Sequence[Record]) -> DocumentFormat | None:
    messages = [message for message in messages if {"content", "tool_calls"} & message.keys()]
    roles = {role for m in messages if isinstance(role := m.get("role"), str)}
    if not roles & {"user", "assistant", "system", "tool", "developer"}:
        return None
    if "exit" in roles:
        return "mini-swe-agent"
    if roles & {"system", "tool", "developer"} or any("tool_calls" in m for m in messages):
        return "openai-chat"
    return "anthropic-messages" if any(_is_anthropic(m) for m in messages) else "openai-chat"


def _is_anthropic(message: Record) -> bool:
    kinds = {as_text(as_record(b).get("type")) for b in as_list(message.get("content"))}
    own = {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}
    return bool(kinds & own) or bool({"isSummary", "ts"} & message.keys())
