"""Rules as tables: the shared ones beside the project, and our own in ``tests/cases``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("PALIMPSEST_SHARED", ROOT.parent / "shared"))
WITHOUT_SHARED = "the shared tables are not beside this checkout"


def shared_table(name: str) -> dict[str, Any]:
    """Give a shared table whole, or an empty one where it is absent."""
    path = SHARED / "cases" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def shared_cases(name: str, key: str = "cases") -> list[Any]:
    """Give the rows of a shared table as parameters; one skipped row where it is absent."""
    return _rows(shared_table(name).get(key, []))


def own_cases(name: str) -> list[Any]:
    """Give the rows of one of our own tables as parameters."""
    return _rows(json.loads((ROOT / "tests" / "cases" / f"{name}.json").read_text())["cases"])


def _rows(rows: list[Any]) -> list[Any]:
    if not rows:
        return [pytest.param(None, marks=pytest.mark.skip(reason=WITHOUT_SHARED))]
    return [pytest.param(row, id=_name(row, index)) for index, row in enumerate(rows)]


def _name(row: Any, index: int) -> str:
    return row["name"] if isinstance(row, dict) and "name" in row else str(index)
