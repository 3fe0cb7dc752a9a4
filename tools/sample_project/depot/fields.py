"""Checks and parsers that all records share. Every failure names a code and a field."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date

from depot.errors import RecordError


def check_key(code: str, field: str, value: str, pattern: str) -> None:
    """A key has exactly the form ``pattern``."""
    if not re.fullmatch(pattern, value):
        raise RecordError(code, field, f"is {value!r}, not of the form {pattern}")


def check_text(code: str, field: str, value: str, longest: int) -> None:
    """A text is neither blank nor longer than ``longest`` characters."""
    if not value.strip() or len(value) > longest:
        raise RecordError(code, field, f"must have 1 to {longest} characters")


def check_choice(code: str, field: str, value: str, choices: Collection[str]) -> None:
    """A choice is one of ``choices``."""
    if value not in choices:
        raise RecordError(code, field, f"is {value!r}, not one of {', '.join(sorted(choices))}")


def check_range(code: str, field: str, value: int, least: int, most: int) -> None:
    """A number lies between ``least`` and ``most``, both included."""
    if not least <= value <= most:
        raise RecordError(code, field, f"is {value}, not between {least} and {most}")


def parse_int(code: str, field: str, text: str) -> int:
    """A whole number in plain digits."""
    if not re.fullmatch(r"-?[0-9]+", text):
        raise RecordError(code, field, f"is {text!r}, not a whole number")
    return int(text)


def parse_day(code: str, field: str, text: str) -> date:
    """A day as year-month-day."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise RecordError(code, field, f"is {text!r}, not a day") from None


def expect_columns(code: str, row: Mapping[str, str], columns: Collection[str]) -> None:
    """The row has exactly these columns, in any order (I-2)."""
    for name in sorted(set(columns) ^ set(row), key=str):
        state = "is missing" if name in columns else "is unknown"
        raise RecordError(code, str(name), state)
