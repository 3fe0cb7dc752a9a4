"""Lines of JSON objects, read one by one; whatever is wrong with a line is reported."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pydantic_core import from_json

from palimpsest.transcripts.recording import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from palimpsest.core.excerpt import Json
    from palimpsest.formats.content import Record

_DECODER = json.JSONDecoder(strict=False)
NO_JSON = "it does not begin with JSON"
BOM = b"\xef\xbb\xbf"
"""What some programs write in front of UTF-8."""


class Entry(NamedTuple):
    """One object of a line file; ``line`` is 1-based and shared by objects glued together."""

    line: int
    value: Record


def read_entries(
    path: Path, problems: list[Problem], *, most_lines: int | None = None
) -> Iterator[Entry]:
    """Every object of the file in order, one line in memory at a time.

    Objects glued together on one line are all recovered, text that is no UTF-8 is replaced by
    U+FFFD; both are reported to ``problems`` as repaired, a line that cannot be read as lost.

    Args:
        path: the file.
        problems: what was damaged is added here.
        most_lines: stop after so many lines, blank and damaged ones counted; None reads all.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        for number, raw in enumerate(islice(file, most_lines), start=1):
            line = raw.removeprefix(BOM) if number == 1 else raw
            if not line or line.isspace():
                continue
            try:
                value: Json = from_json(line)
            except ValueError:
                yield from _recover(line, number, str(path), problems)
                continue
            if isinstance(value, dict):
                yield Entry(number, value)
            else:
                problems.append(_lost(str(path), number, "it is JSON, but no object"))


def _recover(line: bytes, number: int, path: str, problems: list[Problem]) -> Iterator[Entry]:
    """What the strict parser refused: glued objects, lone surrogates, stray bytes."""
    stripped = line.strip(b" \t\r\n\x00")
    try:
        text, repairs = stripped.decode(), list[str]()
    except UnicodeDecodeError:
        text, repairs = stripped.decode(errors="replace"), ["bytes that are no UTF-8"]
    if b"\x00" in line:
        repairs.append("NUL bytes")
    position = found = 0
    while position < len(text):
        try:
            value, position = _decode(text, position)
        except (ValueError, RecursionError) as error:
            reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
            problems.append(_lost(path, number, reason, after=found))
            return
        found += 1
        if isinstance(value, dict):
            yield Entry(number, value)
        else:
            problems.append(_lost(path, number, "it is JSON, but no object"))
    if found == 0:
        problems.append(_lost(path, number, "it holds only NUL bytes"))
    if found > 1:
        repairs.append(f"{found} objects without a line break between them")
    if found and repairs:
        what = f"The line holds {' and '.join(repairs)}; it was read all the same."
        problems.append(Problem(path=path, line=number, what=what, kind="repaired"))


def _decode(text: str, position: int) -> tuple[Json, int]:
    """One value and the position where the next one may start."""
    value: Json
    value, end = _DECODER.raw_decode(text, position)
    while end < len(text) and text[end] in " \t\r\n\x00":
        end += 1
    return value, end


def _lost(path: str, number: int, reason: str, *, after: int = 0) -> Problem:
    what = "The rest of the line" if after else "The line"
    return Problem(path=path, line=number, what=f"{what} could not be read: {reason}.", kind="lost")


def only_value(path: Path) -> Json:
    """The value of a file that is one line of sound JSON; None for any other file.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        line = file.readline().removeprefix(BOM)
        if file.read(1):
            return None
    try:
        value: Json = from_json(line)
    except ValueError:
        return None
    return value


def read_documents(data: bytes) -> tuple[list[Json], str]:
    """All JSON values of a whole file, and why reading stopped early (empty when it did not)."""
    data = data.removeprefix(BOM)
    try:
        return [from_json(data)], ""
    except ValueError:
        text = data.decode(errors="replace").strip(" \t\r\n\x00")
    found: list[Json] = []
    position = 0
    while position < len(text):
        try:
            value, position = _decode(text, position)
        except RecursionError:
            return found, "its JSON is nested too deep"
        except json.JSONDecodeError as error:
            if error.pos == 0:
                return found, NO_JSON
            if error.pos >= len(text) or "Unterminated" in error.msg:
                return found, "its JSON ends in the middle (truncated)"
            return found, f"its JSON is broken at character {error.pos}: {error.msg}"
        except ValueError as error:
            return found, f"its JSON cannot be read: {error}"
        found.append(value)
    return found, ""
