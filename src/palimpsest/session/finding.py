"""Finding session files: by path, by the beginning of an id, across projects; and removing them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from palimpsest.core.errors import (
    AmbiguousSessionError,
    SaveFailedError,
    SessionNotFoundError,
    UnsupportedSessionError,
)
from palimpsest.session.doctor import examine
from palimpsest.session.jsonl_file import os_reason
from palimpsest.session.listing import Listed, list_sessions, newest_first
from palimpsest.session.lock import SessionLock
from palimpsest.session.places import SUFFIX, data_directory, project_directory
from palimpsest.storage.files import Files

SHORTEST_PREFIX = 4
"""Characters of an id that are enough to look for it."""


def project_directories() -> Iterator[Path]:
    """Yield the folder of every project that has sessions, by name."""
    sessions = data_directory() / "sessions"
    if sessions.is_dir():
        yield from sorted(path for path in sessions.iterdir() if path.is_dir())


def list_all_sessions() -> list[Listed]:
    """List the sessions of every project, newest first, then the broken ones."""
    return newest_first(item for folder in project_directories() for item in list_sessions(folder))


def find_session(name: str, cwd: Path) -> Path:
    """Find a session file.

    Args:
        name: a path, or the first four characters or more of an id. The project's own sessions
            go before those of others.
        cwd: the project.

    Raises:
        SessionNotFoundError: there is none.
        AmbiguousSessionError: several ids begin like that.
    """
    path = cwd / Path(name).expanduser()
    if path.is_file():
        return path
    wanted = name.removesuffix(SUFFIX).lower()
    if len(wanted) < SHORTEST_PREFIX or "/" in wanted:
        raise SessionNotFoundError(name)
    own = project_directory(cwd)
    for folders in ([own], list(project_directories())):
        found = [
            file
            for folder in folders
            for file in sorted(folder.glob(f"*{SUFFIX}"))
            if file.name.startswith(wanted)
        ]
        if len(found) > 1:
            raise AmbiguousSessionError(name, tuple(file.stem for file in found))
        if found:
            return found[0]
    raise SessionNotFoundError(name)


def _require_session(path: Path, files: Files) -> None:
    """Let a slip of a name remove no other file; what stands among our own may be broken."""
    if path.parent in project_directories():
        return
    for finding in examine(path, files=files).findings:
        if finding.code == UnsupportedSessionError.code:
            raise UnsupportedSessionError(str(path), finding.line, finding.text)


def delete_session(path: Path, *, files: Files | None = None) -> None:
    """Remove a session file for good, with what was torn off it.

    Raises:
        SessionNotFoundError: there is no such file.
        UnsupportedSessionError: it stands outside the data directory and is no session file of
            this version; it stays.
        SessionLockedError: somebody works on it; it stays.
        SaveFailedError: the operating system refused to read or to remove it.
    """
    files = files or Files()
    if not path.is_file():
        raise SessionNotFoundError(str(path))
    try:
        _require_session(path, files)
        lock = SessionLock(path)
        try:
            for torn in path.parent.glob(f"{path.name}.torn-*"):
                files.remove(torn)
            files.remove(path)
            files.sync_directory(path.parent)
        finally:
            lock.release()
        path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
    except OSError as error:
        raise SaveFailedError(str(path), os_reason(error)) from error
