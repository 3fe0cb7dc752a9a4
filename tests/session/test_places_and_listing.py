from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.session.listing import list_sessions
from palimpsest.session.places import data_directory, project_directory, session_path
from palimpsest.session.store import Commit
from palimpsest.storage.header import HeaderChanges
from palimpsest.testing.faults import FaultyFiles
from tests.session.builders import HEADER, run, story, turn, write


def test_the_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Path.home() in data_directory().parents
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    assert data_directory() == tmp_path
    first, second = (project_directory(Path("/a") / name / "my projéct!") for name in "xy")
    assert first.name.startswith("my-proj-ct-") and first.name != second.name
    assert first.parent == second.parent == tmp_path / "sessions"
    assert project_directory(Path("/")).name.startswith("root-")
    assert session_path(Path("/a/x"), "id").name == "id.jsonl"


def test_a_listing_goes_on_after_broken_files(tmp_path: Path) -> None:
    assert list_sessions(tmp_path / "nowhere") == []
    assert list_sessions(tmp_path) == []
    run(write(tmp_path / "old.jsonl", story()))
    newer = Commit(messages=turn(1), header=HeaderChanges(updated=9_000))
    run(write(tmp_path / "new.jsonl", [newer], close=False))
    (tmp_path / "bad.jsonl").write_bytes(b"no session\n")
    (tmp_path / "v9.jsonl").write_bytes(b'{"format":"palimpsest-session","version":9}\n')
    (tmp_path / "dir.jsonl").mkdir()
    edited = tmp_path / "edited.jsonl"
    old_text = (tmp_path / "old.jsonl").read_bytes()
    edited.write_bytes(old_text.replace(b'"A title"', b'"B"'))
    infinite = old_text.replace(b'"version":2', b'"version":2,"limit":Infinity')
    (tmp_path / "infinite.jsonl").write_bytes(infinite)
    listed = list_sessions(tmp_path)
    assert [item.path.name for item in listed] == [
        "new.jsonl",
        "edited.jsonl",
        "old.jsonl",
        "bad.jsonl",
        "dir.jsonl",
        "infinite.jsonl",
        "v9.jsonl",
    ]
    new, other, old, bad, folder, no_json, version = listed
    assert new.kind == other.kind == old.kind == "session"
    assert (new.message_count, old.message_count, old.compactions) == (4, 12, 2)
    assert (old.header.title, other.header.title) == ("A title", "B")
    assert old.bytes == old.path.stat().st_size
    assert bad.kind == folder.kind == no_json.kind == version.kind == "broken"
    assert [item.code for item in (bad, folder, no_json, version)] == [
        "unsupported_session",
        "unreadable",
        "broken_header",
        "unsupported_session",
    ]
    assert "version 9" in version.reason


def test_a_file_that_cannot_be_sized(tmp_path: Path) -> None:
    run(write(tmp_path / "a.jsonl", story()))
    (broken,) = list_sessions(tmp_path, files=FaultyFiles(fail_at=1))
    assert broken.kind == "broken" and "No space" in broken.reason
    assert HEADER.id not in broken.reason
