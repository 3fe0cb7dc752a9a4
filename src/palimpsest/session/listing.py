"""The sessions of a folder, without reading their messages where that can be avoided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from palimpsest.core.errors import SessionFileError
from palimpsest.session.jsonl_file import os_reason
from palimpsest.session.places import SUFFIX
from palimpsest.storage.files import Files
from palimpsest.storage.header import SessionHeader
from palimpsest.storage.layout import Source, read_trusted
from palimpsest.storage.scan import scan


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """A session that can be opened.

    Attributes:
        message_count: messages of the whole history.
        bytes: size of the file.
        compactions: checkpoints ever saved.
    """

    path: Path
    header: SessionHeader
    message_count: int
    bytes: int
    compactions: int
    kind: Literal["session"] = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenSession:
    """A file that cannot be opened, and why; ``doctor`` says more.

    Attributes:
        code: of the error that opening it raises.
        reason: that error's sentence.
    """

    path: Path
    code: str
    reason: str
    kind: Literal["broken"] = "broken"


Listed: TypeAlias = ListedSession | BrokenSession


def list_sessions(folder: Path, *, files: Files | None = None) -> list[Listed]:
    """List the session files of a folder, newest first, then the broken ones by name.

    Takes no lock and changes nothing. A folder that does not exist has no sessions. Of a file
    with a whole chain, line 1 and the commit lines are read; any other is read whole.
    """
    if not folder.is_dir():
        return []
    listed = [_look(path, files or Files()) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    return newest_first(listed)


def newest_first(listed: Iterable[Listed]) -> list[Listed]:
    """Sort sessions by their last change, newest first, then the broken ones by name."""

    def order(item: Listed) -> tuple[bool, int, str]:
        updated = item.header.updated if item.kind == "session" else 0
        return item.kind == "broken", -updated, item.path.name

    return sorted(listed, key=order)


def _look(path: Path, files: Files) -> Listed:
    try:
        with Source(files, path) as source:
            layout = read_trusted(source)
            if layout is None:
                found = scan(source, str(path))
                if found.problems:
                    raise found.problems[0]
                layout = found.layout
            size = source.size
    except SessionFileError as error:
        return BrokenSession(path=path, code=error.code, reason=str(error))
    except OSError as error:
        return BrokenSession(path=path, code="unreadable", reason=f"{path}: {os_reason(error)}.")
    return ListedSession(
        path=path,
        header=layout.header,
        message_count=layout.message_count,
        bytes=size,
        compactions=sum(stored.record.kind == "checkpoint" for stored in layout.records),
    )
