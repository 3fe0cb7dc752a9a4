"""A part: one Parquet file with the figures of some recordings, and the names of their files.

Needs the extra ``corpus``. A row is a session under a policy. The footer holds what the rows were
made with and which files they stand for, so that a part explains itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias, cast

import pyarrow as pa
from pyarrow import parquet

from palimpsest.core.errors import UnwritableOutputError
from palimpsest.core.excerpt import Json
from palimpsest.lab.results import (
    Need,
    PolicyResult,
    RecordedCompactionAt,
    SessionFacts,
    SessionFigures,
    as_object,
)
from palimpsest.lab.whole_file import whole_file

_KEY = b"palimpsest"
_Row: TypeAlias = dict[str, Any]

MadeWith: TypeAlias = dict[str, str | int | None]
"""Settings and versions that decide what rows say, by name."""

_UNITS = {
    pa.int64(): {
        "tokens": (
            "window fits_tokens trigger_tokens fixed_tokens input_tokens peak_tokens "
            "cache_read_tokens cache_write_tokens output_tokens"
        ),
        "count": (
            "messages calls results images interrupted requests_counted requests prunings "
            "compactions prefix_breaks over_window steps_with_calls blind_steps need_cuts "
            "need_needed need_held"
        ),
        "position": "session_index",
    },
    pa.float64(): {
        "share": "raw_error calibrated_error calibrated_error_p95",
        "provider tokens per estimated token": "ratio",
        "USD": "cost_usd",
    },
    pa.string(): {"text": "path format session_id model window_source policy label"},
    pa.list_(pa.string()): {"text": "problems"},
    pa.map_(pa.string(), pa.int64()): {"records by reason": "set_aside"},
    pa.list_(
        pa.struct(
            [
                ("request", pa.int64()),
                ("kind", pa.string()),
                ("trigger", pa.string()),
                ("tokens_before", pa.int64()),
            ]
        )
    ): {"request number, tokens": "recorded_compactions"},
}
_TYPES = {
    name: (type_, unit)
    for type_, units in _UNITS.items()
    for unit, names in units.items()
    for name in names.split()
}
_FACTS = [one.name for one in fields(SessionFacts)]
_FIGURES = [one.name for one in fields(PolicyResult) if one.name != "need"]
_NEEDS = [f"need_{one.name}" for one in fields(Need)]

SCHEMA = pa.schema(
    [
        pa.field(name, _TYPES[name][0], metadata={"unit": _TYPES[name][1]})
        for name in (*_FACTS, "session_index", *_FIGURES, *_NEEDS)
    ]
)
"""Columns of every part: the session, its place in its file from 0, the policy and its figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredFile:
    """A file whose sessions all stand in a part, in rows that follow one another.

    Attributes:
        path: as it was asked for.
        size_bytes: as it was before it was read; of a folder, of all files in it.
        modified_ns: the same, of the newest.
        rows: of it in the part.
    """

    path: str
    size_bytes: int
    modified_ns: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartHead:
    """What a part says about itself.

    Attributes:
        made_with: what decides what the rows say.
        files: in the rows' order.
    """

    made_with: MadeWith
    files: list[CoveredFile]


def file_rows(sessions: Iterable[SessionFigures]) -> list[_Row]:
    """Lay the sessions of one file out as rows."""
    return [row for index, session in enumerate(sessions) for row in _session_rows(index, session)]


def write_part(path: Path, head: PartHead, rows: list[_Row]) -> None:
    """Write a part, all of it or nothing.

    Raises:
        OSError: it cannot be written.
    """
    _write(path, head, pa.Table.from_pylist(rows, schema=SCHEMA))


def read_head(path: Path) -> PartHead:
    """Read what a part says about itself, without its rows.

    Raises:
        UnwritableOutputError: it is no part, so that its folder is not one for parts.
        OSError: it cannot be read.
    """
    try:
        with parquet.ParquetFile(path) as file:
            metadata = file.schema_arrow.metadata or {}
        head = json.loads(metadata[_KEY])
        files = [CoveredFile(**one) for one in head["files"]]
        return PartHead(made_with=head["made_with"], files=files)
    except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        reason = f"{path.name} in it is no part of a replay; name another folder"
        raise UnwritableOutputError(str(path.parent), reason) from error


def narrow_part(path: Path, head: PartHead, kept: set[str]) -> None:
    """Take away the rows of all files but those.

    Raises:
        OSError: it cannot be read or written.
    """
    table, at = _read(path), 0
    slices: list[pa.Table] = []
    for file in head.files:
        if file.path in kept:
            slices.append(table.slice(at, file.rows))
        at += file.rows
    files = [file for file in head.files if file.path in kept]
    _write(path, PartHead(made_with=head.made_with, files=files), pa.concat_tables(slices))


def read_sessions(path: Path) -> Iterator[SessionFigures]:
    """Give the sessions of a part as they were replayed.

    Raises:
        OSError: it cannot be read.
    """
    for _, group in groupby(
        _read(path).to_pylist(), lambda row: (row["path"], row["session_index"])
    ):
        yield _session(list(group))


def _write(path: Path, head: PartHead, table: pa.Table) -> None:
    metadata = {_KEY: json.dumps(asdict(head)).encode()}
    with whole_file(path) as partial, partial.open("wb") as file:
        described = table.replace_schema_metadata(metadata)
        with parquet.ParquetWriter(file, described.schema) as writer:
            writer.write_table(described)
        file.flush()
        os.fsync(file.fileno())  # the name must not be there before the rows are


def _read(path: Path) -> pa.Table:
    with parquet.ParquetFile(path) as file:
        return file.read()  # pyright: ignore[reportUnknownMemberType]


def _session_rows(index: int, session: SessionFigures) -> Iterator[_Row]:
    facts = cast("_Row", _encodable(as_object(session)))
    facts["set_aside"] = list(facts["set_aside"].items())
    for result in facts.pop("policies"):
        need = result.pop("need")
        yield {**facts, "session_index": index, **result, **_prefixed(need)}


def _prefixed(need: _Row) -> _Row:
    return {f"need_{name}": value for name, value in need.items()}


def _session(rows: list[_Row]) -> SessionFigures:
    facts = {name: rows[0][name] for name in _FACTS}
    facts["set_aside"] = dict(facts["set_aside"])
    facts["recorded_compactions"] = [
        RecordedCompactionAt(**one) for one in facts["recorded_compactions"]
    ]
    return SessionFigures(**facts, policies=[_result(row) for row in rows])


def _result(row: _Row) -> PolicyResult:
    need = Need(**{name.removeprefix("need_"): row[name] for name in _NEEDS})
    return PolicyResult(**{name: row[name] for name in _FIGURES}, need=need)


def _encodable(value: Json) -> Json:
    """Replace half characters, which a recording or a file's name may hold and Parquet may not."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_encodable(one) for one in value]
        case dict():
            return {str(_encodable(name)): _encodable(one) for name, one in value.items()}
        case _:
            return value
