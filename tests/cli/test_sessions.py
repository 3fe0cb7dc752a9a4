"""Commands for what is stored: listed, searched, shown, exported, deleted."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from palimpsest.cli.main import app
from palimpsest.core.errors import (
    AmbiguousSessionError,
    InvalidSettingError,
    SessionLockedError,
    SessionNotFoundError,
    WouldOverwriteError,
)
from palimpsest.session.jsonl import JsonlStore
from palimpsest.session.lock import SessionLock
from palimpsest.session.places import session_path
from palimpsest.session.store import Store
from palimpsest.testing import Reply
from palimpsest.transcripts import read_recordings
from tests.session.helpers import HEADER, read, rig, work

NAME = HEADER.id


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stored session of six turns, compacted once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "data"))
    path = session_path(tmp_path, NAME)
    asyncio.run(_make(path))
    return path


async def _make(path: Path) -> None:
    store: Store = JsonlStore.create(path, HEADER)
    made = await rig([*work(5, prose=2_000), read("a.py", 30), Reply(text="`x` ```")], store=store)
    for turn in range(6):
        await made.session.prompt(f"do part {turn}")
    await made.session.compact()
    await made.session.dispose()


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def test_a_list(path: Path) -> None:
    (path.parent / "broken.jsonl").write_text("{}\n")
    done = run("sessions")
    assert done.exit_code == 0
    assert "do part 0" in done.stdout
    assert "1 compaction" in done.stdout
    assert "broken" in done.stdout
    listed = json.loads(run("sessions", "list", "--json", "--all").stdout)
    assert [item.get("id") for item in listed] == [NAME, None]
    assert HEADER.cwd in run("sessions", "list", "--all").stdout


def test_no_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "other"))
    assert "No session is stored" in run("sessions").stdout
    assert json.loads(run("sessions", "list", "--all", "--json").stdout) == []


def test_a_search() -> None:
    done = run("sessions", "search", "PART 3")
    assert done.exit_code == 0
    assert "turn 4" in done.stdout
    assert "… 1 more" in run("sessions", "search", "do part").stdout
    missing = run("sessions", "search", "xyzzy")
    assert (missing.exit_code, missing.stdout) == (1, "")


def test_a_session_is_shown(path: Path) -> None:
    before = path.read_bytes()
    done = run("show", NAME[:6])
    assert done.exit_code == 0
    assert "do part 0" in done.stdout
    assert "· active ─" in done.stdout
    turn = run("show", NAME, "--turn", "6").stdout
    assert "● read" in turn
    assert "a.py:xxx" in turn
    assert "Identifiers:" in run("show", NAME, "--receipt").stdout
    assert isinstance(run("show", NAME, "--turn", "7").exception, InvalidSettingError)
    assert path.read_bytes() == before


def test_a_markdown_export(tmp_path: Path) -> None:
    target = tmp_path / "a.md"
    assert run("export", NAME, "-o", str(target)).exit_code == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith(f"# Session {NAME}\n")
    assert "## 6\n\n> do part 5\n" in text
    assert isinstance(run("export", NAME, "-o", str(target)).exception, WouldOverwriteError)
    assert run("export", NAME, "-o", str(target), "--force").exit_code == 0


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_an_export_reads_back(shape: str, tmp_path: Path) -> None:
    target = tmp_path / f"{shape}.json"
    assert run("sessions", "export", NAME, "--format", shape, "-o", str(target)).exit_code == 0
    [recording] = read_recordings(target)
    counts = recording.counts
    assert (counts.calls, counts.results) == (11, 11)
    assert "do part 5" in target.read_text(encoding="utf-8")


def test_a_whole_export() -> None:
    found: dict[str, Any] = json.loads(run("export", NAME, "--format", "json").stdout)
    assert found["session"]["id"] == NAME
    assert len(found["messages"]) == 34


def test_a_broken_file_is_exported_as_far_as_it_goes(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([b"{broken", *lines[1:3], b"{also", *lines[4:]]))
    done = run("export", str(path))
    assert done.exit_code == 0
    assert "do part 5" in done.stdout
    assert "is broken at line 1" in done.stderr


def test_an_export_of_nothing_is_no_success(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b'{"format":"palimpsest-session",broken\n')
    done = run("export", str(path), "-o", str(tmp_path / "a.md"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "nothing of it can be read" in done.stderr
    assert not (tmp_path / "a.md").exists()


def test_a_line_a_session_for_programs(path: Path) -> None:
    for letter in "abc":
        path.with_name(f"{letter}{NAME[1:]}.jsonl").write_bytes(b"{}\n")
    lines = run("sessions").stdout.splitlines()
    assert len(lines) == 4
    assert len(max(lines, key=len)) > 80
    assert lines[0].endswith("1 compaction")
    assert len(run("sessions", "search", "do part").stdout.splitlines()) == 7


def test_names_that_find_nothing_or_too_much(path: Path) -> None:
    twin = path.with_name(f"{NAME[:-1]}{'0' if NAME[-1] != '0' else '1'}.jsonl")
    twin.write_bytes(path.read_bytes())
    assert isinstance(run("show", NAME[:8]).exception, AmbiguousSessionError)
    for name in ("zz", "zzzzzz", "a/b/c/d"):
        assert isinstance(run("show", name).exception, SessionNotFoundError)
    assert run("show", NAME).exit_code == 0


def test_deleting_asks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torn = path.with_name(f"{path.name}.torn-1")
    torn.write_text("x")
    done = run("sessions", "delete", NAME)
    assert done.exit_code == 2
    assert "--yes" in done.stderr
    assert path.exists()
    monkeypatch.setattr("palimpsest.cli.sessions.can_ask", lambda: True)
    assert run("sessions", "delete", NAME, stdin="n\n").exit_code == 1
    assert path.exists()
    assert run("sessions", "delete", NAME, stdin="y\n").exit_code == 0
    assert [item.name for item in path.parent.iterdir()] == []
    gone = run("sessions", "delete", NAME, "--yes")
    assert isinstance(gone.exception, SessionNotFoundError)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths")
def test_a_session_in_use_is_not_deleted(path: Path) -> None:
    lock = SessionLock(path)
    try:
        assert isinstance(run("sessions", "delete", NAME, "--yes").exception, SessionLockedError)
    finally:
        lock.release()
    assert path.exists()
