"""Files of the project that a prompt may mention, looked up one folder at a time."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

MOST_FILES = 50


def files_beginning(cwd: Path, beginning: str) -> tuple[str, ...]:
    """Give paths of a project, relative and with ``/``, that begin as what was typed.

    Folders end with ``/``. Hidden ones are given only where the dot was typed, and nothing outside
    the project is: not behind ``..``, not behind an absolute path, not behind a link.

    Args:
        cwd: the project.
        beginning: a relative path, the last part of which may be incomplete.
    """
    folder_name, _, start = beginning.rpartition("/")
    folder = cwd / PurePosixPath(folder_name) if folder_name else cwd
    try:
        if "\0" in beginning or not folder.resolve().is_relative_to(cwd.resolve()):
            return ()
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError:
        return ()
    prefix = f"{folder_name}/" if folder_name else ""
    found = [
        f"{prefix}{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in entries
        if entry.name.startswith(start) and (start.startswith(".") or entry.name[0] != ".")
    ]
    return tuple(found[:MOST_FILES])
