"""Damaged recordings: nothing but our own errors escapes, and every record is accounted for."""

from __future__ import annotations

import copy
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palimpsest.core.errors import NotARecordingError, PalimpsestError
from palimpsest.storage.framing import COMMIT_PREFIX
from palimpsest.transcripts import (
    FORMATS,
    CompactedView,
    claude_code,
    codex,
    gemini_cli,
    kimi,
    own_session,
    pi,
    read_recordings,
    rewrite,
)
from palimpsest.transcripts.history import Built
from palimpsest.transcripts.jsonl import read_documents, read_entries
from palimpsest.transcripts.read import read_sessions
from palimpsest.transcripts.recording import Problem, Recording
from tests.transcripts.every_sample import sample_texts

# Damaging a value needs no types.
_Value: TypeAlias = "Any"

_SAMPLES = sample_texts()
_LINES: dict[str, Callable[[Path], list[Built]]] = {
    "claude-code": claude_code.read,
    "codex": codex.read,
    "gemini-cli": lambda path: gemini_cli.load(path)[1],
    "kimi": kimi.read,
    "palimpsest": own_session.read,
    "pi": pi.read,
}
_LINE_SAMPLES = [
    name for name, (format, text) in _SAMPLES.items() if format in _LINES and text[1] != "\n"
]
_DOCUMENT_SAMPLES = [
    name for name in _SAMPLES if name not in _LINE_SAMPLES and _SAMPLES[name][0] != "aider"
]
_RECORDS = {
    "gemini-contents": ["context", "history", "contents"],
    "openai-chat": ["traj", "messages"],
    "openhands": ["history"],
    "smolagents": ["intermediate_steps", "steps"],
    "swe-agent": ["history"],
}
_WRONG: list[Any] = [None, 7, -1.5, True, "", "text", [], {}, [None], {"type": "text"}, [["x"]]]

_fuzz = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _leaves(value: _Value, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        return found + [leaf for key in value for leaf in _leaves(value[key], (*path, key))]
    if isinstance(value, list):
        return found + [leaf for i, item in enumerate(value) for leaf in _leaves(item, (*path, i))]
    return found


def _with_wrong_value(
    value: _Value, chance: random.Random, wrong: Sequence[_Value] = _WRONG
) -> _Value:
    changed = copy.deepcopy(value)
    path = chance.choice(_leaves(changed))
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = copy.deepcopy(chance.choice(wrong))
    return changed


def _damage_lines(text: str, chance: random.Random) -> bytes:
    lines = text.splitlines()
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(chance.randrange(len(lines) + 1), lines[at])
            case 2:
                lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
            case 3 if at + 1 < len(lines):
                lines[at : at + 2] = [lines[at] + lines[at + 1]]
            case 4:
                chance.shuffle(lines)
            case _:
                try:
                    value = json.loads(lines[at])
                except ValueError:
                    continue
                if isinstance(value, dict) and value:
                    lines[at] = json.dumps(_with_wrong_value(value, chance))
    return "\n".join(lines).encode()


def _flip(data: bytes, chance: random.Random) -> bytes:
    flipped = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        flipped[chance.randrange(len(flipped))] = chance.randrange(256)
    return bytes(flipped)


def _read(path: Path, format: str | None) -> set[str]:
    """Read a file, write it as it is, and give the formats of its sessions."""
    formats = set[str]()
    try:
        for recording in read_recordings(path, format=format):
            assert all(recorded.records for recorded in recording.messages)
            whole = CompactedView(kept_message_indices=tuple(range(len(recording.messages))))
            rewrite(recording, whole, io.StringIO())
            formats.add(recording.format)
    except PalimpsestError as error:
        assert str(error).endswith((".", "'"))
    return formats


def _records(built: Built) -> set[int]:
    return {origin.entry for origins in built.origins for origin in origins}


def _check_own_lines(path: Path, recording: Recording) -> None:
    """Each line is line 1, of a message, a commit's, or a problem's: of a torn tail all at once."""
    torn = [problem.line for problem in recording.problems if "never finished" in problem.what]
    told = {1, *(problem.line for problem in recording.problems)}
    told |= {line for message in recording.messages for line in message.records}
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        known = number in told or any(number >= start for start in torn)
        assert known or not line.strip() or line.startswith(COMMIT_PREFIX)


def _check_lines(path: Path, format: str) -> None:
    """Each object is in a message or set aside; each non-blank line gave one or a problem."""
    problems: list[Problem] = []
    entries = list(read_entries(path, problems))
    try:
        found = _LINES[format](path)
    except NotARecordingError as error:
        assert "version" in str(error)
        return
    if format == own_session.FORMAT:
        _check_own_lines(path, found[0].recording)
        return
    used = sum(len(_records(built)) for built in found)
    aside = sum(sum(built.recording.set_aside.values()) for built in found)
    assert used + aside == len(entries)
    named = {entry.line for entry in entries} | {problem.line for problem in problems}
    lines = path.read_bytes().split(b"\n")
    assert {number for number, line in enumerate(lines, 1) if line.strip()} == named


@pytest.mark.parametrize("name", _LINE_SAMPLES)
@_fuzz
@given(seed=st.integers(0, 2**32), flips=st.booleans())
def test_damaged_lines(tmp_path: Path, name: str, seed: int, flips: bool) -> None:
    format, text = _SAMPLES[name]
    chance = random.Random(seed)
    data = _damage_lines(text, chance)
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(_flip(data, chance) if flips and data else data)
    _read(path, None)
    _read(path, format)
    _check_lines(path, format)


@pytest.mark.parametrize("name", _DOCUMENT_SAMPLES)
@_fuzz
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 4))
def test_documents_with_wrong_values(tmp_path: Path, name: str, seed: int, changes: int) -> None:
    format, text = _SAMPLES[name]
    chance = random.Random(seed)
    documents: _Value = read_documents(text.encode())[0]
    for _ in range(changes):
        documents = _with_wrong_value(documents, chance)
    path = tmp_path / "damaged.json"
    path.write_text("\n".join(map(json.dumps, documents)))
    told = _read(path, None)
    _read(path, format)
    if told == {format}:
        for session in read_sessions(path, format):
            _check_document(session.built, session.document)


def _check_document(built: Built, document: _Value) -> None:
    """Each record of the document's list is in a message or set aside."""
    if isinstance(document, dict):
        keys = _RECORDS.get(built.recording.format, ["messages"])
        document = next((document[key] for key in keys if key in document), None)
    if isinstance(document, list):
        used = {entry for entry in _records(built) if entry < len(document)}
        assert len(used) + sum(built.recording.set_aside.values()) == len(document)


@pytest.mark.parametrize("name", [name for name in _SAMPLES if name not in _LINE_SAMPLES])
@_fuzz
@given(seed=st.integers(0, 2**32), cut=st.booleans())
def test_documents_with_wrong_bytes(tmp_path: Path, name: str, seed: int, cut: bool) -> None:
    format, text = _SAMPLES[name]
    chance = random.Random(seed)
    data = text.encode()
    path = tmp_path / "damaged.json"
    path.write_bytes(data[: chance.randrange(len(data))] if cut else _flip(data, chance))
    _read(path, None)
    _read(path, format)


@pytest.mark.parametrize("name", [name for name in _SAMPLES if name != "aider"])
@_fuzz
@given(seed=st.integers(0, 2**32), depth=st.integers(100, 1_100))
def test_values_nested_deep(tmp_path: Path, name: str, seed: int, depth: int) -> None:
    format, text = _SAMPLES[name]
    values: _Value = read_documents(text.encode())[0]
    changed = _with_wrong_value(values, random.Random(seed), ["deep"])
    nested = f"{'[' * depth}{']' * depth}"
    path = tmp_path / "deep"
    path.write_text("\n".join(map(json.dumps, changed)).replace('"deep"', nested))
    _read(path, None)
    _read(path, format)


@_fuzz
@given(data=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@pytest.mark.parametrize("head", [b"", b"[", b'{"', b"PK\x03\x04", b"# aider chat started at "])
def test_any_bytes(tmp_path: Path, head: bytes, data: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(head + data)
    for format in (None, *FORMATS):
        _read(path, format)
