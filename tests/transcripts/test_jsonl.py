"""Lines of every kind of damage: what can be read is read, what cannot is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palimpsest.transcripts import Problem
from palimpsest.transcripts.jsonl import read_documents, read_entries
from tests.transcripts.samples import write


@pytest.mark.parametrize(
    ("content", "values", "problems"),
    [
        pytest.param(b'{"a": 1}\n\n  \n{"a": 2}', [1, 2], [], id="blank lines"),
        pytest.param(b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n', [1, 2], [], id="mark and CRLF"),
        pytest.param(b'{"a": 1}{"a": 2} {"a": 3}', [1, 2, 3], [(1, "repaired")], id="glued"),
        pytest.param(b'{"a": 1}{"a": 2', [1], [(1, "lost")], id="glued, second one cut"),
        pytest.param(b'{"a": 1}\n{"a": \n{"a": 3}', [1, 3], [(2, "lost")], id="cut"),
        pytest.param(b'{"a": "\\ud800"}', ["\ud800"], [], id="lone surrogate"),
        pytest.param(b'{"a": "\xff"}', ["\ufffd"], [(1, "repaired")], id="no UTF-8"),
        pytest.param(b'\x00\x00{"a": 1}\x00\n', [1], [(1, "repaired")], id="NUL around"),
        pytest.param(b'{"a": 1}\n\x00\x00\x00\n', [1], [(2, "lost")], id="NUL alone"),
        pytest.param(b'{"a": "x\x01y"}', ["x\x01y"], [], id="control character"),
        pytest.param(b'[1]\n7\n"x"', [], [(1, "lost"), (2, "lost"), (3, "lost")], id="no objects"),
        pytest.param(b'7{"a": 1}', [1], [(1, "lost"), (1, "repaired")], id="glued to a number"),
        pytest.param(b'{"a": ' + b"[" * 9999 + b"]" * 9999 + b"}", [], [(1, "lost")], id="deep"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}x", [], [(1, "lost")], id="long number"),
    ],
)
def test_lines(
    tmp_path: Path, content: bytes, values: list[object], problems: list[tuple[int, str]]
) -> None:
    found: list[Problem] = []
    entries = list(read_entries(write(tmp_path, content), found))
    assert [entry.value.get("a") for entry in entries] == values
    assert [(problem.line, problem.kind) for problem in found] == problems
    assert all(problem.what.endswith(".") for problem in found)


def test_a_line_of_many_megabytes(tmp_path: Path) -> None:
    big = "x" * 20_000_000
    path = write(tmp_path, json.dumps({"a": big}) + "\n" + '{"a": 1}\n')
    assert [len(str(entry.value["a"])) for entry in read_entries(path, [])] == [20_000_000, 1]


@pytest.mark.parametrize(
    ("data", "found", "stopped"),
    [
        (b'{"a": 1}', 1, ""),
        (b"[1] [2]\n[3]\x00", 3, ""),
        (b'[1] [2, "x', 1, "truncated"),
        (b"[1] [2, ", 1, "truncated"),
        (b"[1] [2, }", 1, "broken at character"),
        (b"[" * 9999, 0, "too deep"),
        (b"[" + b"9" * 5000 + b"]x", 0, "cannot be read"),
        (b"", 0, ""),
    ],
)
def test_documents(data: bytes, found: int, stopped: str) -> None:
    documents, reason = read_documents(data)
    assert len(documents) == found
    assert stopped in reason
    assert bool(stopped) == bool(reason)
