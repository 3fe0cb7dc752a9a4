"""What stands in a folder, as it is offered to somebody who types a path."""

from __future__ import annotations

from itertools import islice
from pathlib import Path


def names_beginning(folder: Path, start: str, *, most: int) -> list[str]:
    """Give the names of a folder that begin as what was typed, sorted; folders end with ``/``.

    Hidden ones are given only where the dot was typed. A folder that cannot be read has no names.

    Args:
        folder: looked at itself, not what stands in its folders.
        start: the beginning of a name, perhaps empty.
        most: how many names at most.
    """
    try:
        entries = sorted(folder.iterdir())
    except (OSError, ValueError):  # no path may hold a zero byte
        return []
    found = (
        entry
        for entry in entries
        if entry.name.startswith(start) and (start.startswith(".") or entry.name[0] != ".")
    )
    return [f"{entry.name}{'/' if entry.is_dir() else ''}" for entry in islice(found, most)]
