"""opencode's storage: records of sessions, messages and parts, gathered into exports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.formats.content import as_record, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record

FOLDERS = frozenset({"session", "message", "part"})
"""What a storage folder holds: the sessions, and elsewhere what belongs to them."""


def is_record(document: Json) -> bool:
    """Whether a value is a record of a session, a message or a part."""
    fields = as_record(document)
    kind = as_text(fields.get("id"))[:4]
    if kind == "ses_":
        return "time" in fields and "messages" not in fields
    return kind in {"msg_", "prt_"} and "sessionID" in fields


def gathered(records: Sequence[Json]) -> list[Json]:
    """One export a session, from records in any order; ids are ordered by time."""
    sessions: list[Record] = []
    messages: list[Record] = []
    parts: dict[str, list[Record]] = {}
    for record in map(as_record, records):
        match as_text(record.get("id"))[:4]:
            case "ses_":
                sessions.append(record)
            case "msg_":
                messages.append(record)
            case "prt_":
                parts.setdefault(as_text(record.get("messageID")), []).append(record)
            case _:
                pass
    for name in sorted(parts.keys() - set(map(_id, messages))):
        # A part whose message is gone still says something.
        messages.append({"id": name, "sessionID": parts[name][0].get("sessionID")})
    unknown = {as_text(message.get("sessionID")) for message in messages} - set(map(_id, sessions))
    sessions.extend({"id": name} for name in sorted(unknown))
    by_session: dict[str, list[Json]] = {}
    for message in sorted(messages, key=_id):
        own: list[Json] = [*sorted(parts.get(_id(message), []), key=_id)]
        entry: Record = {"info": message, "parts": own}
        by_session.setdefault(as_text(message.get("sessionID")), []).append(entry)
    return [{"info": info, "messages": by_session.get(_id(info), [])} for info in sessions]


def _id(record: Record) -> str:
    return as_text(record.get("id"))


def holds(path: Path) -> bool:
    """Whether a file stands where a storage folder has its sessions."""
    return path.parent.parent.name == "session" and all(
        (path.parent.parent.parent / name).is_dir() for name in FOLDERS
    )


def beside(path: Path, session: Json) -> Iterator[Path]:
    """The files of a session's messages and parts, which stand in folders beside its own.

    Raises:
        OSError: a folder of them cannot be read.
    """
    storage = path.parent.parent.parent
    name = _id(as_record(session))
    if name in {"", ".", ".."} or name != Path(name).name or "\x00" in name:
        return  # It would lead out of the folder.
    for message in sorted((storage / "message" / name).glob("*.json")):
        yield message
        yield from sorted((storage / "part" / message.stem).glob("*.json"))
