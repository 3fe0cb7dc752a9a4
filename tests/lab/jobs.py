"""Work for other processes, in a module that is quick to import."""

from __future__ import annotations

import os
from pathlib import Path


def twice(number: int) -> list[int]:
    if number == 5:
        raise ZeroDivisionError(number)
    return [number, number]


def dies_once(folder: Path, number: int) -> list[int]:
    """End the whole process at the first sight of 7."""
    if number == 7 and not (folder / "died").exists():
        (folder / "died").touch()
        os._exit(1)
    return [number]


def dies(number: int) -> list[int]:
    os._exit(number)
