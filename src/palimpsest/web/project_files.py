"""Files of the project that a prompt may mention, looked up one folder at a time."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from palimpsest.session.folders import names_beginning

MOST_FILES = 50


def files_beginning(cwd: Path, beginning: str) -> tuple[str, ...]:
    """Give paths of a project, relative and with ``/``, that begin as what was typed.

    As ``names_beginning`` gives them, but nothing outside the project: not behind ``..``, not
    behind an absolute path, not behind a link.

    Args:
        cwd: the project.
        beginning: a relative path, the last part of which may be incomplete.
    """
    folder_name, slash, start = beginning.rpartition("/")
    folder = cwd / PurePosixPath(folder_name)
    try:
        is_inside = folder.resolve().is_relative_to(cwd.resolve())
    except (OSError, ValueError):
        return ()
    if not is_inside or (slash and not folder_name):
        return ()
    names = names_beginning(folder, start, most=MOST_FILES)
    return tuple(f"{folder_name}{slash}{name}" for name in names)
