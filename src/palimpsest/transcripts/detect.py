"""Which format a file has, told from its content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from palimpsest.core.errors import NotARecordingError
from palimpsest.formats.content import as_list, as_record, as_text
from palimpsest.transcripts import (
    gemini_contents,
    inspect_ai,
    langchain,
    openhands,
    openhands_events,
    own_session,
    smolagents,
)
from palimpsest.transcripts.jsonl import BOM, only_value, read_entries
from palimpsest.transcripts.openai_chat import results_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record

Format: TypeAlias = Literal[
    "claude-code",
    "codex",
    "pi",
    "kimi",
    "palimpsest",
    "opencode",
    "gemini-cli",
    "gemini-contents",
    "openhands",
    "swe-agent",
    "mini-swe-agent",
    "inspect-ai",
    "smolagents",
    "aider",
    "pydantic-ai",
    "langchain",
    "openai-chat",
    "anthropic-messages",
]

_SNIFFED_BYTES = 4096
_SNIFFED_LINES = 50
_SNIFFED_ITEMS = 50
_PI_TYPES = frozenset({"session", "message", "compaction", "model_change", "thinking_level_change"})
_CLAUDE_TYPES = frozenset(
    {"user", "assistant", "system", "progress", "attachment", "summary", "file-history-snapshot"}
)
_CLAUDE_KEYS = frozenset({"uuid", "sessionId", "leafUuid", "messageId", "parentUuid"})
_CODEX_TYPES = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
)
_KIMI_ROLES = frozenset({"_system_prompt", "_checkpoint", "_usage"})


def check_text(path: Path) -> None:
    """Refuse what cannot be a recording before it is parsed.

    Raises:
        NotARecordingError: the file is missing, no file, empty, or binary.
        OSError: the file cannot be read.
    """
    if not path.exists():
        raise NotARecordingError(str(path), "there is no such file.")
    if openhands.event_files(path):
        return
    if not path.is_file():
        raise NotARecordingError(str(path), "it is no file.")
    with path.open("rb") as file:
        head = file.read(_SNIFFED_BYTES).removeprefix(BOM)
        while head and not head.strip(b" \t\r\n\x00"):
            head = file.read(_SNIFFED_BYTES)
    if head.startswith(inspect_ai.ARCHIVE_MAGIC):
        return
    text = head.lstrip(b" \t\r\n\x00")
    if not text:
        raise NotARecordingError(str(path), "it is empty.")
    if text[0:1] not in (b"{", b"[") and (b"\x00" in text or not _is_text(text)):
        raise NotARecordingError(str(path), "it is binary.")


def _is_text(head: bytes) -> bool:
    control = sum(byte < ord(" ") and byte not in b"\t\r\n" for byte in head)
    replaced = head.decode(errors="replace").count("\ufffd")
    return (control + replaced) * 20 < len(head)


class Sniffed(NamedTuple):
    """What the beginning of a file tells.

    Attributes:
        format: of a line file; None for any other.
        only: the value of a file that is one line of JSON, which need not be parsed again; None
            for any other.
    """

    format: Format | None
    only: Json


def sniff(path: Path) -> Sniffed:
    """Look at a file's first lines, or at all of it where it is one line; a folder tells nothing.

    Raises:
        OSError: the file cannot be read.
    """
    if path.is_dir():
        return Sniffed(None, None)
    only = only_value(path)
    if only is None:
        return Sniffed(line_format(path), None)
    return Sniffed(_line_format(as_record(only)), only)


def line_format(path: Path) -> Format | None:
    """The format of a line file, told from its first lines; None for any other file."""
    for entry in read_entries(path, [], most_lines=_SNIFFED_LINES):
        found = _line_format(entry.value)
        if found is not None:
            return found
        if len(entry.value.keys() & {"messages", "history", "traj"}) > 0:
            return None
    return None


def _line_format(line: Record) -> Format | None:
    kind = as_text(line.get("type"))
    if own_session.is_line(line):
        return "palimpsest"
    if kind in _CLAUDE_TYPES and _CLAUDE_KEYS & line.keys():
        return "claude-code"
    if kind in _CODEX_TYPES and isinstance(line.get("payload"), dict):
        return "codex"
    if kind in _PI_TYPES and "timestamp" in line:
        return "pi"
    if as_text(line.get("role")) in _KIMI_ROLES:
        return "kimi"
    if {"sessionId", "projectHash"} <= line.keys() and "messages" not in line:
        return "gemini-cli"
    if "instance_id" in line and _has_events(line):
        return "openhands"
    return "smolagents" if isinstance(line.get("intermediate_steps"), list) else None


def document_format(document: Json) -> Format | None:
    """The format of a whole JSON document; None where its shape is unknown."""
    if results_in(document):
        return "openai-chat"
    if isinstance(document, list):
        records = [as_record(item) for item in document]
        return _list_format(document) or _message_format(records)
    return _framework_format(as_record(document)) or _object_format(as_record(document))


def _list_format(items: Sequence[Json]) -> Format | None:
    """The format of a list whose elements no other format has."""
    few = items[:_SNIFFED_ITEMS]
    records = [as_record(item) for item in few]
    if any(as_text(r.get("kind")) in {"request", "response"} and "parts" in r for r in records):
        return "pydantic-ai"
    if any(openhands_events.is_event(item) for item in few) or _has_events(list(items)):
        return "openhands"
    if any(as_text(r.get("role")) in {"user", "model"} and "parts" in r for r in records):
        return "gemini-contents"
    if any(as_text(r.get("role")) in {"tool-call", "tool-response"} for r in records):
        return "smolagents"
    if any(smolagents.is_step(item) for item in few):
        return "smolagents"
    return "langchain" if any(langchain.is_message(item) for item in few) else None


def _has_events(document: Json) -> bool:
    events = openhands.events_of(document)
    return any(openhands_events.is_event(event) for event in events[:_SNIFFED_ITEMS])


def _framework_format(fields: Record) -> Format | None:
    """The format of an object that holds a list no other format has."""
    if isinstance(fields.get("samples"), list) and {"eval", "plan"} & fields.keys():
        return "inspect-ai"
    messages = as_list(fields.get("messages"))
    info = as_record(fields.get("info"))
    if as_text(info.get("id")).startswith("ses_") and "messages" in fields:
        return "opencode"
    if info and any("parts" in as_record(message) for message in messages):
        return "opencode"
    if {"sessionId", "projectHash"} <= fields.keys() and isinstance(fields.get("messages"), list):
        return "gemini-cli"
    if _has_events(fields) and "trajectory" not in fields:
        return "openhands"
    if (key := smolagents.list_key(fields)) and _list_format(as_list(fields[key])) == "smolagents":
        return "smolagents"
    if isinstance(fields.get("intermediate_steps"), list):
        return "smolagents"
    if key := gemini_contents.list_key(fields):
        return (
            "gemini-contents" if _list_format(as_list(fields[key])) == "gemini-contents" else None
        )
    found = _list_format(messages)
    return found if found in ("langchain", "pydantic-ai") else None


def _object_format(fields: Record) -> Format | None:
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


def _message_format(messages: Sequence[Record]) -> Format | None:
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
