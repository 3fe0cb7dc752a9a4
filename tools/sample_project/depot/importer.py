"""CSV in, books out (I-1, I-2)."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from depot.errors import DepotError, RecordError

RecordT = TypeVar("RecordT")


def read_records(path: Path, make: Callable[[dict[str, str]], RecordT]) -> list[RecordT]:
    """The records of one file, in its order.

    Raises:
        RecordError: the file is empty.
    """
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames is None:
            raise RecordError("E_FILE_EMPTY", path.name, "has no header")
        records = []
        for row in reader:
            try:
                records.append(make(row))
            except DepotError:
                continue
        return records


def problems(paths: Iterable[tuple[Path, Callable[[dict[str, str]], object]]]) -> list[str]:
    """Everything that is wrong with the files, one line each."""
    found = []
    for path, make in paths:
        try:
            read_records(path, make)
        except DepotError as error:
            found.append(f"{path.name}: {error}")
    return found
